"""Which records a read_committed consumer has to skip: those of aborted transactions."""

from barnabas.log import Log
from barnabas.records.batch import batch_size, parse_header
from barnabas.wire.messages.fetch import AbortedTransaction
from barnabas.wire.primitives import Buffer


def aborted_among(log: Log, offset: int, records: Buffer) -> list[AbortedTransaction]:
    """The aborted transactions with records in complete batches that were read from `offset` on.

    Raises `StorageError`.
    """
    if not log.producer_state.has_aborted_transactions:
        return []
    found = log.producer_state.aborted_transactions(offset, _next_offset(memoryview(records)))
    return [AbortedTransaction(each.producer_id, each.first_offset) for each in found]


def _next_offset(records: memoryview) -> int:
    at = 0
    while (end := at + batch_size(records, at)) < len(records):
        at = end
    return parse_header(records, at).next_offset
