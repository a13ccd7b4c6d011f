"""The kernel is what its sources say, is ignored when it is not, and does as Python does."""

import gc
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records import decode, encode, kernel
from barnabas.records.batch import HEADER_SIZE
from barnabas.records.compression import Compression
from barnabas.records.errors import RecordsError
from barnabas.records.record import Record, Row
from tests.records.forged import record, with_payload
from tests.records.rows import ROWS

SOURCES = [Path(__file__).parents[2] / "src" / each for each in ("kernel", "kernel_headers")]
PYTHON_ERRORS = (AttributeError, TypeError, ValueError, LookupError, OverflowError, struct.error)
RECORDS: list[Record] = [
    Record(i, b"k" * i, b"v", (("h", b"x"), ("null", None)), i) for i in range(20)
]


@pytest.fixture(scope="module")
def compiled(implementation: str) -> Any:
    if implementation != "kernel":
        pytest.skip("about the kernel")
    return kernel.kernel


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """What a call returns or raises, to be compared."""
    try:
        return ("returned", call())
    except (RecordsError, *PYTHON_ERRORS) as error:
        return ("raised", type(error), str(error))


def in_python(patch: pytest.MonkeyPatch, call: Callable[[], Any]) -> tuple[Any, ...]:
    with patch.context() as without:
        without.setattr(encode, "kernel", None)
        without.setattr(decode, "kernel", None)
        return outcome(call)


def test_the_build_is_of_these_sources(compiled: Any) -> None:
    built = Path(compiled.__file__).stat().st_mtime
    newest = max(source.stat().st_mtime for each in SOURCES for source in each.iterdir())
    assert built >= newest, "the kernel is older than its sources: run make setup"


def test_a_build_of_another_interface_is_ignored(
    compiled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernel._load() is compiled
    monkeypatch.setattr(kernel, "INTERFACE", kernel.INTERFACE + 1)
    assert kernel._load() is None
    monkeypatch.setitem(sys.modules, "barnabas.records._kernel", ModuleType("older than that"))
    assert kernel._load() is None


def test_a_missing_build_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "barnabas.records._kernel", None)
    assert kernel._load() is None


ODD = st.sampled_from(
    [
        None,
        b"",
        b"bytes",
        bytearray(b"bytearray"),
        memoryview(b"view"),
        "text",
        "\ud800",
        0,
        -1,
        True,
        2**63,
        -(2**63),
        2**70,
        1.5,
        (),
        [],
        (b"pair", b"of bytes"),
        (("key", b"value"),),
        [("key", None)],
        [["key", b"value"]],
        (("key", b"value", b"more"),),
        (("key", "value"),),
        (("\ud800", b"value"),),
        {"key": b"value"},
        {"ab": 1},
    ]
)


