"""The open batch of the compiled kernel, the one in Python, and that they are the same."""

import gc
import sys
import threading
import time
import tracemalloc
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.client.producer import row_packer
from barnabas.client.producer.plain_row_packer import MAX_BATCH_BYTES, PlainReceipt, PlainRowPacker
from barnabas.records.batch import HEADER_SIZE
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_batch
from barnabas.records.encode import BatchBuilder
from barnabas.records.kernel import kernel
from barnabas.records.record import Row
from tests.support.tier import examples


class Classes(NamedTuple):
    receipt: Any
    batch: Any


def classes(receipt_base: Any, packer_base: Any) -> Classes:
    """What a producer makes of the two."""

    class Sent(receipt_base):  # type: ignore[misc]
        __slots__ = ()

    class Batch(packer_base[Sent]):  # type: ignore[misc]
        __slots__ = ("__weakref__", "note")

        def __init__(self, *limits: int, **named: int) -> None:
            super().__init__(Sent, *limits, **named)

    return Classes(Sent, Batch)


PLAIN = classes(PlainReceipt, PlainRowPacker)
COMPILED = None if kernel is None else classes(kernel.Receipt, kernel.RowPacker)


@pytest.fixture(params=["kernel", "python"])
def made(request: pytest.FixtureRequest) -> Classes:
    if request.param == "python":
        return PLAIN
    if COMPILED is None:
        pytest.skip("the kernel is not compiled")
    return COMPILED


def test_the_kernel_s_are_used_if_there_is_one() -> None:
    assert row_packer.RowPacker is (PlainRowPacker if kernel is None else kernel.RowPacker)
    assert row_packer.Receipt is (PlainReceipt if kernel is None else kernel.Receipt)


BLOB = st.none() | st.binary(max_size=200)
ORDINARY = st.tuples(
    st.integers(0, 2**63 - 1),
    BLOB,
    BLOB,
    st.lists(st.tuples(st.text(max_size=8), BLOB), max_size=3)
    | st.lists(st.tuples(st.text(max_size=8), BLOB), max_size=3).map(tuple),
)
ODD = st.sampled_from(
    [
        *(None, b"", b"bytes", bytearray(b"bytearray"), memoryview(b"view"), "text", "\ud800"),
        *(0, -1, True, 2**63 - 1, 2**63, -(2**63), 2**70, 1.5),
        *((), [], (b"pair", b"of bytes"), (("key", b"value"),), [("key", None)]),
        *([["key", b"value"]], (("key", b"value", b"more"),), (("key", "value"),)),
        *((("\ud800", b"value"),), {"key": b"value"}, {}, iter(())),
    ]
)


def fill(batch: Any, rows: list[Any]) -> list[Any]:
    """What came of adding these rows, and of the batch between them."""
    seen = []
    for row in rows:
        receipt = batch.add(*row)
        seen.append(
            None
            if receipt is None
            else (receipt.batch is batch, receipt.index, receipt.timestamp_ms)
        )
        seen.append((batch.size, batch.record_count, batch.closed))
    return seen


@given(st.lists(ORDINARY, min_size=1, max_size=12), st.sampled_from(Compression))
def test_records_are_packed_as_a_builder_builds_them(
    rows: list[Row], compression: Compression
) -> None:
    expected = BatchBuilder(compression=compression)
    expected.extend(rows)
    for each in filter(None, (PLAIN, COMPILED)):
        batch = each.batch()
        fill(batch, rows)
        assert batch.size == expected.size
        assert row_packer.pack_rows(batch, compression).seal() == expected.build()


@given(
    st.lists(ORDINARY | st.tuples(ODD, ODD, ODD, ODD), max_size=8),
    st.integers(-(2**63), 2**63 - 1) | st.integers(0, 600),
    st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5),
)
def test_both_take_and_decline_the_same(rows: list[Any], max_bytes: int, max_records: int) -> None:
    if COMPILED is None:
        pytest.skip("the kernel is not compiled")
    rows = [(0 if row[0] is None else row[0], *row[1:]) for row in rows]  # else it is the clock's
    plain, compiled = PLAIN.batch(max_bytes, max_records), COMPILED.batch(max_bytes, max_records)
    assert fill(plain, rows) == fill(compiled, rows)
    if plain.record_count:
        assert tuple(plain.take()) == compiled.take()


