"""Help is there, quick, and has an example for every command."""

import signal
import socket
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from barnabas import __version__
from barnabas.cli.app import app
from tests.support import fork_server
from tests.support.wait import LIMIT_S

COMMANDS = [
    "server",
    "health",
    "produce",
    "consume",
    "get",
    "console",
    "app run",
    "app docs",
    "dead-letters list",
    "dead-letters show",
    "dead-letters replay",
    "dead-letters drop",
    "cluster status",
    "cluster doctor",
    "cluster top",
    "cluster add-node",
    "cluster remove-node",
    "cluster drain",
    "cluster move",
    "cluster elect",
    "cluster rebalance-leaders",
    "cluster upgrade",
    "cluster features",
    "topics create",
    "topics list",
    "topics describe",
    "topics delete",
    "topics alter",
    "groups list",
    "groups describe",
    "groups lag",
    "groups reset-offsets",
    "groups delete",
    "profile set",
    "profile use",
    "profile list",
    "profile show",
    "profile delete",
    "transactions list",
    "transactions describe",
    "transactions producers",
    "transactions find-hanging",
    "transactions abort",
    "transactions fence",
    "configs get",
    "configs set",
    "configs unset",
    "log dump",
    "log repair",
    "pipeline run",
    "pipeline list",
    "pipeline status",
    "pipeline reset",
    "pipeline test",
]


def barnabas(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "barnabas", *arguments]
    return fork_server.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    done = barnabas(*command.split(), "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout
    assert f"barnabas {command}" in done.stdout.split("Example", 1)[1]


def test_the_front_page_names_all_commands_and_the_exit_codes() -> None:
    done = barnabas("--help")
    assert done.returncode == 0
    for command in COMMANDS:
        assert f"  {command.split()[0]} " in done.stdout
    assert "Exit codes: 0 success" in done.stdout
    assert "--install-completion" in done.stdout


@pytest.mark.parametrize(
    "group", ["", *sorted({each.split()[0] for each in COMMANDS if " " in each})]
)
def test_a_list_of_commands_says_what_each_does_in_a_line_that_fits(group: str) -> None:
    done = CliRunner().invoke(app, [*group.split(), "--help"], terminal_width=80)
    said = done.output.split("Commands:")[1].split("Exit codes:")[0]
    assert len(said.splitlines()) > 1
    assert "..." not in said


def test_version() -> None:
    assert barnabas("--version").stdout == f"barnabas {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["topics", "nonsense"], ["produce"], ["consume", "t", "--nonsense"]]
)
def test_wrong_usage_has_exit_code_2(arguments: list[str]) -> None:
    done = barnabas(*arguments)
    assert done.returncode == 2
    assert "Usage:" in done.stderr


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys, barnabas.cli.app\n"
        "heavy = {'asyncio', 'rich', 'uvloop', 'cramjam', 'barnabas.client.connect.cluster_client',"
        " 'barnabas.broker', 'barnabas.wire.framing', 'barnabas.spark', 'pyspark'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    assert done.stdout.strip() == "[]"


def test_ctrl_c_while_it_is_still_starting_ends_it_quietly() -> None:
    """Whatever the moment: before the imports, amid them, or when the command is at work."""
    script = "from barnabas.__main__ import main; print(flush=True); main()"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        for pause_s in (0.02, 0.06, 0.1, 0.15, 0.2, 0.3):
            process = subprocess.Popen(
                [sys.executable, "-c", script, "produce", "t", "-b", address],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            assert process.stdout is not None
            process.stdout.readline()  # the interpreter itself has started
            time.sleep(pause_s)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=LIMIT_S)
            assert (process.returncode, error) == (130, b"")
