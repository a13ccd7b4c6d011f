"""What a broker refuses to store, and the error code it answers with."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.batch import (
    CONTROL,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    BatchHeader,
    pack_header,
    parse_header,
    patch_assigned,
    patch_crc,
)
from barnabas.records.compression import Compression, compress
from barnabas.records.encode import encode_batch
from barnabas.records.errors import InvalidBatch
from barnabas.records.record import Row
from barnabas.records.validate import validate_batches
from barnabas.wire.errors import ErrorCode

NOW = 1_700_000_000_000
ROWS: list[Row] = [(NOW + i, b"key", b"value" * 9, ()) for i in range(5)]
INT32 = st.integers(-(2**31), 2**31 - 1)


def validate(
    records: bytes | bytearray, max_batch_bytes: int = 10**6, max_decompressed_bytes: int = 10**7
) -> list[tuple[int, BatchHeader]]:
    return validate_batches(
        memoryview(records),
        max_batch_bytes=max_batch_bytes,
        max_decompressed_bytes=max_decompressed_bytes,
    )


def refusal(records: bytes | bytearray, **limits: int) -> InvalidBatch:
    with pytest.raises(InvalidBatch) as raised:
        validate(records, **limits)
    assert raised.value.message == str(raised.value) != ""
    return raised.value


def forged(batch: bytearray | None = None, **fields: int) -> bytearray:
    """A batch with some header fields changed and a right CRC."""
    batch = encode_batch(ROWS) if batch is None else batch
    header = parse_header(batch)._replace(**fields)
    result = bytearray(pack_header(header)) + batch[HEADER_SIZE:]
    patch_crc(result)
    return result


@pytest.mark.parametrize("compression", list(Compression), ids=str)
def test_good_batches_pass(compression: Compression) -> None:
    for options in ({}, {"producer_id": 0, "producer_epoch": 0, "base_sequence": 0}):
        batch = encode_batch(ROWS, compression=compression, **options)
        assert validate(batch) == [(0, parse_header(batch))]


def test_a_transactional_batch_passes() -> None:
    assert validate(
        encode_batch(ROWS, producer_id=1, producer_epoch=2, base_sequence=3, transactional=True)
    )


def test_nothing_is_refused_as_invalid() -> None:
    assert refusal(b"").error_code is ErrorCode.INVALID_RECORD


def test_every_truncation_is_refused_as_invalid() -> None:
    batch = encode_batch(ROWS)
    for size in range(len(batch)):
        assert refusal(batch[:size]).error_code is ErrorCode.INVALID_RECORD


def test_more_than_one_batch_is_refused() -> None:
    batch = encode_batch(ROWS)
    assert refusal(batch + batch).error_code is ErrorCode.INVALID_RECORD
    assert refusal(batch + b"\x00").error_code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    ("magic", "error_code"),
    [
        (0, ErrorCode.INVALID_RECORD),
        (1, ErrorCode.INVALID_RECORD),
        (3, ErrorCode.CORRUPT_MESSAGE),
        (-1, ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_other_formats(magic: int, error_code: ErrorCode) -> None:
    assert refusal(forged(magic=magic)).error_code is error_code


def test_a_short_message_of_an_old_format() -> None:
    message = bytes(8) + (14).to_bytes(4, "big") + bytes(14)
    error = refusal(message)
    assert error.error_code is ErrorCode.INVALID_RECORD
    assert "message format 0" in error.message


@pytest.mark.parametrize("batch_length", [-(2**31), -13, -12, -1, 0, 48])
def test_impossible_lengths(batch_length: int) -> None:
    assert refusal(forged(batch_length=batch_length)).error_code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("batch_length", [49, 2**31 - 1])
def test_lengths_that_do_not_fit(batch_length: int) -> None:
    assert refusal(forged(batch_length=batch_length)).error_code is ErrorCode.INVALID_RECORD


def test_the_size_limit_is_exact() -> None:
    batch = encode_batch(ROWS)
    assert validate(batch, max_batch_bytes=len(batch))
    error = refusal(batch, max_batch_bytes=len(batch) - 1)
    assert error.error_code is ErrorCode.MESSAGE_TOO_LARGE
    assert str(len(batch) - 1) in error.message


@pytest.mark.parametrize(
    "fields",
    [
        {"record_count": 0, "last_offset_delta": -1},
        {"record_count": -1, "last_offset_delta": -2},
        {"record_count": 4},
        {"last_offset_delta": 5},
        {"last_offset_delta": 2**31 - 1},
        {"record_count": 2**31 - 1, "last_offset_delta": 2**31 - 2},
        {"record_count": 1000, "last_offset_delta": 999},
        {"base_offset": 1},
        {"base_offset": -1},
        {"attributes": CONTROL},
        {"attributes": TRANSACTIONAL},
        {"producer_id": 1},
        {"producer_id": 1, "producer_epoch": 0},
        {"producer_id": 1, "base_sequence": 0},
        {"producer_id": 1, "producer_epoch": -2, "base_sequence": 0},
        {"producer_id": -2},
    ],
)
def test_inconsistent_headers_are_invalid(fields: dict[str, int]) -> None:
    assert refusal(forged(**fields)).error_code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    "fields",
    [
        {"attributes": LOG_APPEND_TIME},
        {"base_timestamp": -2},
        {"max_timestamp": -2},
        {"max_timestamp": NOW - 1},
        {"base_timestamp": 2**63 - 1},
    ],
)
def test_bad_timestamps(fields: dict[str, int]) -> None:
    assert refusal(forged(**fields)).error_code is ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize(
    "fields", [{"base_timestamp": -1, "max_timestamp": -1}, {"max_timestamp": -1}]
)
def test_missing_timestamps_pass(fields: dict[str, int]) -> None:
    assert validate(forged(**fields))


@pytest.mark.parametrize("compression", [5, 6, 7])
def test_unknown_compression(compression: int) -> None:
    error = refusal(forged(attributes=compression))
    assert error.error_code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


CODECS = [codec for codec in Compression if codec is not Compression.NONE]


@pytest.mark.parametrize("compression", CODECS, ids=str)
def test_bombs_are_too_large_and_say_so(compression: Compression) -> None:
    batch = encode_batch([(NOW, None, bytes(8_000_000), ())], compression=compression)
    assert validate(batch, max_decompressed_bytes=8_000_100)
    tracemalloc.start()
    try:
        error = refusal(batch, max_decompressed_bytes=2_000_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert error.error_code is ErrorCode.MESSAGE_TOO_LARGE
    assert "would decompress to more than 2000000 bytes" in error.message
    assert peak < 3_500_000


@pytest.mark.parametrize("compression", CODECS, ids=str)
def test_undecodable_payloads_are_corrupt(compression: Compression) -> None:
    batch = forged(attributes=compression)
    assert refusal(batch).error_code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("compression", CODECS, ids=str)
def test_too_many_records_for_the_decompressed_bytes(compression: Compression) -> None:
    payload = compress(compression, bytes(69))
    batch = encode_batch(ROWS)[:HEADER_SIZE] + payload
    shared = {"attributes": int(compression), "batch_length": len(batch) - 12}
    assert validate(forged(batch, record_count=9, last_offset_delta=8, **shared))
    error = refusal(forged(batch, record_count=10, last_offset_delta=9, **shared))
    assert error.error_code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("compression", list(Compression), ids=str)
def test_every_changed_byte_is_refused_but_for_the_leader_epoch(compression: Compression) -> None:
    batch = encode_batch(ROWS, compression=compression)
    for at in range(len(batch)):
        for flip in (0x01, 0x80, 0xFF):
            changed = bytearray(batch)
            changed[at] ^= flip
            if 12 <= at < 16:
                assert validate(changed)
            else:
                refusal(changed)


def test_what_the_broker_patches_is_outside_the_crc() -> None:
    batch = encode_batch(ROWS)
    before = parse_header(batch)
    patch_assigned(batch, 0, parse_header(batch), 2**40, 12)
    changed = before._replace(base_offset=2**40, partition_leader_epoch=12)
    assert parse_header(batch) == changed
    patch_crc(batch)
    assert parse_header(batch).crc == before.crc


@given(
    data=st.binary(max_size=150),
    batch_length=INT32 | st.none(),
    magic=st.sampled_from([2, 2, 2, 0, 1, 3, 255]),
)
def test_random_bytes_are_refused(data: bytes, batch_length: int | None, magic: int) -> None:
    records = bytearray(data)
    if len(records) > 16:
        length = len(records) - 12 if batch_length is None else batch_length
        records[8:12] = length.to_bytes(4, "big", signed=True)
        records[16] = magic
    refusal(records)


@given(data=st.data(), compression=st.sampled_from(Compression))
def test_forged_headers_are_judged_without_failing(
    data: st.DataObject, compression: Compression
) -> None:
    batch = encode_batch(ROWS, compression=compression)
    for _ in range(data.draw(st.integers(1, 5))):
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))
    patch_crc(batch)
    try:
        [(position, header)] = validate(batch)
    except InvalidBatch:
        return
    assert position == 0
    assert header.size == len(batch)
    assert header.record_count >= 1