@given(st.lists(st.tuples(ODD, ODD, ODD, ODD) | st.tuples(ODD, ODD, ODD) | ODD, max_size=3))
def test_odd_records_are_encoded_or_refused_alike(rows: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:

        def call() -> bytes:
            return bytes(encode.encode_batch(rows))

        assert outcome(call) == in_python(patch, call)


@given(ROWS, st.sampled_from(Compression))
def test_records_are_encoded_alike_whatever_holds_them(
    rows: list[Row], compression: Compression
) -> None:
    expected = encode.BatchBuilder(compression=compression)
    expected.extend(rows)
    records = [Record(*row) for row in rows]
    for each in (rows, tuple(rows), records, iter(rows), [(*r[:3], list(r[3])) for r in rows]):
        assert encode.encode_batch(each, compression=compression) == expected.build()


@given(st.binary(max_size=60), st.integers(-1, 8))
def test_random_payloads_are_decoded_or_refused_alike(payload: bytes, count: int) -> None:
    batch = with_payload(payload, record_count=count)
    with pytest.MonkeyPatch.context() as patch:

        def call() -> list[Record]:
            return decode.decode_batch(batch)

        assert outcome(call) == in_python(patch, call)


FIELD = st.integers(-3, 5) | st.sampled_from([2**31 - 1, 2**62, -(2**63), 2**63 - 1])


@given(st.lists(st.lists(FIELD | st.binary(max_size=4), max_size=9), max_size=3))
def test_nearly_right_payloads_are_decoded_or_refused_alike(records: list[list[Any]]) -> None:
    payload = b"".join(record(*fields) for fields in records)
    batch = with_payload(payload, record_count=len(records))
    with pytest.MonkeyPatch.context() as patch:

        def call() -> list[Record]:
            return decode.decode_batch(batch)

        assert outcome(call) == in_python(patch, call)


def test_offsets_and_timestamps_may_leave_64_bits_alike() -> None:
    """They can't in a column, but a Python integer has no bounds."""
    batch = encode.encode_batch([(2**63 - 1, None, None, ()), (0, None, None, ())])
    batch[0:8] = (2**63 - 1).to_bytes(8, "big")
    offsets = [each.offset for each in decode.decode_batch(batch)]
    assert offsets == [2**63 - 1, 2**63]


def test_records_are_records() -> None:
    [decoded] = decode.decode_batch(encode.encode_batch([(5, b"k", None, ())]))
    assert type(decoded) is Record
    assert decoded._asdict() == {
        "timestamp": 5,
        "key": b"k",
        "value": None,
        "headers": (),
        "offset": 0,
    }


def test_nothing_leaks() -> None:
    good = encode.encode_batch(RECORDS)
    bad = with_payload(bytes(good[HEADER_SIZE:-1]) + b"\xff", record_count=len(RECORDS))
    odd = [*RECORDS, (0, "text", None, ())]

    def use() -> None:
        encode.encode_batch(RECORDS)
        decode.decode_batch(good)
        assert len(decode.decode_messages(good, "topic", 0, 5)) == len(RECORDS) - 5
        with pytest.raises(RecordsError):
            decode.decode_batch(bad)
        with pytest.raises(RecordsError):
            decode.decode_messages(bad, "topic", 0)
        with pytest.raises(TypeError):
            encode.encode_batch(odd)

    def use_often() -> int:
        for _ in range(50):
            use()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = use_often()  # which fills what Python keeps for later
        grown = use_often() - before
    finally:
        tracemalloc.stop()
    assert grown < 50 * 100


def test_the_kernel_refuses_what_would_make_it_write_elsewhere(compiled: Any) -> None:
    payload = bytes(encode.encode_batch(RECORDS)[HEADER_SIZE:])
    arguments = (payload, len(RECORDS), 0, 0, None, 0)
    none: tuple[None, ...] = (None,) * 14
    sizes = bytearray(8 * 14)
    assert compiled.decode_columns(*arguments, 0, none, sizes) == len(RECORDS)
    with pytest.raises(TypeError, match="14 sinks"):
        compiled.decode_columns(*arguments, 0, none[1:], sizes)
    with pytest.raises(TypeError, match="14 sinks"):
        compiled.decode_columns(*arguments, 0, none, sizes[1:])
    with pytest.raises(TypeError, match="bytearray"):
        compiled.decode_columns(*arguments, 0, (bytes(8), *none[1:]), sizes)
    for sinks in ((bytearray(), *none[1:]), (*none[:2], bytearray(4), *none[3:])):
        with pytest.raises(ValueError, match="fit together"):
            compiled.decode_columns(*arguments, 3, sinks, sizes)
    sizes[:8] = (2**40).to_bytes(8, sys.byteorder)
    with pytest.raises(ValueError, match="smaller than its size"):
        compiled.decode_columns(*arguments, 3, (bytearray(), *none[1:]), sizes)
    with pytest.raises(TypeError, match="tuples"):
        compiled.decode_rows(list, payload, 1, 0, 0, None)


ENDS = st.lists(
    st.integers(-1, 12) | st.sampled_from([2**31, 2**62, -(2**63), 2**63 - 1]), max_size=6
)
BUFFER = st.none() | st.binary(max_size=12)


@st.composite
def binary_columns(draw: st.DrawFn) -> tuple[Any, ...]:
    """The buffers of a column, which seldom fit together."""
    ends = draw(ENDS | ENDS.map(sorted))
    packed = struct.pack(f"={len(ends)}q", *ends)
    return draw(BUFFER), packed, draw(BUFFER), draw(st.integers(-1, 3))


@given(
    rows=st.none() | ENDS,
    at=st.integers(-1, 3),
    stop=st.integers(-1, 6),
    max_bytes=st.integers(-100, 200) | st.sampled_from([2**63 - 1, -(2**63)]),
    timestamps=ENDS,
    first=st.integers(-1, 2),
    columns=st.tuples(*[binary_columns()] * 4),
    headers=st.tuples(BUFFER, ENDS, st.integers(-1, 2)),
    absent=st.integers(0, 7),
)
def test_arrays_that_do_not_fit_together_are_refused(
    compiled: Any,
    rows: list[int] | None,
    at: int,
    stop: int,
    max_bytes: int,
    timestamps: list[int],
    first: int,
    columns: tuple[Any, ...],
    headers: tuple[Any, ...],
    absent: int,
) -> None:
    """What comes of it is a ValueError or a batch: whether it stays inside is for a sanitizer."""
    key, value, header_key, header_value = columns
    valid, ends, first_header = headers
    arguments = (
        rows if rows is None else struct.pack(f"={len(rows)}q", *rows),
        at,
        stop,
        max_bytes,
        HEADER_SIZE,
        (struct.pack(f"={len(timestamps)}q", *timestamps), first),
        None if absent & 1 else key,
        None if absent & 2 else value,
        None
        if absent & 4
        else (valid, struct.pack(f"={len(ends)}q", *ends), first_header, header_key, header_value),
    )
    try:
        payload, following, _, _ = compiled.encode_columns(*arguments)
    except ValueError:
        pass
    else:
        assert at < following <= stop
        assert len(payload) > HEADER_SIZE
    _, ends, data, begin = key
    try:
        partitions = compiled.partition_column(ends, data, begin, at + 1, 3)
    except ValueError:
        return
    assert len(partitions) == 4 * (at + 1)


def test_ends_that_go_back_or_too_far_are_malformed(compiled: Any) -> None:
    timestamp = (bytes(16), 0)
    for ends in ((0, 4, 4), (2, 1, 1), (-1, 1, 1)):
        column = (None, struct.pack("=3q", *ends), b"abc", 0)
        with pytest.raises(ValueError, match="malformed"):
            compiled.encode_columns(None, 0, 2, 1000, 0, timestamp, None, column, None)
    column = (None, struct.pack("=3q", 0, 1, 3), b"abc", 0)
    batch, *rest = compiled.encode_columns(None, 0, 2, 1000, 0, timestamp, None, column, None)
    assert rest == [2, 0, 0]
    assert batch == record(0, 0, -1, 1, b"a", 0) + record(0, 1, -1, 2, b"bc", 0)


def test_who_moves_no_columns_loads_no_arrow() -> None:
    program = (
        "import sys, barnabas.client.producer.record_producer; "
        "import barnabas.client.consumer.consumer_core; "
        "print({'pyarrow', 'numpy'} & set(sys.modules))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert printed.stdout.strip() == "set()"
