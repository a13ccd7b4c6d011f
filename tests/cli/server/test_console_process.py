"""The console of `server --console` ends with the server, however that ended."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from barnabas.embedded.ports import Ports
from tests.support.wait import LIMIT_S

pytest.importorskip("uvicorn")


@pytest.fixture
def console() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "barnabas.cli.server.supervised_command", "console"),
            *("--no-browser", "--listen", "localhost:0", "--bootstrap", "localhost:1"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    assert " until Ctrl-C: http://localhost:" in process.stdout.readline()
    yield process
    process.kill()
    process.wait()


def test_a_console_does_not_outlive_a_server_that_is_killed(
    console: subprocess.Popen[str],
) -> None:
    assert console.stdin is not None
    console.stdin.close()  # as when the server is gone
    console.wait(LIMIT_S)


def test_ctrl_c_and_a_server_that_ends_it_meanwhile_give_no_traceback(
    console: subprocess.Popen[str],
) -> None:
    console.send_signal(signal.SIGINT)
    console.send_signal(signal.SIGTERM)
    output, _ = console.communicate(timeout=LIMIT_S)
    assert "Traceback" not in output


def test_the_console_of_a_server_has_the_port_that_was_asked_for(tmp_path: Path) -> None:
    with closing(Ports(2)) as ports:
        server, console = ports.numbers
        command = [sys.executable, "-m", "barnabas", "server", "--console-port", str(console)]
        command += ["--listen", f"localhost:{server}", "--data", str(tmp_path / "data")]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            assert process.stdout is not None
            at = f" until Ctrl-C: http://localhost:{console}/"
            assert any(at in line for line in process.stdout), "the server has ended"
        finally:
            process.terminate()
            process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0
