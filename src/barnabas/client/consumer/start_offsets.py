"""Where a member starts to read partitions that its group has committed nothing for."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.new_topics import NewTopics, retry_until_known
from barnabas.client.consumer.partition_progress import NOTHING_COMMITTED, PartitionProgress
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST
from barnabas.wire.primitives import ZERO_UUID


class _FirstStart(NamedTuple):
    offset: int
    topic_id: bytes


class StartOffsets:
    """Of one member. `start` is a time: EARLIEST, LATEST or milliseconds.

    The first start of a partition is remembered until the group has committed an offset for it. A
    member that rolls back reads again from there: a second lookup of LATEST would skip the records
    that were rolled back. A start at the beginning of the log is looked up again, since retention
    may have moved it.
    """

    def __init__(
        self, cluster: ClusterClient, topics: NewTopics, start: int, isolation: IsolationLevel
    ) -> None:
        self._cluster = cluster
        self._topics = topics
        self._start = start
        self._isolation = isolation
        self._first: dict[TopicPartition, _FirstStart] = {}

    async def look_up(
        self, partitions: Sequence[TopicPartition], *, rewinding: bool
    ) -> dict[TopicPartition, PartitionProgress]:
        """The start of each partition; the first one that it had, if it is read again.

        A start at the end of the log is committed, even if nothing is delivered: what is written
        while this member is away would be skipped by the next start.
        """
        known = self._first_starts(partitions)
        again = known if rewinding else {}
        others = [each for each in partitions if each not in again]
        found = await retry_until_known(
            self._cluster.environment,
            lambda: self._topics.places(others, self._start, self._isolation),
        )
        if self._start != EARLIEST:
            for name, offset in found.items():
                if name not in known:
                    self._first[name] = _FirstStart(offset, self._topic_id(name))
        committed = NOTHING_COMMITTED if self._start == LATEST else None
        return {
            name: PartitionProgress(offset, committed)
            for name, offset in {**again, **found}.items()
        }

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """The group has committed offsets for these."""
        for each in partitions:
            self._first.pop(each, None)

    def _first_starts(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Those that are known, unless their topic was created again since."""
        return {
            name: first.offset
            for name in partitions
            if (first := self._first.get(name)) is not None
            and (ZERO_UUID in (ids := (first.topic_id, self._topic_id(name))) or ids[0] == ids[1])
        }

    def _topic_id(self, partition: TopicPartition) -> bytes:
        known = self._cluster.known_topic(partition.topic)
        return ZERO_UUID if known is None else known.topic_id
