"""Offsets of one group that were committed in ongoing transactions, as the log has them.

They become visible with the marker that commits their transaction; a marker that aborts it removes
them. Of several records for a partition the last one in the log counts, whichever transaction ends
first: a compaction keeps only that one, and must not change what is committed. So a committed
transaction, a plain commit and a deletion each remove everything that was committed for the
partition before them, including the offsets of transactions that are still ongoing.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.memory import PER_OFFSET_BYTES
from barnabas.wire.messages.group_records import OffsetCommitValue

TopicPartition = tuple[str, int]


@dataclass(slots=True)
class TransactionEnd(CoordinatorDecision):
    """How a transaction ended, as its marker in the log says."""

    producer_id: int = -1
    is_commit: bool = False


def bytes_of_offset(value: OffsetCommitValue | None) -> int:
    """Approximate memory for a committed offset."""
    return 0 if value is None else PER_OFFSET_BYTES + len(value.metadata)


class TransactionalOffsets:
    __slots__ = ("_by_partition", "_partitions_of", "size_bytes")

    def __init__(self) -> None:
        self._by_partition: dict[TopicPartition, dict[int, OffsetCommitValue]] = {}
        """What each producer id has committed to a partition, in the order of the log."""
        self._partitions_of: dict[int, dict[TopicPartition, None]] = {}
        """The partitions in `_by_partition` of a producer id."""
        self.size_bytes = 0
        """Approximate memory for them."""

    def __bool__(self) -> bool:
        return bool(self._by_partition)

    def __contains__(self, key: TopicPartition) -> bool:
        return key in self._by_partition

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TransactionalOffsets) and self._ordered() == other._ordered()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TransactionalOffsets({self._by_partition})"

    def _ordered(self) -> dict[TopicPartition, list[tuple[int, OffsetCommitValue]]]:
        return {key: list(values.items()) for key, values in self._by_partition.items()}

    def partitions(self) -> Iterable[TopicPartition]:
        """Where an ongoing transaction may yet change what is committed."""
        return self._by_partition.keys()

    def last(self, key: TopicPartition) -> OffsetCommitValue | None:
        """What was committed last to the partition."""
        values = self._by_partition.get(key)
        return None if values is None else values[next(reversed(values))]

    def put(self, producer_id: int, key: TopicPartition, value: OffsetCommitValue) -> None:
        values = self._by_partition.setdefault(key, {})
        self.size_bytes += bytes_of_offset(value) - bytes_of_offset(values.pop(producer_id, None))
        values[producer_id] = value
        self._partitions_of.setdefault(producer_id, {})[key] = None

    def supersede(self, key: TopicPartition) -> None:
        """A record that counts at once stands after all of these in the log."""
        for producer_id, value in self._by_partition.pop(key, {}).items():
            self._left(producer_id, key, value)

    def end(self, producer_id: int, *, is_commit: bool) -> dict[TopicPartition, OffsetCommitValue]:
        """The transaction ended; returns the offsets that are committed by that."""
        committed = {}
        for key in self._partitions_of.pop(producer_id, ()):
            values = self._by_partition[key]
            value = values[producer_id]
            if is_commit:
                committed[key] = value
                while (before := next(iter(values))) != producer_id:
                    self._left(before, key, values.pop(before))
            del values[producer_id]
            self.size_bytes -= bytes_of_offset(value)
            if not values:
                del self._by_partition[key]
        return committed

    def _left(self, producer_id: int, key: TopicPartition, value: OffsetCommitValue) -> None:
        self.size_bytes -= bytes_of_offset(value)
        keys = self._partitions_of[producer_id]
        del keys[key]
        if not keys:
            del self._partitions_of[producer_id]
