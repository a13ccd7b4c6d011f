"""`barnabas server --nodes`: real nodes under a real supervisor, which is killed as well."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.cli.conftest import Cli
from tests.support.broker import wait_until


class Supervised:
    """A supervisor and what it has printed so far."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        kept = {name: v for name, v in os.environ.items() if not name.startswith("BARNABAS_")}
        command = [sys.executable, "-m", "barnabas", "server", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(
            [*command, "--data", str(directory / "data"), *arguments],
            env=kept,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.output = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output += line.decode()

    def wait_for(self, pattern: str, times: int = 1) -> "re.Match[str]":
        def found() -> bool:
            return len(re.findall(pattern, self.output)) >= times

        wait_until(lambda: found() or not self.alive, 40, f"{pattern} is not in: {self.output}")
        assert found(), self.output
        match = re.search(pattern, self.output)
        assert match is not None
        return match

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def ready(self) -> str:
        """Wait for the banner; the bootstrap servers."""
        return self.wait_for(r"\d+ nodes?, bootstrap servers (\S+) ")[1]

    def nodes(self) -> dict[int, psutil.Process]:
        """The processes of the nodes by their numbers."""
        found = {}
        for child in psutil.Process(self.process.pid).children():
            line = " ".join(child.cmdline())
            number = re.search(r"node\.id=(\d+)", line)
            if number and child.status() != psutil.STATUS_ZOMBIE:
                found[int(number[1])] = child
        return found

    def end(self) -> int:
        code = self.process.wait(40)
        self._reader.join()
        return code


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[list[Supervised]]:
    """Whatever a test puts in is ended with all its nodes."""
    running: list[Supervised] = []
    yield running
    for each in running:
        children = list(each.nodes().values()) if each.alive else []
        each.process.kill()
        for child in children:
            if child.is_running():
                child.kill()
        each.end()


def test_a_node_that_is_killed_is_started_again(
    supervised: list[Supervised], tmp_path: Path
) -> None:
    cluster = Supervised(tmp_path, "--nodes", "1")
    supervised.append(cluster)
    cli = Cli(cluster.ready())
    cli.ok("topics", "create", "t")
    cli.ok("produce", "t", stdin="kept\n")
    first = cluster.nodes()[1]
    first.kill()
    cluster.wait_for(r"node-1 was killed by SIGKILL; starting it again in 0.5 s")
    cluster.wait_for(r"node-1 \| .* is ready on ", times=2)
    assert cluster.nodes()[1].pid != first.pid
    assert cli.ok("consume", "t", "--no-follow") == "kept\n"
    cluster.process.send_signal(signal.SIGINT)
    assert cluster.end() == 0
    assert "node-1 | Barnabas is stopping" in cluster.output


def test_nodes_do_not_outlive_a_supervisor_that_is_killed(
    supervised: list[Supervised], tmp_path: Path
) -> None:
    cluster = Supervised(tmp_path, "--nodes", "1")
    supervised.append(cluster)
    cluster.ready()
    nodes = list(cluster.nodes().values())
    assert len(nodes) == 1
    cluster.process.kill()
    cluster.process.wait()
    _, alive = psutil.wait_procs(nodes, timeout=15)
    assert not alive


def test_a_node_that_can_not_start_ends_it_all(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        cluster = Supervised(tmp_path, "--listen", address, "--nodes", "1")
        assert cluster.end() == 2
    assert f"node-1 | error: can't listen on {address}: the port is in use" in cluster.output
    assert "Traceback" not in cluster.output


def test_the_second_interrupt_kills(supervised: list[Supervised], tmp_path: Path) -> None:
    cluster = Supervised(tmp_path, "--nodes", "1")
    supervised.append(cluster)
    cluster.ready()
    cluster.nodes()[1].suspend()  # it would never stop by itself
    cluster.process.send_signal(signal.SIGINT)
    cluster.wait_for("stopping one node after the other")
    cluster.process.send_signal(signal.SIGINT)
    assert cluster.end() == 130


def test_it_can_be_stopped_while_it_starts(supervised: list[Supervised], tmp_path: Path) -> None:
    cluster = Supervised(tmp_path, "--nodes", "1")
    supervised.append(cluster)
    wait_until(lambda: cluster.nodes(), 20, "no node has been started")
    cluster.process.send_signal(signal.SIGTERM)
    assert cluster.end() == 0
    assert "Traceback" not in cluster.output