def test_a_record_without_a_time_gets_the_present(made: Classes) -> None:
    batch = made.batch()
    before = time.time_ns() // 1_000_000
    receipt = batch.add(None, None, b"v", ())
    after = time.time_ns() // 1_000_000
    assert before <= receipt.timestamp_ms <= after
    [record] = decode_batch(row_packer.pack_rows(batch).seal())
    assert record.timestamp == receipt.timestamp_ms


def test_a_full_batch_declines_and_takes_more_when_it_may_grow(made: Classes) -> None:
    batch = made.batch(HEADER_SIZE + 120)
    assert batch.add(0, None, bytes(100), ()) is not None
    assert batch.add(0, None, bytes(100), ()) is None
    assert batch.add(0, None, b"", ()) is not None, "a smaller one fits"
    batch.max_bytes = HEADER_SIZE + 300
    assert batch.add(0, None, bytes(100), ()).index == 2
    batch.max_records = 3
    assert batch.add(0, None, b"", ()) is None
    assert (batch.max_bytes, batch.max_records) == (HEADER_SIZE + 300, 3)


def test_the_limit_is_exact(made: Classes) -> None:
    first = made.batch()
    first.add(0, b"key", b"value", ())
    for room, fits in ((first.size, True), (first.size - 1, False)):
        assert (made.batch(room).add(0, b"key", b"value", ()) is not None) is fits


def test_nothing_comes_into_a_closed_batch(made: Classes) -> None:
    batch = made.batch()
    batch.add(0, None, b"v", ())
    batch.close()
    batch.close()
    assert batch.closed
    assert batch.add(0, None, b"v", ()) is None
    assert batch.take()[1] == 1


def test_records_are_taken_once(made: Classes) -> None:
    batch = made.batch()
    with pytest.raises(ValueError, match="at least one record"):
        batch.take()
    batch = made.batch()
    batch.add(5, None, b"v", ())
    buffer, count, base, latest = batch.take()
    assert (count, base, latest) == (1, 5, 5)
    assert len(buffer) == batch.size
    assert batch.record_count == 0
    assert batch.closed
    with pytest.raises(ValueError, match="at least one record"):
        batch.take()
    assert batch.add(5, None, b"v", ()) is None
    buffer.append(0)  # it is the taker's own


def test_a_large_batch_grows(made: Classes) -> None:
    batch = made.batch()
    values = [bytes([i % 251]) * (i * 37 % 5_000) for i in range(600)]
    for value in values:
        batch.add(0, None, value, ())
    assert [each.value for each in decode_batch(row_packer.pack_rows(batch).seal())] == values


def test_wrong_calls_are_errors(made: Classes) -> None:
    batch = made.batch()
    with pytest.raises(TypeError):
        batch.add(0, None, b"v")
    with pytest.raises(TypeError):
        made.batch.__mro__[1](int)
    with pytest.raises(AttributeError):
        batch.size = 3
    with pytest.raises(AttributeError):
        _ = made.receipt().batch


def test_only_subclasses_of_receipt_are_receipts(made: Classes) -> None:
    class Unrelated:
        __slots__ = ("batch", "index", "timestamp_ms")

    class WithDict(made.receipt):  # type: ignore[misc,name-defined]
        pass

    class WithMore(made.receipt):  # type: ignore[misc,name-defined]
        __slots__ = ("more",)

    base = made.batch.__mro__[1]
    for wrong in (Unrelated, tuple, object, WithDict, WithMore):
        with pytest.raises(TypeError, match="Receipt"):
            base(wrong)
    receipt = base(made.receipt.__mro__[1]).add(0, None, None, ())
    assert receipt.index == 0


