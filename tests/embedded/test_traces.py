"""Nothing is left of a cluster, however the test has ended."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

import barnabas
from barnabas.embedded import storage
from barnabas.embedded.cluster import Cluster, ClusterError
from barnabas.embedded.launcher import Launcher
from tests.support.wait import LIMIT_S, wait_until

_PROGRAM = """
import json, os, sys, time
import barnabas

with barnabas.Cluster(nodes=3, network=True) as cluster:
    pids = [cluster.pid_of(node) for node in cluster.nodes]
    launcher = barnabas.embedded.launcher.Launcher._shared
    print(json.dumps({"pids": pids, "directory": str(launcher.directory)}), flush=True)
    cluster.pause(1)
    cluster.kill(2)
    print("hurt", flush=True)
    input()
    %s
"""


class Traces:
    """What a program with a cluster has made."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self.process = process
        made = json.loads(process.stdout.readline())
        self.directory = Path(made["directory"])
        self.pids = [*made["pids"], *(p.pid for p in psutil.Process(process.pid).children(True))]
        assert self.directory.exists()
        assert len(set(self.pids)) == 5, "three nodes, a launcher, a network"
        assert process.stdout.readline() == "hurt\n"

    def go_on(self) -> None:
        """Let the program come to its last line."""
        self.process.communicate("\n", timeout=LIMIT_S)

    def wait_until_gone(self) -> None:
        wait_until(lambda: not self.directory.exists(), f"{self.directory} is left")
        wait_until(lambda: not any(map(_is_alive, self.pids)), "processes are left")


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def program(last_line: str) -> Iterator[Traces]:
    command = [sys.executable, "-c", _PROGRAM % last_line]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield Traces(process)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # its forks, too


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_test_that_gets_a_signal(number: signal.Signals) -> None:
    """One of the nodes is paused then, and one killed."""
    with program("pass") as traces:
        os.killpg(traces.process.pid, number)  # as a terminal does, or a CI system
        traces.wait_until_gone()


@pytest.mark.parametrize("last_line", ["pass", "raise KeyError", "os._exit(4)"])
def test_a_test_that_ends(last_line: str) -> None:
    with program(last_line) as traces:
        traces.go_on()
        traces.wait_until_gone()


def test_a_fork_of_the_test() -> None:
    """It ends nothing with its own end, and keeps nothing alive after that of the test."""
    last_line = """if os.fork() == 0:
        cluster.close()
        print(cluster, flush=True)
        try:
            cluster.kill(1)
        except barnabas.embedded.cluster.ClusterError as error:
            print(error, flush=True)
        time.sleep(60)
    time.sleep(60)"""
    with program(last_line) as traces:
        assert traces.process.stdin is not None
        assert traces.process.stdout is not None
        traces.process.stdin.write("\n")
        traces.process.stdin.flush()
        assert "of another process" in traces.process.stdout.readline()
        assert "a fork of the one that started" in traces.process.stdout.readline()
        assert traces.directory.exists()
        assert _is_alive(traces.pids[2])
        traces.process.kill()  # but not its fork
        traces.wait_until_gone()


def test_a_cluster_that_nobody_closes() -> None:
    with program("other = barnabas.Cluster(); other.start()") as traces:
        traces.go_on()
        traces.wait_until_gone()


def test_nodes_end_with_their_launcher() -> None:
    """If it were killed, nothing could end them."""
    with program("time.sleep(60)") as traces:
        launcher = psutil.Process(traces.process.pid).children()[0]
        psutil.Process(traces.pids[0]).resume()
        launcher.kill()
        wait_until(lambda: not any(map(_is_alive, traces.pids)), "processes are left")
    storage.remove(traces.directory)


def test_after_a_cluster_its_directory_and_processes_are_gone(barnabas_cluster: Cluster) -> None:
    launcher = Launcher._shared
    assert launcher is not None
    others = set(launcher.directory.iterdir())
    starter = psutil.Process(launcher._process.pid)
    # Its own children only: a node of another test may start a process of its own meanwhile, to
    # compact logs.
    before = set(starter.children())
    with barnabas.Cluster(2) as cluster:
        assert len(set(launcher.directory.iterdir()) - others) == 1
        nodes = set(starter.children()) - before
        assert {cluster.pid_of(1), cluster.pid_of(2)} == {process.pid for process in nodes}
        started = nodes.union(*(node.children(recursive=True) for node in nodes))
        cluster.create_topic("t", 10)
    assert set(launcher.directory.iterdir()) == others
    wait_until(lambda: set(starter.children()) == before, "a process of the launcher is left")
    wait_until(lambda: not any(_is_alive(each.pid) for each in started), "processes are left")
    assert barnabas_cluster.running == (1,)


def test_what_a_test_raises_is_what_comes_out() -> None:
    cluster = barnabas.Cluster()
    with pytest.raises(ZeroDivisionError), cluster:
        _ = 1 / 0
    assert not cluster.is_started


def test_a_launcher_that_is_killed_is_replaced() -> None:
    code = """
import os, sys
import barnabas
from barnabas.embedded.launcher import Launcher

first, second = barnabas.Cluster(), barnabas.Cluster()
first.start()
directory = Launcher._shared.directory
Launcher._shared._process.kill()
Launcher._shared._process.wait()
try:
    first.kill(1)
except barnabas.embedded.cluster.ClusterError as error:
    assert "has ended" in str(error)
else:
    sys.exit("not noticed")
with second:
    first.close()
    assert second.running == (1,)
assert not directory.exists()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr


def test_nodes_that_can_not_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Launcher, "_shared", None)
    monkeypatch.setattr(Launcher, "_borrowers", 0)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    cluster = barnabas.Cluster()
    with pytest.raises(ClusterError, match=r"has ended.*import barnabas\.broker\.server"):
        cluster.start()
    assert not cluster.is_started
