"""The whole way: a user of the console stops a pipeline that runs elsewhere."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.base import exit_codes
from tests.cli.conftest import Cli
from tests.console.console_process import ConsoleProcess
from tests.support.wait import wait_until

pytestmark = [pytest.mark.xdist_group("spark-processes"), pytest.mark.long]


@pytest.fixture
def cli(bootstrap: str) -> Iterator[Cli]:
    command = Cli(bootstrap)
    yield command
    command.end()


def test_a_pipeline_ends_when_a_user_of_the_console_asks(
    cli: Cli, bootstrap: str, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    source, target = make_topic(1), make_topic(1)
    name = f"copy_{source.replace('-', '_')}"
    (tmp_path / f"{name}.sql").write_text(
        f'-- source words: topic {source} schema="word STRING"\n-- sink: topic {target}\n'
        "SELECT word FROM words"
    )
    with ConsoleProcess(bootstrap, tmp_path / "console.log") as console:

        def found(wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
            listed = console.get("/api/pipelines")["pipelines"]
            mine = [each for each in listed if each["pipeline"] == name and wanted(each)]
            return mine[0] if mine else None

        refusing = cli.start(
            *("pipeline", "run", str(tmp_path), "--master", "local[1]", "--no-control")
        )
        one = wait_until(lambda: found(lambda each: each["state"] == "running"))
        assert one["control"] is None
        status, _, body = console.try_change(
            "POST", "/api/pipeline/requests", {"id": one["id"], "action": "stop"}
        )
        assert (status, "takes no requests" in json.loads(body)["error"]["message"]) == (409, True)
        refusing.terminate()
        refusing.communicate(timeout=60)

        process = cli.start("pipeline", "run", str(tmp_path), "--master", "local[1]")
        one = wait_until(
            lambda: found(lambda each: each["control"] == "on" and each["state"] == "running")
        )
        assert one["pid"] == process.pid
        console.change("POST", "/api/pipeline/requests", {"id": one["id"], "action": "stop"})
        _, said = process.communicate(timeout=120)
        assert process.returncode == exit_codes.OK, said.decode()
        assert f"stop of {name}: asked for by a user of the cluster" in said.decode()
        ended = wait_until(lambda: found(lambda each: each["state"] == "stopped"))
        assert "stopped, as asked for" in ended["answer"]
        wait_until(lambda: found(lambda each: each["control"] is None))
