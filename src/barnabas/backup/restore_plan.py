"""Which records of which files are restored: a decision, without I/O.

At a time between two points, the cluster is restored as it was at the earlier one, with the records
that the later one has in addition and that are not younger than the time. Before the first point,
it is the first one, without younger records.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.backup.manifest import DataFile, PartitionData, Point, TopicData


class Piece(NamedTuple):
    """Records of a file: from offset `start` on, and not younger than `max_timestamp_ms`."""

    file: DataFile
    start: int
    max_timestamp_ms: int | None = None


class PlannedPartition(NamedTuple):
    """A partition: its pieces, in order. Source offsets at which it begins and ends."""

    pieces: list[Piece]
    start: int
    end: int


@dataclass(slots=True)
class RestorePlan:
    """What is restored."""

    point: Point
    """Groups, settings, ACLs and quotas are from here."""
    topics: dict[str, TopicData]
    partitions: dict[tuple[str, int], PlannedPartition]
    points: list[Point]
    """All points that something is taken from."""

    @property
    def bytes(self) -> int:
        """Of all files that are read."""
        return sum(piece.file.bytes for each in self.partitions.values() for piece in each.pieces)


def plan_restore(points: Sequence[Point], at_ms: int | None = None) -> RestorePlan:
    """The last of the points, or what there was at a time. There is at least one, in order."""
    if at_ms is None or at_ms >= points[-1].created_at_ms:
        return _plan(points[-1], None, None)
    earlier = [each for each in points if each.created_at_ms <= at_ms]
    if not earlier:
        return _plan(points[0], None, at_ms)
    return _plan(earlier[-1], points[len(earlier)], at_ms)


def _plan(point: Point, later: Point | None, at_ms: int | None) -> RestorePlan:
    topics = dict(point.topics)
    if later is not None:
        topics = {**later.topics, **topics}
    plan = RestorePlan(point, topics, {}, [point] if later is None else [point, later])
    for name, topic in topics.items():
        after = None if later is None else later.topics.get(name)
        if after is not None and after.topic_id != topic.topic_id:
            after = None  # created again since
        known = name in point.topics
        if known and after is not None and len(after.partitions) > len(topic.partitions):
            missing = after.partitions[len(topic.partitions) :]
            empty = [PartitionData(each.start, each.start) for each in missing]
            topic = plan.topics[name] = TopicData(
                topic.topic_id,
                topic.replication_factor,
                topic.configs,
                [*topic.partitions, *empty],
            )
        for index, partition in enumerate(topic.partitions):
            younger = after.partitions[index] if after is not None and known else None
            limit = at_ms if later is None or not known else None
            plan.partitions[name, index] = _partition(partition, younger, limit, at_ms)
    return plan


def _partition(
    data: PartitionData, later: PartitionData | None, limit: int | None, at_ms: int | None
) -> PlannedPartition:
    """Pieces of a partition, and those that the later point adds."""
    pieces = []
    position = data.start
    for file in data.files:
        pieces.append(Piece(file, max(position, file.first), limit))
        position = max(position, file.end)
    end = data.end
    if later is not None and later.end > data.end:
        position = max(data.end, later.start)
        for file in later.files:
            if file.end > position:
                pieces.append(Piece(file, max(position, file.first), at_ms))
                position = file.end
        end = later.end
    return PlannedPartition(pieces, data.start, end)