def test_a_batch_that_was_never_begun_is_closed() -> None:
    if COMPILED is None:
        pytest.skip("the kernel is not compiled")
    batch = COMPILED.batch.__new__(COMPILED.batch)
    assert batch.closed
    assert batch.add(0, None, None, ()) is None
    with pytest.raises(ValueError, match="at least one record"):
        batch.take()
    batch = COMPILED.batch()
    with pytest.raises(TypeError, match="once"):
        batch.__init__()


@pytest.fixture
def busy_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("busy_switches")
def test_threads_share_a_batch(made: Classes) -> None:
    batch = made.batch(max_records=3_000)
    kept: list[list[Any]] = [[] for _ in range(4)]

    def add(mine: list[Any], name: bytes) -> None:
        while (receipt := batch.add(None, name, b"%d" % len(mine), ())) is not None:
            mine.append(receipt)

    threads = [threading.Thread(target=add, args=(mine, b"%d" % i)) for i, mine in enumerate(kept)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = decode_batch(row_packer.pack_rows(batch).seal())
    assert len(records) == 3_000
    for i, mine in enumerate(kept):
        for number, receipt in enumerate(mine):
            record = records[receipt.index]
            assert (record.key, record.value) == (b"%d" % i, b"%d" % number)
            assert record.timestamp == receipt.timestamp_ms


def test_receipts_keep_their_batch_and_no_more(made: Classes) -> None:
    batch = made.batch()
    gone = weakref.ref(batch)
    receipt = batch.add(0, None, b"v", ())
    del batch
    assert gone() is receipt.batch
    del receipt
    gc.collect()
    assert gone() is None


def test_a_cycle_through_a_receipt_is_collected(made: Classes) -> None:
    batch = made.batch()
    receipt = batch.add(0, None, b"v", ())
    receipt.batch.note = [receipt]
    gone = weakref.ref(batch)
    del batch, receipt
    gc.collect()
    assert gone() is None


def test_the_collector_hears_of_a_receipt_when_its_batch_is_asked_for() -> None:
    if COMPILED is None:
        pytest.skip("the kernel is not compiled")
    batch = COMPILED.batch()
    receipt = batch.add(0, None, b"v", ())
    assert not gc.is_tracked(receipt)
    assert receipt.index == receipt.timestamp_ms == 0
    assert not gc.is_tracked(receipt)
    assert receipt.batch is receipt.batch is batch
    assert gc.is_tracked(receipt)


@settings(max_examples=examples(5))
@given(st.integers(0, 3))
def test_a_collection_in_the_middle_of_an_add_may_add_too(threshold: int) -> None:
    """Making a receipt may run a finalizer, and that anything."""
    for each in filter(None, (PLAIN, COMPILED)):
        batch = each.batch(max_records=60)

        class AddsWhenItGoes:
            def __init__(self) -> None:
                self.me = self

            def __del__(self, batch: Any = batch) -> None:
                batch.add(1, None, b"of a finalizer", ())

        before = gc.get_threshold()
        gc.set_threshold(1 + threshold)
        try:
            given = [AddsWhenItGoes() and batch.add(0, None, b"v", ()) for _ in range(40)]
        finally:
            gc.set_threshold(*before)
        records = decode_batch(row_packer.pack_rows(batch).seal())
        for receipt in given:
            if receipt is not None:
                assert records[receipt.index].value == b"v"
        assert len(records) <= 60


def test_nothing_leaks(made: Classes) -> None:
    odd = (0, "text", None, ())

    def use() -> None:
        for _ in range(50):
            batch = made.batch(1_000)
            kept = [batch.add(i, b"k", b"v" * i, [("h", b"x")]) for i in range(40)]
            assert kept[-1] is None
            assert batch.add(*odd) is None
            assert kept[0].batch is batch
            batch.take()
            made.batch().add(None, None, None, ())

    use()
    gc.collect()
    tracemalloc.start()
    try:
        use()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(5):
            use()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 250 * 16


def test_the_largest_limit_is_a_batch_s() -> None:
    assert MAX_BATCH_BYTES == 2**31 - 1
    for each in filter(None, (PLAIN, COMPILED)):
        batch = each.batch()
        assert (batch.max_bytes, batch.max_records) == (MAX_BATCH_BYTES, MAX_BATCH_BYTES)
