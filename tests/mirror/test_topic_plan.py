"""Which topics are created, grown, changed and deleted."""

from dataclasses import replace

import pytest

from barnabas.mirror.flow import ClusterEnd, Flow, Names
from barnabas.mirror.topic_plan import TopicShape, flows, plan_topics

FLOW = Flow(ClusterEnd("A", "a:9092"), ClusterEnd("B", "b:9092"), topics=("orders", "cust.*"))
SAME = Flow(FLOW.source, FLOW.target, names=Names.IDENTITY, sync_deletes=True)


def shape(partitions: int = 3, **configs: str) -> TopicShape:
    return TopicShape(
        partitions, {name.replace("_", "."): value for name, value in configs.items()}
    )


def test_topics_are_named_or_described() -> None:
    assert flows(FLOW, "orders")
    assert flows(FLOW, "customers")
    assert not flows(FLOW, "orders2")
    assert flows(FLOW, "heartbeats"), "clients find out by it where topics come from"
    assert not flows(FLOW, f"{FLOW.target.name}.heartbeats")
    assert not flows(replace(FLOW, exclude=("heartbeats",)), "heartbeats")
    assert not flows(FLOW, "devices.heartbeats"), "a topic like any other"
    assert flows(replace(FLOW, clusters=("C",)), "C.heartbeats")
    assert not flows(SAME, "__consumer_offsets")
    assert not flows(SAME, "mm2-offset-syncs.B.internal")
    assert not flows(replace(FLOW, replicate_heartbeats=False), "heartbeats")
    chosen = replace(SAME, exclude=("audit",), separator="_")
    assert flows(chosen, "orders.internal"), "a topic of users, as nothing else excludes it"
    for internal in ("__consumer_offsets", "mm2-offset-syncs_B_internal", "B_checkpoints_internal"):
        assert not flows(chosen, internal), "whatever is excluded"


def test_missing_topics_are_created_without_settings_of_the_cluster() -> None:
    source = {"orders": shape(3, retention_ms="5", min_insync_replicas="2"), "other": shape()}
    plan = plan_topics(FLOW, source, {}, {})
    assert plan.create == {"A.orders": shape(3, retention_ms="5")}
    assert plan.flowing == {"orders": "A.orders"}


@pytest.mark.parametrize(
    ("replicas", "in_source", "in_target"),
    [
        (3, "2", "2"),
        (3, "3", "2"),
        (5, "3", "3"),
        (2, "2", None),
        (3, "1", None),
        (None, "2", None),
    ],
)
def test_a_new_topic_needs_as_many_in_sync_if_one_more_is_there(
    replicas: int | None, in_source: str, in_target: str | None
) -> None:
    flow = replace(FLOW, replication_factor=replicas)
    plan = plan_topics(flow, {"orders": shape(3, min_insync_replicas=in_source)}, {}, {})
    wanted = {} if in_target is None else {"min_insync_replicas": in_target}
    assert plan.create == {"A.orders": shape(3, **wanted)}


def test_topics_are_followed() -> None:
    source = {"orders": shape(4, retention_ms="5")}
    plan = plan_topics(FLOW, source, {"A.orders": shape(3, retention_ms="7")}, {})
    assert plan.grow == {"A.orders": 4}
    assert plan.alter == {"A.orders": {"retention.ms": "5"}}
    assert plan.create == {}


def test_settings_that_may_not_be_read_are_left_alone() -> None:
    source = {"orders": shape(3, retention_ms="5")}
    plan = plan_topics(FLOW, source, {"A.orders": TopicShape(3, None)}, {})
    assert plan.alter == {}
    plan = plan_topics(FLOW, {"orders": TopicShape(3, None)}, {}, {})
    assert plan.create == {"A.orders": shape(3)}


def test_more_partitions_and_other_times_are_told() -> None:
    there = shape(5, message_timestamp_type="LogAppendTime")
    plan = plan_topics(FLOW, {"orders": shape(3)}, {"A.orders": there}, {})
    assert "5 partitions" in plan.problems[0]
    assert "LogAppendTime" in plan.problems[1]


def test_only_what_was_copied_is_deleted() -> None:
    target = {"orders": shape(), "own": shape(), "gone": shape()}
    plan = plan_topics(SAME, {"orders": shape()}, target, {"orders": "orders", "gone": "gone"})
    assert plan.delete == ["gone"]
    kept = plan_topics(FLOW, {}, target, {"gone": "gone"})
    assert kept.delete == []
