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
from barnabas.records.check import RecordSummary
from barnabas.records.compression import Compression, compress
from barnabas.records.decode import decode_batch
from barnabas.records.encode import encode_batch
from barnabas.records.errors import InvalidBatch
from barnabas.records.record import Row
from barnabas.records.validate import validate_batch
from barnabas.wire.errors import ErrorCode
from tests.records.forged import MALFORMED, with_payload

NOW = 1_700_000_000_000
ROWS: list[Row] = [(NOW + i, b"key", b"value" * 9, ()) for i in range(5)]
INT32 = st.integers(-(2**31), 2**31 - 1)


def validate(
    records: bytes | bytearray, max_batch_bytes: int = 10**6, max_decompressed_bytes: int = 10**7
) -> tuple[BatchHeader, RecordSummary]:
    return validate_batch(
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
        assert validate(batch) == (parse_header(batch), (NOW, NOW + 4, 0))


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


@pytest.mark.parametrize("fields", [{"attributes": LOG_APPEND_TIME}, {"base_timestamp": 2**63 - 1}])
def test_bad_timestamps(fields: dict[str, int]) -> None:
    assert refusal(forged(**fields)).error_code is ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("max_timestamp", [-(2**63), -2, -1, 0, NOW, NOW + 5, 2**63 - 1])
def test_the_largest_timestamp_is_what_the_records_say(max_timestamp: int) -> None:
    for compression in (Compression.NONE, Compression.LZ4):
        batch = forged(encode_batch(ROWS, compression=compression), max_timestamp=max_timestamp)
        header, (earliest, latest, _) = validate(batch)
        assert (earliest, latest) == (NOW, NOW + 4)
        assert header.max_timestamp == max_timestamp


@pytest.mark.parametrize("max_timestamp", [-1, 0])
def test_no_timestamp_is_none(max_timestamp: int) -> None:
    """librdkafka sends 0 as the largest one if it is told to send none."""
    batch = forged(encode_batch([(-1, b"k", b"v", ())] * 3), max_timestamp=max_timestamp)
    assert validate(batch)[1] == (-1, -1, 0)


def test_records_without_a_timestamp_do_not_count_among_others() -> None:
    rows: list[Row] = [(NOW, None, b"v", ()), (-1, b"k", b"v", ()), (NOW - 9, None, b"v", ())]
    assert validate(encode_batch(rows))[1] == (NOW - 9, NOW, 2)


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
    error = refusal(forged(batch, record_count=10, last_offset_delta=9, **shared))
    assert error.error_code is ErrorCode.INVALID_RECORD
    assert error.message == "10 records cannot fit in 69 bytes"


@pytest.mark.parametrize("payload", MALFORMED)
def test_malformed_records_are_invalid(payload: bytes) -> None:
    for compression in (Compression.NONE, Compression.LZ4):
        error = refusal(with_payload(payload, compression=compression))
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
        header, (_, latest, _) = validate(batch)
    except InvalidBatch:
        return
    records = decode_batch(batch)
    assert header.size == len(batch)
    assert len(records) == header.record_count >= 1
    assert [record.offset for record in records] == list(range(len(records)))
    assert max(-1, *(record.timestamp for record in records)) == latest
