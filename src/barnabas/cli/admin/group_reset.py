"""New committed offsets for a group: planned first, then applied."""

from collections.abc import Sequence
from time import time
from typing import NamedTuple

from barnabas.cli.base.command import CommandError, UsageError
from barnabas.cli.base.partition_names import named_partitions
from barnabas.cli.base.times import parse_time
from barnabas.client.admin.group_offsets import group_offsets, set_group_offsets
from barnabas.client.admin.groups import describe_group
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.list_offsets import NOT_FOUND, beginning_and_end, list_offsets
from barnabas.errors import BrokerError
from barnabas.wire.errors import ErrorCode


class Target(NamedTuple):
    """Where to; exactly one of them must be given."""

    to_earliest: bool
    to_latest: bool
    to_offset: int | None
    to_time: str | None
    shift_by: int | None


class Move(NamedTuple):
    """One partition's committed offset, before and after; None if there is none yet."""

    partition: TopicPartition
    current: int | None
    new: int


async def plan_reset(
    cluster: ClusterClient,
    group_id: str,
    topics: Sequence[str],
    target: Target,
    *,
    all_topics: bool,
) -> list[Move]:
    """What a reset would do."""
    if sum(each is not None and each is not False for each in target) != 1:
        raise UsageError(
            "give exactly one of --to-earliest, --to-latest, --to-offset, --to-time, --shift-by"
        )
    if all_topics == bool(topics):
        raise UsageError("give either --topic TOPIC or --all-topics")
    committed = await group_offsets(cluster, group_id)
    if all_topics:
        if not committed:
            raise CommandError(
                f"group {group_id} has no committed offsets; name a topic with --topic"
            )
        partitions = sorted(committed)
    else:
        partitions = await named_partitions(cluster, topics, "--topic ")
    bounds = await beginning_and_end(cluster, partitions)
    wanted = await _wanted(cluster, partitions, target, committed, bounds)
    return [
        Move(each, committed.get(each), min(max(wanted[each], bounds[each][0]), bounds[each][1]))
        for each in partitions
    ]


async def apply_reset(cluster: ClusterClient, group_id: str, plan: Sequence[Move]) -> None:
    """Commit the planned offsets, unless the group has members."""
    try:
        state = (await describe_group(cluster, group_id)).state
    except BrokerError as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        state = "Empty"
    if state != "Empty":
        raise CommandError(
            f"group {group_id} is {state}; stop its consumers first: offsets can only be reset "
            "while the group has no members"
        )
    await set_group_offsets(cluster, group_id, {move.partition: move.new for move in plan})


async def _wanted(
    cluster: ClusterClient,
    partitions: Sequence[TopicPartition],
    target: Target,
    committed: dict[TopicPartition, int],
    bounds: dict[TopicPartition, tuple[int, int]],
) -> dict[TopicPartition, int]:
    if target.to_earliest:
        return {each: bounds[each][0] for each in partitions}
    if target.to_offset is not None:
        return dict.fromkeys(partitions, target.to_offset)
    if target.shift_by is not None:
        missing = [str(each) for each in partitions if each not in committed]
        if missing:
            raise CommandError(
                f"--shift-by needs a committed offset; there is none for {', '.join(missing)}"
            )
        return {each: committed[each] + target.shift_by for each in partitions}
    if target.to_time is not None:
        timestamp = parse_time(target.to_time, int(time() * 1000))
        found = await list_offsets(cluster, dict.fromkeys(partitions, timestamp))
        return {
            each: bounds[each][1] if found[each].offset == NOT_FOUND else found[each].offset
            for each in partitions
        }
    return {each: bounds[each][1] for each in partitions}
