"""Resolves positions in options to offsets of the existing logs."""

from collections.abc import Collection, Mapping

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST, NOT_FOUND, list_offsets
from barnabas.errors import InvalidArgument
from barnabas.spark.source.positions import Offsets, Positions, json_of


async def earliest(cluster: ClusterClient, partitions: Collection[TopicPartition]) -> Offsets:
    """Where the logs begin."""
    return await _at(cluster, dict.fromkeys(partitions, EARLIEST), IsolationLevel.READ_UNCOMMITTED)


async def latest(
    cluster: ClusterClient, partitions: Collection[TopicPartition], isolation: IsolationLevel
) -> Offsets:
    """Where the logs end for a reader of this isolation."""
    return await _at(cluster, dict.fromkeys(partitions, LATEST), isolation)


async def first_since(
    cluster: ClusterClient,
    partitions: Collection[TopicPartition],
    timestamp_ms: int,
    isolation: IsolationLevel,
) -> Offsets:
    """The first offsets at these times; partitions without so new a record are left out.

    All records before it are older, also where times are out of order.
    """
    found = await _at(cluster, dict.fromkeys(partitions, timestamp_ms), isolation)
    return {each: offset for each, offset in found.items() if offset != NOT_FOUND}


async def resolve(
    cluster: ClusterClient,
    positions: Positions,
    partitions: Collection[TopicPartition],
    isolation: IsolationLevel,
    *,
    may_lie_ahead: bool,
) -> Offsets:
    """The offset of each partition. Raises `InvalidArgument` if some are not named.

    With `may_lie_ahead`, a time that no record has reached is the end of the log.
    """
    wanted = _for_each(positions, partitions)
    if not positions.are_times:
        found = {each: offset for each, offset in wanted.items() if offset >= 0}
        symbolic = {each: offset for each, offset in wanted.items() if offset < 0}
        return found | await _at(cluster, symbolic, isolation)
    found = await _at(cluster, wanted, isolation)
    ahead = [each for each, offset in found.items() if offset == NOT_FOUND]
    if ahead and not may_lie_ahead:
        raise InvalidArgument(
            f"{positions.option}: {', '.join(map(str, sorted(ahead)))} has no record that new; "
            "startingOffsetsByTimestampStrategy=latest starts at its end"
        )
    return found | await latest(cluster, ahead, isolation)


def _for_each(
    positions: Positions, partitions: Collection[TopicPartition]
) -> Mapping[TopicPartition, int]:
    unknown = positions.each.keys() - set(partitions)
    if positions.every is not None and not unknown:
        return {each: positions.each.get(each, positions.every) for each in partitions}
    if positions.each.keys() != set(partitions):
        raise InvalidArgument(
            f"{positions.option} must name exactly the partitions that are read, "
            f"{json_of(dict.fromkeys(partitions, EARLIEST))} (-2 is the earliest offset, -1 the "
            f"latest), not {json_of(positions.each)}"
        )
    return positions.each


async def _at(
    cluster: ClusterClient, timestamps: Mapping[TopicPartition, int], isolation: IsolationLevel
) -> Offsets:
    if not timestamps:
        return {}
    found = await list_offsets(cluster, timestamps, isolation)
    return {each: there.offset for each, there in found.items()}
