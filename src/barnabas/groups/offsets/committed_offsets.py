"""The committed offsets of one group, as the log has them. Only `replay` changes them."""

from collections.abc import Iterator

from barnabas.coordination.decision import CoordinatorRecord
from barnabas.groups.offsets.transactional_offsets import (
    TopicPartition,
    TransactionalOffsets,
    bytes_of_offset,
)
from barnabas.groups.records import offset_record
from barnabas.wire.messages.group_records import OffsetCommitKey, OffsetCommitValue

NO_PRODUCER_ID = -1


class CommittedOffsets:
    __slots__ = ("_by_topic", "_bytes", "in_transactions")

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[int, OffsetCommitValue]] = {}
        self._bytes = 0
        self.in_transactions = TransactionalOffsets()

    @property
    def size_bytes(self) -> int:
        """Approximate memory for them."""
        return self._bytes + self.in_transactions.size_bytes

    def __bool__(self) -> bool:
        """Whether an offset is committed, or will be if a transaction commits."""
        return bool(self._by_topic or self.in_transactions)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CommittedOffsets)
            and self._by_topic == other._by_topic
            and self.in_transactions == other.in_transactions
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"CommittedOffsets({self._by_topic}, {self.in_transactions})"

    def get(self, topic: str, partition: int) -> OffsetCommitValue | None:
        return self._by_topic.get(topic, {}).get(partition)

    def topics(self) -> dict[str, dict[int, OffsetCommitValue]]:
        """Everything committed, by topic and partition; not to be changed."""
        return self._by_topic

    def committed(self) -> Iterator[tuple[TopicPartition, OffsetCommitValue]]:
        for topic, partitions in self._by_topic.items():
            for partition, value in partitions.items():
                yield (topic, partition), value

    def replay(
        self,
        topic: str,
        partition: int,
        value: OffsetCommitValue | None,
        producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        """With a producer id the offset is part of its transaction and waits for its end."""
        if producer_id != NO_PRODUCER_ID and value is not None:
            self.in_transactions.put(producer_id, (topic, partition), value)
            return
        if self.in_transactions:
            self.in_transactions.supersede((topic, partition))
        if value is not None:
            self._put(topic, partition, value)
            return
        partitions = self._by_topic.get(topic)
        if partitions is not None:
            self._bytes -= bytes_of_offset(partitions.pop(partition, None))
            if not partitions:
                del self._by_topic[topic]

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        """The transaction of that producer ended."""
        ended = self.in_transactions.end(producer_id, is_commit=is_commit)
        for (topic, partition), value in ended.items():
            self._put(topic, partition, value)

    def _put(self, topic: str, partition: int, value: OffsetCommitValue) -> None:
        partitions = self._by_topic.setdefault(topic, {})
        self._bytes += bytes_of_offset(value) - bytes_of_offset(partitions.get(partition))
        partitions[partition] = value


def tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return offset_record(OffsetCommitKey(group_id, topic, partition), None)
