"""New committed offsets for a group: planned first, then applied."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from barnabas.client.admin.group_offsets import group_offsets, set_group_offsets
from barnabas.client.admin.groups import describe_group
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.list_offsets import NOT_FOUND, beginning_and_end, list_offsets
from barnabas.coordination.mirror_groups import has_foreign_offsets
from barnabas.errors import GroupNotEmpty, InvalidArgument, UnknownGroup
from barnabas.wire.errors import ErrorCode

Bounds = Mapping[TopicPartition, tuple[int, int]]


class ResetKind(StrEnum):
    """Where to; all but the first two need a number."""

    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSET = "offset"
    TIME = "time"
    SHIFT = "shift"


class ResetTarget(NamedTuple):
    """`number` is an offset, milliseconds since 1970, or by how many records to move."""

    kind: ResetKind
    number: int = 0


class Move(NamedTuple):
    """One partition's committed offset, before and after; None if there is none yet."""

    partition: TopicPartition
    current: int | None
    new: int


async def plan_reset(
    cluster: ClusterClient,
    group_id: str,
    partitions: Sequence[TopicPartition] | None,
    target: ResetTarget,
) -> list[Move]:
    """What a reset of these partitions, or of all that the group has committed, would do.

    Offsets outside a log become its beginning or its end. The position of a mirror is an offset of
    another cluster, so it can be any number, and no place in this cluster's log.
    """
    is_foreign = has_foreign_offsets(group_id)
    if is_foreign and target.kind not in (ResetKind.OFFSET, ResetKind.SHIFT):
        raise InvalidArgument(
            f"group {group_id} has positions of a mirror in its source, and this is the other "
            "cluster: give an offset of the source's partition with --to-offset, or --shift-by"
        )
    committed = await group_offsets(cluster, group_id)
    if partitions is None:
        if not committed:
            raise InvalidArgument(f"group {group_id} has no committed offsets; name a topic")
        partitions = sorted(committed)
    bounds = await beginning_and_end(cluster, list(partitions))
    wanted = await _wanted(cluster, partitions, target, committed, bounds)

    def within(each: TopicPartition) -> int:
        first, end = bounds[each]
        return max(0, wanted[each]) if is_foreign else min(max(wanted[each], first), end)

    return [Move(each, committed.get(each), within(each)) for each in partitions]


async def apply_reset(cluster: ClusterClient, group_id: str, plan: Sequence[Move]) -> None:
    """Commit the planned offsets. Raises `GroupNotEmpty` if the group has members."""
    try:
        state = (await describe_group(cluster, group_id)).state
    except UnknownGroup:
        state = "Empty"
    if state != "Empty":
        raise GroupNotEmpty(
            ErrorCode.NON_EMPTY_GROUP,
            f"group {group_id} is {state}; stop its consumers first: offsets can only be reset "
            "while the group has no members",
        )
    await set_group_offsets(cluster, group_id, {move.partition: move.new for move in plan})


async def _wanted(
    cluster: ClusterClient,
    partitions: Sequence[TopicPartition],
    target: ResetTarget,
    committed: Mapping[TopicPartition, int],
    bounds: Bounds,
) -> dict[TopicPartition, int]:
    match target.kind:
        case ResetKind.EARLIEST:
            return {each: bounds[each][0] for each in partitions}
        case ResetKind.LATEST:
            return {each: bounds[each][1] for each in partitions}
        case ResetKind.OFFSET:
            return dict.fromkeys(partitions, target.number)
        case ResetKind.TIME:
            found = await list_offsets(cluster, dict.fromkeys(partitions, target.number))
            return {
                each: bounds[each][1] if found[each].offset == NOT_FOUND else found[each].offset
                for each in partitions
            }
        case ResetKind.SHIFT:
            missing = [str(each) for each in partitions if each not in committed]
            if missing:
                raise InvalidArgument(
                    "a shift needs a committed offset; there is none for " + ", ".join(missing)
                )
            return {each: committed[each] + target.number for each in partitions}
