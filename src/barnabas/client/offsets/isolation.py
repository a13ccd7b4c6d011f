"""What a reader sees of transactions: everything, or only what was committed.

A broker that is asked for committed records sends whole batches up to the last stable offset, those
of aborted transactions among them, and says which these are: a producer and the first offset of its
transaction. From there on the producer's transactional batches are left out, up to the marker that
ends the transaction.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Literal, TypeAlias, get_args

from barnabas.errors import InvalidArgument
from barnabas.records.batch import BatchHeader, Buffer
from barnabas.records.control import ControlType, parse_control_record
from barnabas.records.decode import decode_batch
from barnabas.wire.messages.fetch import AbortedTransaction

Isolation: TypeAlias = Literal["read_committed", "read_uncommitted"]


class IsolationLevel(IntEnum):
    """Kafka's isolation levels, by their numbers in requests."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


def isolation_level(isolation: Isolation) -> IsolationLevel:
    """The level that an application names."""
    if isolation not in get_args(Isolation):
        raise InvalidArgument(
            f'isolation is "read_committed" or "read_uncommitted", not {isolation!r}'
        )
    return IsolationLevel[isolation.upper()]


class AbortedTransactions:
    """Knows, batch after batch of one answer, which belong to an aborted transaction."""

    def __init__(self, aborted: Sequence[AbortedTransaction] | None) -> None:
        # The last one comes first, so that it can be popped from the end.
        self._ahead = sorted(aborted or (), key=lambda each: each.first_offset, reverse=True)
        self._open: set[int] = set()

    def hide(self, header: BatchHeader, batch: Buffer) -> bool:
        """Whether this batch, the next one in order, is not for readers of committed records."""
        while self._ahead and self._ahead[-1].first_offset <= header.last_offset:
            self._open.add(self._ahead.pop().producer_id)
        if not self._open or header.producer_id not in self._open:
            return False
        if header.is_control:
            if _is_abort_marker(batch):
                self._open.discard(header.producer_id)
            return True
        return header.is_transactional


def _is_abort_marker(batch: Buffer) -> bool:
    records = decode_batch(batch)  # none are left where compaction only kept the batch's header
    return bool(records) and parse_control_record(records[0]).type == ControlType.ABORT
