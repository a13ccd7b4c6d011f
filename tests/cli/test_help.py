"""Help is there, quick, and has an example for every command."""

import subprocess
import sys

import pytest

from barnabas import __version__

COMMANDS = [
    "server",
    "produce",
    "consume",
    "topics create",
    "topics list",
    "topics describe",
    "topics delete",
    "topics alter",
    "groups list",
    "groups describe",
    "groups reset-offsets",
    "groups delete",
    "configs get",
    "configs set",
    "configs unset",
    "log dump",
]


def barnabas(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "barnabas", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


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
    assert "Exit codes: 0 done" in done.stdout
    assert "--install-completion" in done.stdout


def test_version() -> None:
    assert barnabas("--version").stdout == f"barnabas {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["topics", "nonsense"], ["consume"], ["consume", "t", "--nonsense"]]
)
def test_wrong_usage_has_exit_code_2(arguments: list[str]) -> None:
    done = barnabas(*arguments)
    assert done.returncode == 2
    assert "Usage:" in done.stderr


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys, barnabas.cli.app\n"
        "heavy = {'asyncio', 'rich', 'uvloop', 'cramjam', 'barnabas.client.cluster',"
        " 'barnabas.broker', 'barnabas.wire.framing'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "[]"
