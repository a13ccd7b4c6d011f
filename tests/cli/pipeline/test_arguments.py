"""Arguments of `barnabas pipeline`, which mean the same for all of its commands; without Spark."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from barnabas.cli.base.command import CommandError
from barnabas.cli.pipeline.commands.app import app
from barnabas.cli.pipeline.status import chosen_statuses

ALL = ["run", "list", "status", "reset", "state", "replay", "compact"]


@pytest.mark.parametrize("command", ALL)
@pytest.mark.parametrize("version", ["v 2", "", "a/b"])
def test_a_version_is_checked_before_anything_else(
    command: str, version: str, tmp_path: Path
) -> None:
    done = CliRunner().invoke(app, [command, str(tmp_path / "none"), "x", "--version", version])
    assert done.exit_code == 2
    assert "Invalid value for '--version': letters, digits, . _ -" in done.output


NAMES = ["clean", "clean-v2", "other", "other-v2"]


@pytest.mark.parametrize(
    ("names", "version", "expected"),
    [
        (None, None, NAMES),
        (["clean"], None, ["clean"]),
        (["clean-v2"], None, ["clean-v2"]),
        (["clean"], "v2", ["clean-v2"]),
        (None, "v2", ["clean-v2", "other-v2"]),
        (None, "v3", []),
    ],
)
def test_a_status_is_that_of_the_names_and_the_version(
    names: list[str] | None, version: str | None, expected: list[str]
) -> None:
    found = chosen_statuses([{"pipeline": each} for each in NAMES], names, version)
    assert [each["pipeline"] for each in found] == expected


def test_what_has_not_run_has_no_status() -> None:
    with pytest.raises(CommandError, match=r"no pipeline x-v2 has run; those that have: a"):
        chosen_statuses([{"pipeline": "a"}], ["x"], "v2")
