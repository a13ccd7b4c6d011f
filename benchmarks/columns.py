"""What a record costs on its way between bytes and Python, in one process and on one core.

Millions of records for each second of CPU, batches of 1,000 records with a key and no headers:

decode, encode            records as Python objects, `decode_batch` and `encode_batch`
decode, encode columns    key, value, offset and timestamp as Arrow columns; no object per record

Each with the compiled kernel and without it, which is plain Python for records, and numpy for
columns. The third figure is what columns cost by way of Python's objects, without the kernel.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pyarrow as pa

from barnabas.records import decode, encode
from barnabas.records.columns import decoder, encoder
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_batch
from barnabas.records.encode import encode_batch
from barnabas.records.kernel import kernel
from barnabas.records.record import Row as RecordRow
from benchmarks.bench import KERNEL, OBJECTS, WITHOUT, Bench, Row

_USERS = (decode, encode, decoder, encoder)
_COLUMNS = ("key", "value", "offset", "timestamp")
_BATCH_RECORDS = 1_000
_NOW = 1_700_000_000_000


def measure(bench: Bench) -> list[Row]:
    rounds = 3 if bench.quick else 15
    rows: list[Row] = []
    for size in (100, 1_000):
        for compression in (Compression.NONE, Compression.LZ4):
            rows += _measure(size, compression, rounds)
    return rows


def _measure(size: int, compression: Compression, rounds: int) -> list[Row]:
    records = [_record(number, size) for number in range(_BATCH_RECORDS)]
    batches = [
        encode_batch(records, base_offset=_BATCH_RECORDS * number, compression=compression)
        for number in range(20_000 // size)
    ]
    table = decode_columns(batches).combine_chunks().to_batches()[0]
    count = _BATCH_RECORDS * len(batches)
    max_bytes = (size + 60) * _BATCH_RECORDS
    works: dict[str, Callable[[], object]] = {
        "decode": lambda: decode_rows(batches),
        "encode": lambda: [encode_batch(records, compression=compression) for _ in batches],
        "decode columns": lambda: decode_columns(batches),
        "encode columns": lambda: encode_columns(table, max_bytes, compression),
    }
    by_objects: dict[str, Callable[[], object]] = {
        "decode columns": lambda: decode_objects(batches),
        "encode columns": lambda: encode_objects(table, compression),
    }
    rows = []
    for what, work in works.items():
        values = {}
        if kernel is not None:
            values[KERNEL] = _speed(work, count, rounds)
        with without_kernel():
            values[WITHOUT] = _speed(work, count, rounds)
            if what in by_objects:
                values[OBJECTS] = _speed(by_objects[what], count, rounds)
        rows.append(Row(f"{what}, {size} B, {compression}", "M/s", values))
    return rows


def _record(number: int, size: int) -> RecordRow:
    # Neither random nor all the same: there is something to compress.
    value = (number * 0x9E3779B97F4A7C15 % 2**64).to_bytes(8, "big") * (size // 16)
    return _NOW + number // 10, b"key-%08d" % number, value.ljust(size, b"."), ()


def decode_rows(batches: list[bytearray]) -> None:
    """Decode one batch after the other, keeping none, as most consumers do."""
    for batch in batches:
        decode_batch(batch)


def decode_columns(batches: list[bytearray]) -> pa.Table:
    columns = decoder.ColumnDecoder(_COLUMNS)
    for batch in batches:
        columns.append("topic", 0, batch)
    return columns.finish()


def encode_columns(
    table: pa.RecordBatch, max_bytes: int, compression: Compression
) -> list[bytearray]:
    rows = encoder.ColumnEncoder(table, timestamp_ms=_NOW)
    return [each.seal() for each in rows.pack(max_bytes=max_bytes, compression=compression)]


def decode_objects(batches: list[bytearray]) -> pa.Table:
    """The table that most people would make, by way of records."""
    records = [record for batch in batches for record in decode_batch(batch)]
    return pa.table({name: [getattr(each, name) for each in records] for name in _COLUMNS})


def encode_objects(table: pa.RecordBatch, compression: Compression) -> list[bytearray]:
    times = table.column("timestamp").cast(pa.int64()).to_pylist()
    keys, values = (table.column(name).to_pylist() for name in ("key", "value"))
    rows = [(*row, ()) for row in zip(times, keys, values, strict=True)]
    return [
        encode_batch(rows[at : at + _BATCH_RECORDS], compression=compression)
        for at in range(0, len(rows), _BATCH_RECORDS)
    ]


@contextmanager
def without_kernel() -> Iterator[None]:
    """As if there had been no compiler."""
    patches = [patch.object(module, "kernel", None) for module in _USERS]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


def _speed(work: Callable[[], object], count: int, rounds: int) -> float:
    """Millions of records for each second of CPU, in the best round: others disturb the rest."""
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return count / best / 1e6
