"""Which topics to create, grow, change or delete in the target: a decision, without I/O.

Settings are copied if they were set for the topic itself in the source, not those that it has from
its brokers. Some never are, as in Mirror Maker 2, because they belong to a cluster and not to data.
But a new topic whose number of replicas is given needs as many in sync as in the source, if it can.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.mirror.flow import Flow
from barnabas.mirror.formats.internal_topics import is_internal_topic
from barnabas.mirror.names import is_heartbeats, is_loop, remote_topic

NEVER_COPIED = (
    r"follower\.replication\.throttled\.replicas",
    r"leader\.replication\.throttled\.replicas",
    r"message\.timestamp\.difference\.max\.ms",
    r"message\.timestamp\.before\.max\.ms",
    r"message\.timestamp\.after\.max\.ms",
    r"log\.message\.timestamp\.before\.max\.ms",
    r"log\.message\.timestamp\.after\.max\.ms",
    r"message\.timestamp\.type",
    r"unclean\.leader\.election\.enable",
    r"min\.insync\.replicas",
)
_IN_SYNC = "min.insync.replicas"


class TopicShape(NamedTuple):
    """A topic, as far as it is copied."""

    partitions: int
    configs: Mapping[str, str] | None
    """Those that were set for it; None if they may not be read."""
    topic_id: bytes = bytes(16)


@dataclass
class TopicPlan:
    """What to do, by names of the target; and which topics flow, by names of the source."""

    flowing: dict[str, str] = field(default_factory=dict)
    """Names in the target by names in the source."""
    create: dict[str, TopicShape] = field(default_factory=dict)
    grow: dict[str, int] = field(default_factory=dict)
    alter: dict[str, dict[str, str]] = field(default_factory=dict)
    delete: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def flows(flow: Flow, topic: str) -> bool:
    """Whether a topic of the source is copied. Heartbeats are, unless they are excluded.

    Internal topics never are, whatever is excluded: they describe their own cluster.
    """
    if is_internal_topic(topic, flow.internal_separator) or is_loop(flow, topic):
        return False
    wanted = any(re.fullmatch(each, topic) for each in flow.topics) or (
        flow.replicate_heartbeats and is_heartbeats(flow, topic)
    )
    return wanted and not any(re.fullmatch(each, topic) for each in flow.exclude)


def copied_configs(flow: Flow, configs: Mapping[str, str]) -> dict[str, str]:
    """The settings of a topic that the target gets."""
    excluded = (*NEVER_COPIED, *flow.exclude_configs)
    return {
        name: value
        for name, value in configs.items()
        if not any(re.fullmatch(each, name) for each in excluded)
    }


def _needed_in_sync(flow: Flow, configs: Mapping[str, str]) -> dict[str, str]:
    """Of a new topic: so many that one node may be down."""
    own = configs.get(_IN_SYNC, "")
    if flow.replication_factor is None or not own.isdecimal():
        return {}
    needed = min(int(own), flow.replication_factor - 1)
    return {_IN_SYNC: str(needed)} if needed > 1 else {}


def plan_topics(
    flow: Flow,
    source: Mapping[str, TopicShape],
    target: Mapping[str, TopicShape],
    copied_before: Mapping[str, str],
) -> TopicPlan:
    """Compare both clusters.

    `copied_before` are topics that this flow has copied, target's names by source's: only those are
    ever deleted.
    """
    plan = TopicPlan()
    for topic, shape in sorted(source.items()):
        if flows(flow, topic):
            _plan_topic(flow, plan, topic, shape, target.get(remote_topic(flow, topic)))
    if flow.sync_deletes:
        plan.delete = sorted(
            there
            for here, there in copied_before.items()
            if here not in source and there in target and there not in plan.flowing.values()
        )
    return plan


def _plan_topic(
    flow: Flow, plan: TopicPlan, topic: str, shape: TopicShape, there: TopicShape | None
) -> None:
    name = remote_topic(flow, topic)
    plan.flowing[topic] = name
    wanted = copied_configs(flow, shape.configs or {})
    if there is None:
        needed = _needed_in_sync(flow, shape.configs or {})
        plan.create[name] = TopicShape(shape.partitions, wanted | needed)
        return
    if there.partitions < shape.partitions:
        plan.grow[name] = shape.partitions
    elif there.partitions > shape.partitions:
        plan.problems.append(
            f"topic {name} of {flow.target.name} has {there.partitions} partitions, {topic} of "
            f"{flow.source.name} has {shape.partitions}: records keep their partition, so the "
            "others get none from this flow"
        )
    if there.configs is None:
        return  # whatever differs is not known
    if flow.sync_configs:
        changed = {key: text for key, text in wanted.items() if there.configs.get(key) != text}
        if changed:
            plan.alter[name] = changed
    if there.configs.get("message.timestamp.type") == "LogAppendTime":
        plan.problems.append(
            f"topic {name} of {flow.target.name} has message.timestamp.type=LogAppendTime: records "
            "get the time of their arrival, and lose that of the source"
        )
