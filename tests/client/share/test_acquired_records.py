"""Which records of an answer are locked for this member."""

import pytest

from barnabas.client.share import acquired_records as module
from barnabas.client.share.acquired_records import acquired_records
from barnabas.errors import CorruptRecords
from barnabas.records.encode import encode_batch
from barnabas.records.record import Record
from barnabas.wire.messages.share_fetch import AcquiredRecords, PartitionData


def batch(base: int, count: int) -> bytes:
    records = [Record(1000, b"k", b"%d" % (base + each), (), base + each) for each in range(count)]
    return bytes(encode_batch(records, base_offset=base))


def answer(records: bytes, *acquired: tuple[int, int, int]) -> PartitionData:
    return PartitionData(records=records, acquired_records=[AcquiredRecords(*a) for a in acquired])


def test_only_acquired_records_are_delivered() -> None:
    data = answer(batch(10, 5) + batch(15, 5), (12, 13, 1), (16, 16, 3))
    records, gaps = acquired_records(data, "jobs", 2)
    assert [(each.message.offset, each.delivery_count) for each in records] == [
        (12, 1),
        (13, 1),
        (16, 3),
    ]
    assert records[0].message[:3] == ("jobs", 2, 12)
    assert records[0].message.value == b"12"
    assert gaps == []


def test_an_offset_without_a_record_is_a_gap() -> None:
    data = answer(batch(10, 2) + batch(15, 1), (10, 15, 1))
    records, gaps = acquired_records(data, "jobs", 0)
    assert [each.message.offset for each in records] == [10, 11, 15]
    assert gaps == [12, 13, 14]


def test_damage_and_nonsense_are_errors() -> None:
    damaged = bytearray(batch(0, 2))
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecords):
        acquired_records(answer(bytes(damaged), (0, 1, 1)), "jobs", 0)
    with pytest.raises(CorruptRecords, match="acquired at once"):
        acquired_records(answer(b"", (0, module.MAX_ACQUIRED, 1)), "jobs", 0)
