"""Which batches belong to aborted transactions, according to the transaction index."""

from bisect import bisect_right
from collections.abc import Iterable
from operator import itemgetter

from barnabas.log.segment.transaction_index import AbortedTransaction
from barnabas.records.batch import BatchHeader

_first_offset = itemgetter(0)


class AbortedRanges:
    """Per producer, from the first offset of each aborted transaction to that of its marker."""

    __slots__ = ("_ranges",)

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._ranges: dict[int, list[tuple[int, int]]] = {}
        for transaction in sorted(aborted, key=lambda found: found.first_offset):
            ranges = self._ranges.setdefault(transaction.producer_id, [])
            ranges.append((transaction.first_offset, transaction.last_offset))

    def has(self, header: BatchHeader) -> bool:
        """Whether a batch of records was aborted. A producer has one transaction at a time."""
        if not header.is_transactional:
            return False
        ranges = self._ranges.get(header.producer_id)
        if ranges is None:
            return False
        number = bisect_right(ranges, header.base_offset, key=_first_offset) - 1
        return number >= 0 and header.base_offset < ranges[number][1]
