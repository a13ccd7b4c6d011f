"""Metrics of the groups that this node coordinates; lag under the names of kafka_exporter."""

from asyncio import sleep
from collections import Counter
from itertools import islice

from barnabas.broker.monitoring.committed_lag import TopicPartition, log_ends
from barnabas.broker.monitoring.replica_metrics import LEFT_OUT
from barnabas.broker.node import Node
from barnabas.coordination.mirror_groups import is_of_mirror
from barnabas.groups.group import Group
from barnabas.groups.group_type import GroupType
from barnabas.metrics.exposition import Samples, escaped, gauge
from barnabas.metrics.metric import Metric
from barnabas.wire.errors import ErrorCode

_SLICE = 500
_OF_PARTITION = ("consumergroup", "topic", "partition")
_STATES = ("Empty", "Stable", "PreparingRebalance", "CompletingRebalance", "Dead")


def _manager(name: str, meaning: str) -> Metric:
    return gauge(f"kafka_coordinator_group_groupmetadatamanager_{name}", f"{meaning} here")


_GROUPS = _manager("numgroups", "Groups that are coordinated")
_OFFSETS = _manager("numoffsets", "Committed offsets of groups that are coordinated")
_BY_STATE = {
    state: _manager(f"numgroups{state.lower()}", f"Groups in state {state} that are coordinated")
    for state in _STATES
}
_LAG = gauge(
    "kafka_consumergroup_lag",
    "Records behind the committed offset of a group",
    *_OF_PARTITION,
    alarm="growing for longer than your consumers may be late",
)
_LAG_SUM = gauge(
    "kafka_consumergroup_lag_sum", "Lag of all partitions of a topic", "consumergroup", "topic"
)
_OFFSET = gauge("kafka_consumergroup_current_offset", "Committed offset", *_OF_PARTITION)
_OFFSET_SUM = gauge(
    "kafka_consumergroup_current_offset_sum",
    "Committed offsets of all partitions of a topic",
    "consumergroup",
    "topic",
)
_MEMBERS = gauge("kafka_consumergroup_members", "Members of a group", "consumergroup")
METRICS = (
    *(_LAG, _LAG_SUM, _OFFSET, _OFFSET_SUM, _MEMBERS, _GROUPS),
    *(*_BY_STATE.values(), _OFFSETS),
)


async def collect(node: Node, samples: Samples, max_partitions: int) -> None:
    groups = [
        group
        for shard in node.groups.shards
        if shard.error is ErrorCode.NONE
        for group in shard.groups
    ]
    states = Counter(group.state_name for group in groups)
    samples.add(_GROUPS, len(groups))
    for state, metric in _BY_STATE.items():
        samples.add(metric, states[state])
    with_offsets = [group for group in groups if group.group_type is not GroupType.SHARE]
    committed = {group.group_id: _committed(group) for group in with_offsets}
    count = sum(map(len, committed.values()))
    samples.add(_OFFSETS, count)
    wanted = dict.fromkeys(
        islice((each for offsets in committed.values() for each in offsets), max_partitions)
    )
    await sleep(0)
    ends = await log_ends(node, wanted)
    await sleep(0)
    left = max_partitions
    for group in with_offsets:
        if left <= 0:
            break
        offsets = committed[group.group_id]
        await _add(samples, group, dict(islice(offsets.items(), left)), ends)
        before, left = left, left - max(1, len(offsets))
        if before // _SLICE != left // _SLICE:
            await sleep(0)
    samples.add(LEFT_OUT, max(0, count - max_partitions), of="group partitions")


def _committed(group: Group) -> dict[TopicPartition, int]:
    return {where: value.offset for where, value in group.image.offsets.committed()}


async def _add(
    samples: Samples,
    group: Group,
    offsets: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
) -> None:
    samples.add(_MEMBERS, group.member_count, consumergroup=group.group_id)
    of_group = f'consumergroup="{escaped(group.group_id)}"'
    lag_by_topic: Counter[str] = Counter()
    offset_by_topic: Counter[str] = Counter()
    for number, ((topic, index), offset) in enumerate(offsets.items(), 1):
        if number % _SLICE == 0:
            await sleep(0)
        shown = f'{{{of_group},topic="{escaped(topic)}",partition="{index}"}}'
        samples.of(_OFFSET).append(f"{_OFFSET.name}{shown} {offset}\n")
        offset_by_topic[topic] += offset
        end = ends.get((topic, index))
        if end is not None and not is_of_mirror(group.group_id):
            lag = max(0, end - offset)  # a follower may be a moment behind
            samples.of(_LAG).append(f"{_LAG.name}{shown} {lag}\n")
            lag_by_topic[topic] += lag
    for metric, by_topic in ((_OFFSET_SUM, offset_by_topic), (_LAG_SUM, lag_by_topic)):
        for topic, total in by_topic.items():
            samples.add(metric, total, consumergroup=group.group_id, topic=topic)
