"""Where `barnabas consume` begins to read."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import time

from barnabas.cli.base.command import UsageError
from barnabas.cli.base.times import parse_time
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import (
    EARLIEST,
    LATEST,
    NOT_FOUND,
    beginning_and_end,
    list_offsets,
)


@dataclass(frozen=True, slots=True)
class Start:
    """An offset, a distance from the end (negative), or a time (EARLIEST and LATEST included)."""

    offset: int | None = None
    timestamp: int = LATEST


def parse_start(
    from_beginning: bool, offset: str | None, from_time: str | None, *, follow: bool
) -> Start:
    """Make one of the three options, of which at most one may be given."""
    if (from_beginning, offset is not None, from_time is not None).count(True) > 1:
        raise UsageError("give only one of --from-beginning, --offset and --from-time")
    if from_time is not None:
        return Start(timestamp=parse_time(from_time, int(time() * 1000)))
    if offset is None:
        return Start(timestamp=EARLIEST if from_beginning or not follow else LATEST)
    if offset in ("earliest", "beginning"):
        return Start(timestamp=EARLIEST)
    if offset in ("latest", "end"):
        return Start(timestamp=LATEST)
    try:
        return Start(offset=int(offset))
    except ValueError:
        raise UsageError(
            f"--offset {offset!r}: use a number, -N from the end, earliest or latest"
        ) from None


async def start_offsets(
    cluster: ClusterClient,
    partitions: Sequence[TopicPartition],
    start: Start,
    isolation: IsolationLevel,
) -> dict[TopicPartition, int]:
    """The offset to start at, for each partition, never outside its log."""
    bounds = await beginning_and_end(cluster, list(partitions), isolation)
    if start.offset is not None:
        wanted = {
            each: start.offset if start.offset >= 0 else end + start.offset
            for each, (_, end) in bounds.items()
        }
        return {each: min(max(wanted[each], first), end) for each, (first, end) in bounds.items()}
    found = await list_offsets(cluster, dict.fromkeys(partitions, start.timestamp), isolation)
    return {
        each: bounds[each][1] if found[each].offset == NOT_FOUND else found[each].offset
        for each in partitions
    }
