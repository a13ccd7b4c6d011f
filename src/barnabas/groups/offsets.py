"""The committed offsets of one group.

Only `replay` changes what is committed. Between the decision to commit and its replay an offset
is pending: fetches do not see it yet, but deletions must reach it, because its record stands
before theirs in the log. So is one that was committed in a transaction, until the transaction ends.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from barnabas.coordination.decision import Record
from barnabas.groups.records import offset_record
from barnabas.groups.transactional_offsets import TopicPartition, TransactionalOffsets
from barnabas.wire.messages.group_records import OffsetCommitKey, OffsetCommitValue

NO_PRODUCER_ID = -1


class CommittedOffsets:
    __slots__ = ("_by_topic", "_pending", "in_transactions")

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[int, OffsetCommitValue]] = {}
        self._pending: Counter[TopicPartition] = Counter()
        """Proposed, and neither persisted nor failed."""
        self.in_transactions = TransactionalOffsets()

    def __bool__(self) -> bool:
        """Whether anything is committed or about to be."""
        return bool(self._by_topic or self._pending or self.in_transactions)

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
        committed = (key for key, _ in self.committed())
        return list(
            dict.fromkeys(chain(committed, self._pending, self.in_transactions.partitions()))
        )

    def is_reachable(self, topic: str, partition: int) -> bool:
        return self.is_pending(topic, partition) or self.get(topic, partition) is not None

    def is_pending(self, topic: str, partition: int) -> bool:
        key = (topic, partition)
        return key in self._pending or key in self.in_transactions

    def propose(
        self,
        group_id: str,
        topic: str,
        partition: int,
        value: OffsetCommitValue,
        *,
        in_transaction: bool = False,
    ) -> Record:
        """The record that commits `value`; `settle` must follow once its fate is known."""
        record = offset_record(OffsetCommitKey(group_id, topic, partition), value)
        self._pending[topic, partition] += 1
        if in_transaction:
            self.in_transactions.propose((topic, partition))
        return record

    def settle(self, topic: str, partition: int, *, in_transaction: bool = False) -> None:
        """A proposed commit was persisted or has failed."""
        self._pending[topic, partition] -= 1
        if not self._pending[topic, partition]:
            del self._pending[topic, partition]
        if in_transaction:
            self.in_transactions.settle((topic, partition))

    def replay(
        self,
        topic: str,
        partition: int,
        value: OffsetCommitValue | None,
        producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        """With a producer id the offset is part of its transaction, and waits for the end of it."""
        if producer_id != NO_PRODUCER_ID and value is not None:
            self.in_transactions.put(producer_id, (topic, partition), value)
            return
        if self.in_transactions:
            self.in_transactions.supersede((topic, partition))
        if value is not None:
            self._by_topic.setdefault(topic, {})[partition] = value
            return
        partitions = self._by_topic.get(topic)
        if partitions is not None:
            partitions.pop(partition, None)
            if not partitions:
                del self._by_topic[topic]

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        """The transaction of that producer is over."""
        ended = self.in_transactions.end(producer_id, is_commit=is_commit)
        for (topic, partition), value in ended.items():
            self._by_topic.setdefault(topic, {})[partition] = value


def tombstone(group_id: str, topic: str, partition: int) -> Record:
    return offset_record(OffsetCommitKey(group_id, topic, partition), None)
