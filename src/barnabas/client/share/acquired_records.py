"""The records of a ShareFetch answer that this member has locked.

An answer holds whole batches. Those of their records that the ranges of `acquired_records` name are
locked for this member; what else is in the batches is not its business. An offset in a range
without a record, because of compaction or a transaction marker, is a gap, and has to be
acknowledged as one.
"""

from typing import NamedTuple

from barnabas.errors import CorruptRecords
from barnabas.records.decode import decode_messages, iter_batches
from barnabas.records.errors import RecordsError
from barnabas.records.message import Message
from barnabas.wire.messages.share_fetch import PartitionData

MAX_ACQUIRED = 1_000_000
"""More locks in one answer than any broker grants: it is not what it seems."""


class Acquired(NamedTuple):
    """A locked record; this is its delivery number `delivery_count`, counted from 1."""

    message: Message
    delivery_count: int


def acquired_records(
    data: PartitionData, topic: str, partition: int
) -> tuple[list[Acquired], list[int]]:
    """The locked records in order of their offsets, and the gaps among them.

    Raises `CorruptRecords`; what was locked is then locked still.
    """
    locked = sum(each.last_offset - each.first_offset + 1 for each in data.acquired_records)
    if locked > MAX_ACQUIRED:
        raise CorruptRecords(f"partition {topic}-{partition}: {locked} records acquired at once")
    messages: dict[int, Message] = {}
    try:
        for header, batch in iter_batches(data.records):
            if not header.is_control:
                messages |= {each.offset: each for each in decode_messages(batch, topic, partition)}
    except RecordsError as error:
        raise CorruptRecords(f"partition {topic}-{partition}: {error}") from error
    acquired: list[Acquired] = []
    gaps: list[int] = []
    for each in data.acquired_records:
        for offset in range(each.first_offset, each.last_offset + 1):
            message = messages.get(offset)
            if message is None:
                gaps.append(offset)
            else:
                acquired.append(Acquired(message, each.delivery_count))
    return acquired, gaps
