"""The offsets of one group that were committed in transactions whose end is not known yet.

Nobody sees them before the marker that commits their transaction; one that aborts it takes them
away. Of several records for a partition the one that stands last in the log counts, whichever
transaction ends first: a compaction keeps that one only, and must not change what is committed. So
a transaction that is committed, a plain commit and a deletion each take away what has been
committed for the partition before them, also what others have yet to end.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.coordination.decision import Decision
from barnabas.wire.messages.group_records import OffsetCommitValue

TopicPartition = tuple[str, int]


@dataclass(slots=True)
class TransactionEnd(Decision):
    """What the coordinator of the transaction has decided, and its marker says in the log."""

    producer_id: int = -1
    is_commit: bool = False


class TransactionalOffsets:
    __slots__ = ("_by_partition", "_partitions_of", "_proposed")

    def __init__(self) -> None:
        self._by_partition: dict[TopicPartition, dict[int, OffsetCommitValue]] = {}
        """What each producer id has committed there, in the order of the log."""
        self._partitions_of: dict[int, dict[TopicPartition, None]] = {}
        """Where a producer id has something in `_by_partition`."""
        self._proposed: Counter[TopicPartition] = Counter()

    def __bool__(self) -> bool:
        return bool(self._by_partition)

    def __contains__(self, key: TopicPartition) -> bool:
        return key in self._by_partition

    def partitions(self) -> Iterable[TopicPartition]:
        return self._by_partition.keys()

    def is_unstable(self, key: TopicPartition) -> bool:
        """Whether a transaction may yet change, or have changed, what is committed."""
        return key in self._by_partition or key in self._proposed

    def unstable(self) -> set[TopicPartition]:
        return self._by_partition.keys() | self._proposed.keys()

    def propose(self, key: TopicPartition) -> None:
        """A record is under way; `settle` must follow once its fate is known."""
        self._proposed[key] += 1

    def settle(self, key: TopicPartition) -> None:
        self._proposed[key] -= 1
        if not self._proposed[key]:
            del self._proposed[key]

    def put(self, producer_id: int, key: TopicPartition, value: OffsetCommitValue) -> None:
        values = self._by_partition.setdefault(key, {})
        values.pop(producer_id, None)
        values[producer_id] = value
        self._partitions_of.setdefault(producer_id, {})[key] = None

    def supersede(self, key: TopicPartition) -> None:
        """Something that counts now stands behind all that is here."""
        for producer_id in self._by_partition.pop(key, ()):
            self._left(producer_id, key)

    def end(self, producer_id: int, *, is_commit: bool) -> dict[TopicPartition, OffsetCommitValue]:
        """Its transaction is over: what is committed by that."""
        committed = {}
        for key in self._partitions_of.pop(producer_id, ()):
            values = self._by_partition[key]
            value = values[producer_id]
            if is_commit:
                committed[key] = value
                while (before := next(iter(values))) != producer_id:
                    del values[before]
                    self._left(before, key)
            del values[producer_id]
            if not values:
                del self._by_partition[key]
        return committed

    def _left(self, producer_id: int, key: TopicPartition) -> None:
        keys = self._partitions_of[producer_id]
        del keys[key]
        if not keys:
            del self._partitions_of[producer_id]
