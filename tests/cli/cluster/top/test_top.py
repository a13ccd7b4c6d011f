"""`barnabas cluster top` in a real terminal, and in a pipe."""

import contextlib
import fcntl
import json
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import Callable, Iterator

import pytest

from tests.cli.conftest import Cli, interrupt
from tests.support import fork_server
from tests.support.wait import LIMIT_S, wait_until

LEAVE = "\x1b[?25h\x1b[?1049l"


class Terminal:
    """A terminal of 100 columns and 30 lines, with a command in it."""

    def __init__(self, cli: Cli, *arguments: str) -> None:
        self.master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        os.set_blocking(self.master, False)
        self.before = termios.tcgetattr(self._slave)
        self.process = fork_server.Popen(
            [sys.executable, "-m", "barnabas", *arguments],
            env={**cli.environment, "TERM": "xterm"},
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
        )
        self.text = ""

    def read(self) -> str:
        with contextlib.suppress(BlockingIOError):
            self.text += os.read(self.master, 65_536).decode()
        return self.text

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.read(), lambda: f"no {text!r} in {self.text!r}")

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def end(self) -> int:
        """Its exit code, once it has restored the terminal."""
        self.wait_for(LEAVE)
        code = self.process.wait(LIMIT_S)
        assert termios.tcgetattr(self._slave) == self.before
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self._slave)


@pytest.fixture
def terminal(cli: Cli) -> Iterator[Terminal]:
    opened = Terminal(cli, "cluster", "top", "--interval", "0.2")
    yield opened
    opened.close()


def test_keys_in_a_terminal(terminal: Terminal) -> None:
    terminal.wait_for("sorted by records")
    terminal.wait_for("BROKER")
    terminal.type("l")
    terminal.wait_for("sorted by lag")
    terminal.text = ""
    terminal.wait_for("sorted by lag")  # refreshed without a key
    terminal.type("q")
    assert terminal.end() == 0


def test_ctrl_c_restores_the_terminal(terminal: Terminal) -> None:
    terminal.wait_for("BROKER")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "Traceback" not in terminal.text


def test_once_prints_rates_for_scripts(cli: Cli, new_topic: Callable[..., str]) -> None:
    topic = new_topic(2, "a:1\nb:2")
    cli.ok("consume", topic, "--group", topic, "--from-beginning", "--max-messages", "1")
    found = json.loads(cli.ok("cluster", "top", "--once", "--interval", "0.2", "--json"))
    (row,) = (each for each in found["topics"] if each["topic"] == topic)
    assert row["partitions"] == 2
    assert row["size"] > 0
    (group,) = (each for each in found["groups"] if each["group_id"] == topic)
    assert (group["state"], group["members"]) == ("Empty", 0)
    assert [broker["node_id"] for broker in found["brokers"]] == [1]
    text = cli.ok("cluster", "top", "--once", "--interval", "0.2", "--sort", "name")
    assert topic in text
    assert "\x1b" not in text
    assert "error: --sort size: use records" in cli.fails(2, "cluster", "top", "--sort", "size")


def test_a_pipe_gets_page_after_page(cli: Cli) -> None:
    process = cli.start("cluster", "top", "--interval", "0.2")
    assert process.stdout is not None
    pages = 0
    while pages < 2:
        pages += process.stdout.readline().startswith(b"cluster ")
    code, _, error = interrupt(process)
    assert (code, error) == (130, b"")
