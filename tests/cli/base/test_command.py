"""Every command is made by `command` or `cluster_command`, and so fails in one line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from barnabas.cli.app import app, root
from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommonOptions, command


def commands(of: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, each in getattr(of, "commands", {}).items():
        yield from commands(each, f"{path} {name}")
    if not hasattr(of, "commands"):
        yield path.strip(), of


def test_every_command_takes_verbose_and_so_was_made_here() -> None:
    found = dict(commands(typer.main.get_command(app)))
    assert len(found) > 100
    without = [
        path for path, each in found.items() if all(one.name != "verbose" for one in each.params)
    ]
    assert without == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create"], "the connector has no name: --name NAME"),
        (["create", "c.json"], "c.json: No such file or directory"),
        (["create", "--set", "nonsense"], "--set 'nonsense': expected NAME=VALUE"),
        (["config", "c", "--set", "nonsense"], "--set 'nonsense': expected NAME=VALUE"),
        (["validate", "c.json"], "c.json: No such file or directory"),
    ],
)
def test_wrong_arguments_of_connect_are_said_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["connect", *arguments])
    assert done.output == f"error: {said}\n"
    assert done.exit_code == (exit_codes.FAILURE if "No such file" in said else exit_codes.USAGE)


def test_options_count_before_a_command_and_behind_it() -> None:
    seen: list[CommonOptions] = []

    @command("as_json", "bootstrap")
    def look(common: CommonOptions, word: str = "none") -> None:
        seen.append(common)
        assert word == "given"

    small = typer.Typer()
    small.callback()(root)
    small.command("look")(look)
    for arguments in (
        ["--json", "--bootstrap", "a:1", "look", "--word", "given"],
        ["look", "--word", "given", "--json", "--bootstrap", "a:1"],
        ["--bootstrap", "b:2", "look", "--word", "given", "--json", "--bootstrap", "a:1"],
    ):
        assert CliRunner().invoke(small, arguments).exit_code == exit_codes.OK
    assert seen == [CommonOptions("a:1", as_json=True)] * 3
