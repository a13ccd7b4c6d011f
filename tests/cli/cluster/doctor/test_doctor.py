"""`barnabas cluster doctor` with real nodes in trouble."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas import Consumer, Producer
from barnabas.records.encode import encode_batch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.cli.conftest import Cli
from tests.support.cluster import ClusterProcesses, NodeProcess
from tests.support.metrics import get
from tests.support.wait import LIMIT_S, wait_until

RATE = "leader.replication.throttled.rate"
ASKED_MS = 5_000


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


def produced(node: NodeProcess, topic: str) -> ErrorCode:
    """Produce a record with acks=all."""
    records = encode_batch([(0, None, b"refused", ())])
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, records)])
    with node.connect(LIMIT_S) as client:
        (answer,) = client.ask(ProduceRequest(None, -1, ASKED_MS, [data]), 11).responses
    return ErrorCode(answer.partition_responses[0].error_code)


def committed(node: NodeProcess, topic: str) -> ErrorCode:
    """Commit an offset of the group that has the topic's name."""
    partitions = [OffsetCommitRequestPartition(0, 2)]
    request = OffsetCommitRequest(
        topic, topics=[OffsetCommitRequestTopic(topic, partitions=partitions)]
    )
    with node.connect(LIMIT_S) as client:
        (answer,) = client.ask(request, 8).topics
    return ErrorCode(answer.partitions[0].error_code)


@pytest.mark.long
def test_a_node_that_is_left_alone_refuses_writes_in_time_and_names_the_missing_majority(
    nodes: ClusterProcesses, name: str
) -> None:
    """The others were stopped in order. It can't know what they decide when they return."""
    nodes.create_topic(name, min_insync_replicas="2")
    with Consumer(nodes.bootstrap, group=name) as consumer:
        consumer.commit({(name, 0): 1})  # the topic of offsets is there
    lone = nodes.leader_of(name)
    others = [node for node in nodes.nodes.values() if node is not lone]
    for node in others:
        node.stop()
    names = " or ".join(str(node.node_id) for node in others)

    reason = "none is known here, and electing one takes 2 of the voters 1, 2, 3"
    wait_until(lambda: reason in get(lone, "/readyz")[1], lambda: get(lone, "/readyz")[1])
    cli = Cli(lone.bootstrap)
    try:
        code, findings = examine(cli)
    finally:
        cli.end()
    assert code == 1
    assert about(findings, f"1 of 3 voters answer, 2 are needed; start node {names}")

    for refused in (produced(lone, name), committed(lone, name)):
        assert refused.retriable, refused.name

    others[0].start()
    with Producer(nodes.bootstrap) as producer:
        producer.send(name, b"accepted").result(timeout_s=LIMIT_S)
    with Consumer(nodes.bootstrap, group=name) as consumer:
        consumer.commit({(name, 0): 2})
    others[1].start()
    nodes.wait_until_whole()
