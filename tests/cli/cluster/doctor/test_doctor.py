"""`barnabas cluster doctor` with real nodes in trouble."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.support.cluster import ClusterProcesses
from tests.support.wait import wait_until

RATE = "leader.replication.throttled.rate"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    settings = {"offsets.topic.num.partitions": "1", "metrics.listeners": "127.0.0.1:0"}
    with ClusterProcesses(tmp_path_factory.mktemp("doctor"), settings=settings) as cluster:
        yield cluster


@pytest.fixture
def cli(nodes: ClusterProcesses) -> Iterator[Cli]:
    command = Cli(nodes.bootstrap)
    yield command
    command.end()


def examine(cli: Cli) -> tuple[int, list[dict[str, Any]]]:
    done = cli.run("cluster", "doctor", "--json")
    assert done.returncode in (0, 1, 4), done.stderr.decode()
    return done.returncode, json.loads(done.stdout)["findings"]


def about(findings: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    return [each for each in findings if text in each["what"]]


@pytest.mark.long
def test_findings_appear_and_their_fixes_mend_them(
    cli: Cli, nodes: ClusterProcesses, name: str
) -> None:
    code, findings = examine(cli)
    assert [each for each in findings if each["severity"] == "critical"] == []
    assert code in (0, 4)
    assert "checks of 3 nodes" in cli.run("cluster", "doctor").stdout.decode()

    cli.ok("topics", "create", name, "--replication-factor", "3")
    cli.ok("configs", "set", "topic", name, "min.insync.replicas=3")
    cli.ok("configs", "set", "broker", "2", f"{RATE}=1000")
    cli.ok("produce", name, stdin="1\n2\n3\n")
    group = f"{name}-group"
    cli.ok("consume", name, "--group", group, "--from-beginning", "--max-messages", "1")
    code, findings = examine(cli)
    assert code == 4
    (equal,) = about(findings, f"topics {name}: min.insync.replicas equals")
    assert equal["severity"] == "warning"
    (throttle,) = about(findings, "node 2 still throttles replication to 1000 bytes/s")
    (abandoned,) = about(findings, f"group {group} has no members and is 2 records behind")

    for finding in (equal, throttle):
        cli.ok(*finding["fix"].removeprefix("barnabas ").split())
    cli.ok(*abandoned["fix"].split(": barnabas ")[1].split())
    _, findings = examine(cli)
    assert about(findings, name) == []
    assert about(findings, "throttles") == []

    nodes[3].kill()
    wait_until(lambda: about(examine(cli)[1], "node 3 at "), "node 3 is not missed")
    wait_until(lambda: about(examine(cli)[1], "under-replicated"), "no replica is missed")
    done = cli.run("cluster", "doctor")
    assert done.returncode == 1
    assert b"barnabas cluster remove-node 3" in done.stdout
    nodes[3].start()
    wait_until(lambda: not about(examine(cli)[1], "node 3"), "node 3 is still missed")


def test_nobody_there_is_the_exit_code_of_every_command(cli: Cli) -> None:
    assert cli.run("cluster", "doctor", "-b", "127.0.0.1:1").returncode == 3
