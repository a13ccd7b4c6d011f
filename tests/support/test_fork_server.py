"""A forked command can't be told from one that was started, and ends with the test run."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support import fork_server
from tests.support.wait import LIMIT_S, wait_until

BARNABAS = (sys.executable, "-m", "barnabas")


def outcome(real: bool, *arguments: str, **options: Any) -> tuple[int, str, str]:
    done = fork_server.run(
        [*BARNABAS, *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        real=real,
        **options,
    )
    return done.returncode, done.stdout, done.stderr


def parent(process: "subprocess.Popen[Any]") -> int:
    found = psutil.Process(process.pid).parent()
    assert found is not None
    return found.pid


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, ["--version"]),
        (0, ["topics", "create", "--help"]),
        (2, ["topics", "nonsense"]),
        (3, ["topics", "list", "-b", "localhost:1"]),
    ],
)
def test_output_and_exit_code_are_those_of_a_new_interpreter(
    code: int, arguments: list[str]
) -> None:
    forked = outcome(False, *arguments)
    assert forked[0] == code
    assert forked == outcome(True, *arguments)


def test_a_process_has_its_own_input_directory_and_variables(tmp_path: Path) -> None:
    (tmp_path / "own.properties").write_text("bootstrap.servers=localhost:1\n")
    variables = {**os.environ, "BARNABAS_COMMAND_CONFIG": "own.properties"}
    code, _, error = outcome(False, "produce", "t", input="x\n", cwd=tmp_path, env=variables)
    assert code == 3
    assert "localhost:1" in error


def test_full_output_is_noticed_as_at_the_end_of_an_interpreter() -> None:
    with Path("/dev/full").open("wb") as full:
        codes = [
            fork_server.run([*BARNABAS, "--version"], stdout=full, stderr=full, real=real)
            for real in (False, True)
        ]
    assert codes[0].returncode == codes[1].returncode != 0


def listing(server: socket.socket) -> list[str]:
    return [*BARNABAS, "topics", "list", "-b", f"127.0.0.1:{server.getsockname()[1]}"]


def test_sessions_and_waiting() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        fork_server.Popen(listing(silent), start_new_session=True) as process,
    ):
        assert parent(process) != os.getpid(), "it is forked"
        assert os.getsid(process.pid) == process.pid
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait(LIMIT_S) == -signal.SIGKILL
        assert process.poll() == -signal.SIGKILL
        process.kill()


def test_an_interrupt() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        fork_server.Popen(listing(silent)) as process,
    ):
        silent.accept()  # it is at work
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == 130


@pytest.mark.parametrize("variable", ["PYTHONHASHSEED", "LD_PRELOAD"])
def test_variables_of_the_start_make_it_a_new_interpreter(variable: str) -> None:
    environment = {**os.environ, variable: "1" if variable == "PYTHONHASHSEED" else ""}
    arguments = [*BARNABAS, "--version"]
    with fork_server.Popen(arguments, env=environment, stdout=subprocess.DEVNULL) as process:
        assert parent(process) == os.getpid()
    with fork_server.Popen(arguments, real=True, stdout=subprocess.DEVNULL) as process:
        assert parent(process) == os.getpid()


def test_processes_end_with_a_test_run_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys, time\n"
        "from tests.support import fork_server\n"
        "command = [sys.executable, '-m', 'barnabas', 'server', '--listen', '127.0.0.1:0']\n"
        f"command += ['--data', {str(tmp_path)!r}]\n"
        "broker = fork_server.Popen(command, stdout=subprocess.DEVNULL)\n"
        "print(broker.pid, fork_server.server().pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as run:
        assert run.stdout is not None
        pids = [int(each) for each in run.stdout.readline().split()]
        assert all(psutil.pid_exists(each) for each in pids)
        run.kill()
    wait_until(lambda: not any(_runs(each) for each in pids), "processes are left")


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
