"""When a node says that it is ready, so that a rolling restart may go on with the next one."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.monitoring.health import Health
from barnabas.broker.node import Node
from barnabas.log import StorageError
from barnabas.metadata.image import TopicImage


@pytest.fixture
def health(local_node: Node) -> Health:
    gate: Any = SimpleNamespace(is_open=True)
    return Health(local_node, gate)


def set_partition(node: Node, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    topic = node.image.topics["t"]
    changed = [replace(topic.partitions[0], **changes), *topic.partitions[1:]]
    monkeypatch.setattr(topic, "partitions", changed)


def test_a_node_with_nothing_wrong_is_ready(health: Health) -> None:
    assert health.ready().is_good


def test_a_node_is_not_ready_while_its_own_replicas_catch_up(
    health: Health, local_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = local_node.node_id
    set_partition(local_node, monkeypatch, replicas=[own, own + 1], isr=[own + 1], leader=own + 1)
    report = health.ready()
    assert not report.is_good
    assert report.details == {"reasons": ["this node's replicas are still catching up: t-0"]}


def test_a_node_without_a_controller_names_the_voters(
    health: Health, local_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_node.lifecycle, "is_fenced", True)
    (reason,) = reasons(health)
    assert reason == "no contact with the controller"
    monkeypatch.setattr(type(local_node.quorum), "leader_id", None)
    (reason,) = reasons(health)
    assert reason.endswith(f"electing one takes 1 of the voters {local_node.node_id}")


def reasons(health: Health) -> list[str]:
    found: Any = health.ready().details["reasons"]
    return list(found)


def test_a_replica_that_a_move_adds_does_not_count(
    health: Health, local_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = local_node.node_id
    set_partition(
        local_node,
        monkeypatch,
        replicas=[own, own + 1],
        isr=[own + 1],
        leader=own + 1,
        adding_replicas=[own],
    )
    assert health.ready().is_good


def test_a_replica_that_can_not_be_opened_counts(
    health: Health, local_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, partitions = local_node.node_id, local_node.partitions
    topic = local_node.image.topics["t"]
    set_partition(local_node, monkeypatch, replicas=[own, own + 1], isr=[own + 1], leader=own + 1)

    def fail(*_: object) -> None:
        raise StorageError("no such disk")

    for by_key, key in (
        (partitions.by_id, topic.topic_id),
        (partitions.by_name, "t"),
        (partitions.by_encoded_name, b"t"),
    ):
        monkeypatch.setitem(by_key, key, [None])  # type: ignore[arg-type]
    monkeypatch.setattr(partitions._opener, "open", fail)
    partitions.apply(topic, [0])
    assert not health.ready().is_good
    set_partition(local_node, monkeypatch, replicas=[own + 1], isr=[own + 1], leader=own + 1)
    partitions.apply(topic, [0])
    assert health.ready().is_good


def test_readiness_does_not_cost_more_in_a_large_cluster(
    health: Health, local_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Probes come every few seconds, and replicas of other nodes are not looked at."""

    class Unwalked(dict[str, TopicImage]):
        def values(self) -> Any:
            raise AssertionError("all topics of the cluster are looked at")

    monkeypatch.setattr(local_node.image, "topics", Unwalked(local_node.image.topics))
    assert health.ready().is_good
