"""`barnabas cluster restart`: real nodes, under a producer that must not notice."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import barnabas
from tests.cli.conftest import Cli
from tests.support.supervised import Supervised

LATER = """
import os, signal, subprocess, sys, time

if len(sys.argv) == 3:  # it ends before the node does
    subprocess.Popen([sys.executable, *sys.argv, "later"], stdin=subprocess.DEVNULL)
    print("told", sys.argv[2], flush=True)
else:
    time.sleep(2)
    os.kill(int(sys.argv[1]), signal.SIGTERM)
"""


@pytest.fixture
def supervised() -> Iterator[list[Supervised]]:
    running: list[Supervised] = []
    yield running
    for each in running:
        each.kill()


@pytest.mark.parametrize("secure", [False, True], ids=["open", "secured"])
def test_a_producer_does_not_notice(
    supervised: list[Supervised], tmp_path: Path, secure: bool
) -> None:
    cluster = Supervised(tmp_path, "--nodes", "3", *(["--secure"] if secure else []))
    supervised.append(cluster)
    servers = cluster.ready()
    cli = Cli(servers)
    administrator = cluster.data / "security" / "admin.properties"
    admin = ("--command-config", str(administrator)) if secure else ()
    cli.ok("topics", "create", "t", "--replication-factor", "3", *admin)
    before = {number: node.pid for number, node in cluster.nodes().items()}
    stop = threading.Event()
    sent: list[barnabas.Sent] = []

    def produce() -> None:
        with barnabas.Producer(servers) as producer:
            while not stop.wait(0.01):
                sent.append(producer.send("t", b"%d" % len(sent)))

    thread = threading.Thread(target=produce)
    if not secure:
        thread.start()
    try:
        done = cli.json("cluster", "restart", "--local", str(cluster.data), "--wait", "300")
    finally:
        stop.set()
        if not secure:
            thread.join()
    assert sorted(done["restarted"]) == [1, 2, 3]
    after = {number: node.pid for number, node in cluster.nodes().items()}
    assert not set(before.values()) & set(after.values())
    for each in sent:
        assert each.exception() is None
    assert sent or secure


def test_one_node_by_a_command(supervised: list[Supervised], tmp_path: Path) -> None:
    cluster = Supervised(tmp_path, "--nodes", "2")
    supervised.append(cluster)
    cli = Cli(cluster.ready())
    pid = cluster.nodes()[2].pid
    script = tmp_path / "restart.py"
    script.write_text(LATER)
    command = f"{sys.executable} {script} {pid} {{id}}-{{port}}"
    said = cli.run("cluster", "restart", "--command", command, "--node", "2")
    assert said.returncode == 0, said.stderr.decode()
    assert b"told 2-" in said.stdout
    assert b"restarted 1 node" in said.stderr + said.stdout
    assert cluster.nodes()[2].pid != pid


def test_what_can_not_be_done_is_said(supervised: list[Supervised], tmp_path: Path) -> None:
    cluster = Supervised(tmp_path, "--nodes", "2")
    supervised.append(cluster)
    cli = Cli(cluster.ready())
    pids = {each.pid for each in cluster.nodes().values()}
    assert "--local DIR" in cli.fails(2, "cluster", "restart")
    assert "{name}" in cli.fails(2, "cluster", "restart", "--command", "echo {name}")
    said = cli.fails(2, "cluster", "restart", "--node", "7", "--local", str(cluster.data))
    assert "there is no node 7" in said
    unheard = cli.run("cluster", "restart", "--command", "true", "--wait", "2")
    assert unheard.returncode == 1
    assert b"its process has not ended 2 s after" in unheard.stderr
    failed = cli.run("cluster", "restart", "--command", "exit ${A_CODE:-5}")
    assert failed.returncode == 1
    said = failed.stderr.decode().splitlines()[-1]
    assert (
        "the command failed with exit code 5: exit ${A_CODE:-5}; restarted before it: none" in said
    )
    assert {each.pid for each in cluster.nodes().values()} == pids
    stopped = cluster.nodes()[2].pid
    os.kill(stopped, signal.SIGSTOP)
    try:
        failed = cli.run("cluster", "restart", "--local", str(cluster.data), "--wait", "20")
    finally:
        os.kill(stopped, signal.SIGCONT)
    assert failed.returncode == 1
    said = failed.stderr.decode().splitlines()[-1]
    assert "node 2 is fenced" in said
    assert "no node was restarted" in said
