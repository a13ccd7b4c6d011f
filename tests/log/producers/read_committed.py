"""A reader of committed records, as dumb as can be: what clients do with aborted transactions."""

from collections.abc import Sequence

from barnabas.log import Log
from barnabas.records.control import ControlType, parse_control_record
from barnabas.records.decode import decode_batch, iter_batches


def committed_offsets(log: Log, offset: int, end_offset: int, max_bytes: int = 1 << 20) -> set[int]:
    """The base offsets of the batches that a consumer is shown, one fetch after the other."""
    shown: set[int] = set()
    while offset < end_offset:
        data = log.read(offset, max_bytes, upto_offset=end_offset)
        batches = list(iter_batches(data))
        if not batches:
            break
        next_offset = batches[-1][0].next_offset
        aborted = log.producer_state.aborted_transactions(offset, next_offset)
        shown |= filtered(
            [bytes(batch) for _, batch in batches],
            [(a.producer_id, a.first_offset) for a in aborted],
        )
        offset = next_offset
    return shown


def filtered(batches: Sequence[bytes], aborted: Sequence[tuple[int, int]]) -> set[int]:
    """Base offsets of the batches with data that are left of one answer."""
    to_come = sorted(aborted, key=lambda transaction: transaction[1])
    leaving_out: set[int] = set()
    shown = set()
    for data in batches:
        ((header, _),) = iter_batches(memoryview(data))
        while to_come and to_come[0][1] <= header.last_offset:
            leaving_out.add(to_come.pop(0)[0])
        if header.is_control:
            (record,) = decode_batch(data)
            if parse_control_record(record).type == ControlType.ABORT:
                leaving_out.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in leaving_out):
            shown.add(header.base_offset)
    return shown
