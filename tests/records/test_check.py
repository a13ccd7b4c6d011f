"""What a broker finds out about records before it stores them, and that Python and C agree."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiokafka.record import default_records as aiokafka_records
from hypothesis import given
from hypothesis import strategies as st
from kafka import errors as kafka_python_errors
from kafka.record import default_records as kafka_python_records

from barnabas.records import check
from barnabas.records.batch import HEADER_SIZE, parse_header, patch_crc
from barnabas.records.check import check_records, find_records
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_batch
from barnabas.records.encode import encode_batch
from barnabas.records.errors import CorruptBatch, InvalidBatch, TimestampOverflow
from barnabas.records.kernel import kernel
from barnabas.records.record import Row
from barnabas.records.validate import validate_batch
from tests.records.forged import INT32_MAX, MALFORMED, record, with_payload

NOW = 1_700_000_000_000
PLAIN = record(0, 0, -1, -1, 0)

BLOB = st.none() | st.binary(max_size=3)
ROW = st.tuples(
    st.sampled_from([-1, 0, 5, NOW, NOW + 70, NOW - 5000, 2**62]),
    st.none() | st.binary(max_size=3) | st.just(bytes(200)),
    st.none() | st.binary(max_size=80),
    st.lists(
        st.tuples(st.sampled_from(["", "h", "ü"]), st.none() | st.binary(max_size=3)), max_size=3
    ),
)


def checked(payload: bytes, count: int = 1, last: int | None = None, base: int = 0) -> Any:
    return check_records(payload, 0, count, count - 1 if last is None else last, base)


@contextmanager
def python() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "kernel", None)
        yield


def outcome(*arguments: Any, **options: Any) -> Any:
    try:
        return checked(*arguments, **options)
    except CorruptBatch as error:
        return type(error), str(error)


@given(st.lists(ROW, min_size=1, max_size=8))
def test_it_finds_what_the_rows_say(rows: list[Row]) -> None:
    batch = encode_batch(rows)
    summary = check_records(batch, HEADER_SIZE, len(rows), len(rows) - 1, rows[0][0])
    times = [row[0] for row in rows if row[0] != -1]
    keyless = sum(row[1] is None for row in rows)
    assert summary == (min(times, default=-1), max(times, default=-1), keyless)


@given(st.lists(ROW, min_size=1, max_size=8), st.booleans(), st.integers(0, 9))
def test_it_names_what_is_out_of_range_or_has_no_key(
    rows: list[Row], needs_key: bool, limit: int
) -> None:
    found = find_records(
        memoryview(encode_batch(rows)),
        HEADER_SIZE,
        len(rows),
        rows[0][0],
        from_timestamp=0,
        upto_timestamp=NOW,
        needs_key=needs_key,
        limit=limit,
    )
    expected = [
        (index, timestamp, int(key is not None))
        for index, (timestamp, key, _, _) in enumerate(rows)
        if (needs_key and key is None) or not -1 <= timestamp <= NOW
    ]
    assert found == expected[:limit]


@pytest.mark.parametrize("payload", MALFORMED)
def test_malformed_records(payload: bytes) -> None:
    with pytest.raises(CorruptBatch):
        checked(payload)


@pytest.mark.parametrize(
    ("payload", "count", "why"),
    [
        (PLAIN, 2, "record 1 of 2: it is cut off"),
        (PLAIN + PLAIN, 1, "7 bytes behind the last of 1 records"),
        (PLAIN + PLAIN, 2, "record 1 of 2: offset delta 0 follows 0"),
        (record(0, 1, -1, -1, 0), 1, "offset delta 1, the batch ends at 0"),
        (record(0, -1, -1, -1, 0), 1, "offset delta -1 follows -1"),
        (record(0, 0, -2, -1, 0), 1, "a key of -2 bytes"),
        (record(0, 0, -1, -2, 0), 1, "a value of -2 bytes"),
        (record(0, 0, -1, -1, 1, 0, -2), 1, "a header value of -2 bytes"),
        (record(0, 2**31, -1, -1, 0), 1, "a varint has more than 32 bits"),
        (record(0, b"\x80\x80\x80\x80\x80\x00", -1, -1, 0), 1, "a varint has more than 32 bits"),
        (record(0, b"\x80\x80\x80\x80\x10", -1, -1, 0), 1, "a varint has more than 32 bits"),
        (record(0, 0, 1, b"k", 4, b"va", 0), 1, "a value of 4 bytes, 3 are left"),
        (b"\x00" + PLAIN, 2, "its length is 0 bytes"),
    ],
)
def test_it_says_what_is_wrong_with_which_record(payload: bytes, count: int, why: str) -> None:
    with pytest.raises(CorruptBatch) as raised:
        checked(payload, count)
    assert why in str(raised.value)


def test_five_bytes_hold_every_int32() -> None:
    assert checked(record(0, b"\x80\x80\x80\x80\x00", -1, -1, 0)) == (0, 0, 1)
    assert checked(record(0, INT32_MAX, -1, -1, 0), last=INT32_MAX) == (0, 0, 1)


def test_compaction_leaves_holes_between_offsets() -> None:
    holes = record(0, 3, -1, -1, 0) + record(0, 9, -1, -1, 0)
    assert checked(holes, 2, 12) == (0, 0, 2)
    assert checked(b"", 0, 12) == (-1, -1, 0)


@pytest.mark.parametrize(("base", "delta"), [(2**63 - 1, 1), (-(2**63), -1), (2**62, 2**62)])
def test_a_timestamp_has_64_bits(base: int, delta: int) -> None:
    with pytest.raises(TimestampOverflow):
        checked(record(delta, 0, -1, -1, 0), base=base)


def test_the_smallest_and_the_greatest_timestamp() -> None:
    payload = record(-1, 0, -1, -1, 0) + record(2**63 - 1, 1, -1, -1, 0)
    assert checked(payload, 2) == (2**63 - 1, 2**63 - 1, 2)
    assert checked(record(-(2**63), 0, -1, -1, 0)) == (-(2**63), -1, 1)


def mutated(data: st.DataObject, payload: bytes) -> bytes:
    changed = bytearray(payload)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        match data.draw(st.sampled_from(["set", "cut", "insert"])):
            case "set":
                changed[at] = data.draw(st.integers(0, 255))
            case "cut":
                del changed[at : at + data.draw(st.integers(1, 3))]
            case _:
                changed[at:at] = data.draw(st.binary(min_size=1, max_size=12))
        if not changed:
            break
    return bytes(changed)


@given(data=st.data(), rows=st.lists(ROW, min_size=1, max_size=5))
def test_python_and_c_agree_about_changed_bytes(data: st.DataObject, rows: list[Row]) -> None:
    payload = mutated(data, bytes(encode_batch(rows)[HEADER_SIZE:]))
    count = max(0, len(rows) + data.draw(st.integers(-1, 1)))
    last = count - 1 + data.draw(st.integers(0, 2))
    seen = outcome(payload, count, last, NOW)
    with python():
        assert outcome(payload, count, last, NOW) == seen
    if kernel is not None:
        compiled = kernel.check_records(payload, 0, count, last, NOW)
        assert compiled == (None if isinstance(seen[0], type) else seen)


@given(
    data=st.data(), rows=st.lists(ROW, min_size=1, max_size=5), codec=st.sampled_from(Compression)
)
def test_what_passes_can_be_read(data: st.DataObject, rows: list[Row], codec: Compression) -> None:
    """By our decoder, and by those of other clients."""
    batch = with_payload(
        mutated(data, bytes(encode_batch(rows)[HEADER_SIZE:])),
        record_count=len(rows),
        compression=codec,
    )
    batch[23:27] = struct.pack(">i", len(rows) - 1)
    patch_crc(batch)
    try:
        header, (_, latest, keyless) = validate_batch(
            memoryview(batch), max_batch_bytes=10**6, max_decompressed_bytes=10**6
        )
    except InvalidBatch:
        return
    records = decode_batch(batch)
    assert header == parse_header(batch)
    assert [each.offset for each in records] == list(range(len(rows)))
    assert max(-1, *(each.timestamp for each in records)) == latest
    assert sum(each.key is None for each in records) == keyless
    # The rows have no such character: a header key that is no text is for those who read it.
    is_text = all("\ufffd" not in key for each in records for key, _ in each.headers)
    for module in (kafka_python_records, aiokafka_records):
        if module is kafka_python_records and codec not in (Compression.NONE, Compression.GZIP):
            continue  # it needs further packages for those
        try:
            read = list(module.DefaultRecordBatch(bytes(batch)))
        except (UnicodeDecodeError, kafka_python_errors.CorruptRecordError) as error:
            cause = error if isinstance(error, UnicodeDecodeError) else error.__context__
            if is_text or not isinstance(cause, UnicodeDecodeError):
                raise
            continue
        assert [(r.offset, r.timestamp, r.key, r.value) for r in read] == [
            (r.offset, r.timestamp, r.key, r.value) for r in records
        ]


@pytest.mark.skipif(kernel is None, reason="about the kernel")
@pytest.mark.parametrize(
    "arguments",
    [(), (b"",), (b"", 0, 0, 0), (b"", 0, 0, 0, 0, 0), (None, 0, 0, 0, 0), (b"", None, 0, 0, 0)],
)
def test_the_kernel_refuses_nonsense(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        kernel.check_records(*arguments)  # type: ignore[union-attr]


@pytest.mark.skipif(kernel is None, reason="about the kernel")
@pytest.mark.parametrize("at", [-1, 8, 2**62])
def test_the_kernel_reads_nothing_outside(at: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        kernel.check_records(PLAIN, at, 1, 0, 0)  # type: ignore[union-attr]
    assert checked(PLAIN) == (0, 0, 1)
