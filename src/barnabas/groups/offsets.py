"""The committed offsets of one group.

Only `replay` changes what is committed. Between the decision to commit and its replay an offset
is pending: fetches do not see it yet, but deletions must reach it, because its record stands
before theirs in the log.
"""

from collections import Counter
from collections.abc import Iterator

from barnabas.coordination.decision import Record
from barnabas.groups.records import offset_record
from barnabas.wire.messages.group_records import OffsetCommitKey, OffsetCommitValue

TopicPartition = tuple[str, int]


class CommittedOffsets:
    __slots__ = ("_by_topic", "_pending")

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[int, OffsetCommitValue]] = {}
        self._pending: Counter[TopicPartition] = Counter()

    def __bool__(self) -> bool:
        """Whether anything is committed or about to be."""
        return bool(self._by_topic or self._pending)

    def get(self, topic: str, partition: int) -> OffsetCommitValue | None:
        return self._by_topic.get(topic, {}).get(partition)

    def topics(self) -> dict[str, dict[int, OffsetCommitValue]]:
        """Everything committed, by topic and partition; not to be changed."""
        return self._by_topic

    def committed(self) -> Iterator[tuple[TopicPartition, OffsetCommitValue]]:
        for topic, partitions in self._by_topic.items():
            for partition, value in partitions.items():
                yield (topic, partition), value

    def reachable(self) -> list[TopicPartition]:
        """Everything a deletion that is decided now has to delete."""
        keys = [key for key, _ in self.committed()]
        return keys + [key for key in self._pending if self.get(*key) is None]

    def is_reachable(self, topic: str, partition: int) -> bool:
        return self.is_pending(topic, partition) or self.get(topic, partition) is not None

    def is_pending(self, topic: str, partition: int) -> bool:
        return (topic, partition) in self._pending

    def propose(
        self, group_id: str, topic: str, partition: int, value: OffsetCommitValue
    ) -> Record:
        """The record that commits `value`; `settle` must follow once its fate is known."""
        record = offset_record(OffsetCommitKey(group_id, topic, partition), value)
        self._pending[topic, partition] += 1
        return record

    def settle(self, topic: str, partition: int) -> None:
        """A proposed commit was persisted or has failed."""
        self._pending[topic, partition] -= 1
        if not self._pending[topic, partition]:
            del self._pending[topic, partition]

    def replay(self, topic: str, partition: int, value: OffsetCommitValue | None) -> None:
        if value is not None:
            self._by_topic.setdefault(topic, {})[partition] = value
            return
        partitions = self._by_topic.get(topic)
        if partitions is not None:
            partitions.pop(partition, None)
            if not partitions:
                del self._by_topic[topic]


def tombstone(group_id: str, topic: str, partition: int) -> Record:
    return offset_record(OffsetCommitKey(group_id, topic, partition), None)
