"""Places in a log as applications name them: its beginning, its end, or a moment in time."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, TypeAlias

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST, NOT_FOUND, list_offsets
from barnabas.errors import InvalidArgument

Where: TypeAlias = Literal["earliest", "latest"] | datetime
"""A moment stands for the first record that is not older, or the end if there is none yet."""


def timestamp_of(where: Where, argument: str) -> int:
    """What ListOffsets is asked for. A moment has to say its time zone: there is no right guess."""
    if isinstance(where, datetime):
        if where.tzinfo is None:
            raise InvalidArgument(
                f"{argument}={where!r} has no time zone: use datetime(..., tzinfo=timezone.utc), "
                "or .astimezone() if local time is meant"
            )
        return int(where.timestamp() * 1000)
    if where == "earliest":
        return EARLIEST
    if where == "latest":
        return LATEST
    raise InvalidArgument(f'{argument} is "earliest", "latest" or a datetime, not {where!r}')


async def offsets_at(
    cluster: ClusterClient,
    partitions: Iterable[TopicPartition],
    timestamp: int,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> dict[TopicPartition, int]:
    """The offset of each partition at a time, as `timestamp_of` makes it."""
    found = await list_offsets(cluster, dict.fromkeys(partitions, timestamp), isolation)
    offsets = {each: there.offset for each, there in found.items()}
    if timestamp >= 0:
        beyond = [each for each, offset in offsets.items() if offset == NOT_FOUND]
        ends = await list_offsets(cluster, dict.fromkeys(beyond, LATEST), isolation)
        offsets.update((each, there.offset) for each, there in ends.items())
    return offsets
