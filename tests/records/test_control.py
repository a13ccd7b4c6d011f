"""Control records."""

import struct

import pytest

from barnabas.records.batch import parse_header
from barnabas.records.control import (
    ControlRecord,
    ControlType,
    encode_end_marker,
    parse_control_record,
)
from barnabas.records.decode import decode_batch, decode_records
from barnabas.records.errors import CorruptBatch
from barnabas.records.record import Record


@pytest.mark.parametrize("type_", list(ControlType))
def test_end_markers_round_trip(type_: ControlType) -> None:
    batch = encode_end_marker(
        type_,
        timestamp_ms=1_700_000_000_000,
        producer_id=42,
        producer_epoch=3,
        coordinator_epoch=7,
        base_offset=100,
        leader_epoch=5,
    )
    header = parse_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (42, 3, -1)
    assert (header.base_offset, header.partition_leader_epoch) == (100, 5)
    [record] = decode_batch(batch)
    assert record.timestamp == 1_700_000_000_000
    assert parse_control_record(record) == ControlRecord(type_, 7)


def test_known_bytes() -> None:
    batch = encode_end_marker(
        ControlType.COMMIT, timestamp_ms=0, producer_id=1, producer_epoch=0, coordinator_epoch=258
    )
    [record] = decode_batch(batch)
    assert record.key == bytes.fromhex("0000 0001")
    assert record.value == bytes.fromhex("0000 00000102")


def test_consumers_do_not_see_them() -> None:
    batch = encode_end_marker(
        ControlType.ABORT, timestamp_ms=0, producer_id=1, producer_epoch=0, coordinator_epoch=0
    )
    assert decode_records(batch) == []


def test_unknown_types_are_kept_and_their_values_left_alone() -> None:
    record = Record(0, struct.pack(">hh", 1, 5), b"?")
    assert parse_control_record(record) == ControlRecord(5, None, 1)


def test_fields_of_newer_versions_are_ignored() -> None:
    record = Record(0, struct.pack(">hhq", 9, 0, 1), struct.pack(">hiq", 9, 6, 1))
    assert parse_control_record(record) == ControlRecord(ControlType.ABORT, 6, 9)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"", b""),
        (b"\x00\x00\x00", bytes(6)),
        (bytes(4), None),
        (bytes(4), bytes(5)),
    ],
)
def test_cut_off_records_are_corrupt(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        parse_control_record(Record(0, key, value))
