"""Offset commits that are decided, and neither persisted nor failed yet: soft state.

Between the decision to commit and its replay an offset is pending. Fetches do not see it yet, but
deletions must reach it, because its record stands before theirs in the log.
"""

from collections import Counter
from collections.abc import Iterable

from barnabas.groups.offsets.transactional_offsets import TopicPartition


class PendingOffsets:
    __slots__ = ("_count", "_in_transactions", "_topic_ids")

    def __init__(self) -> None:
        self._count: Counter[TopicPartition] = Counter()
        self._in_transactions: Counter[TopicPartition] = Counter()
        """Those of `_count` that are part of a transaction."""
        self._topic_ids: dict[TopicPartition, bytes] = {}
        """The topic of the last commit for each partition."""

    def __bool__(self) -> bool:
        return bool(self._count)

    def __contains__(self, key: TopicPartition) -> bool:
        return key in self._count

    def partitions(self) -> Iterable[TopicPartition]:
        return self._count.keys()

    def in_transactions(self) -> Iterable[TopicPartition]:
        """The partitions for which a transactional commit is pending."""
        return self._in_transactions.keys()

    def is_in_transaction(self, key: TopicPartition) -> bool:
        return key in self._in_transactions

    def topic_id(self, key: TopicPartition) -> bytes | None:
        """The topic of the last commit that is pending for the partition."""
        return self._topic_ids.get(key)

    def add(self, key: TopicPartition, topic_id: bytes, *, in_transaction: bool) -> None:
        """A commit was decided; `remove` must follow once it is persisted or has failed."""
        self._count[key] += 1
        self._topic_ids[key] = topic_id
        if in_transaction:
            self._in_transactions[key] += 1

    def remove(self, key: TopicPartition, *, in_transaction: bool) -> None:
        _decrement(self._count, key)
        if key not in self._count:
            self._topic_ids.pop(key, None)
        if in_transaction:
            _decrement(self._in_transactions, key)


def _decrement(counter: Counter[TopicPartition], key: TopicPartition) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
