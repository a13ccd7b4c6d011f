"""What it costs a broker to look at every record before it stores a batch, in one process.

The pass over the records by itself: nanoseconds for each record, and CPU seconds for each GB of
values; "batch of one" is the price of a request with a single record. Compared with what a batch
costs as a whole before it is stored (header, CRC and records). Each with the compiled kernel and
without.
"""

import time
from collections.abc import Callable
from unittest.mock import patch

from barnabas.records import check, validate
from barnabas.records.batch import HEADER_SIZE
from barnabas.records.check import check_records
from barnabas.records.compression import Compression
from barnabas.records.encode import encode_batch
from barnabas.records.kernel import kernel
from barnabas.records.validate import validate_batch
from benchmarks.bench import KERNEL, WITHOUT, Bench, Row

_NOW = 1_700_000_000_000
_MAX_BYTES = 10**8


def measure(bench: Bench) -> list[Row]:
    rounds = 5 if bench.quick else 20
    rows: list[Row] = []
    for size, count in ((100, 1), (100, 1_000), (1_000, 1_000)):
        name = f"{size} B, batch of {'one' if count == 1 else count}"
        batch = memoryview(_batch(size, count, Compression.NONE))
        compressed = memoryview(_batch(size, count, Compression.LZ4))
        per_batch = _both(lambda batch=batch, count=count: _check(batch, count), rounds)
        whole = _both(lambda batch=batch: _validate(batch), rounds)
        unpacked = _both(lambda batch=compressed: _validate(batch), rounds)
        rows += [
            Row(f"check of records, {name}", "ns", _scaled(per_batch, 1e9 / count)),
            Row(f"check of records, {name}, per GB", "s", _scaled(per_batch, 1e9 / size / count)),
            Row(f"all before storing, {name}, per GB", "s", _scaled(whole, 1e9 / size / count)),
            Row(f"the same, lz4, {name}, per GB", "s", _scaled(unpacked, 1e9 / size / count)),
        ]
    return rows


def _batch(size: int, count: int, compression: Compression) -> bytearray:
    return encode_batch(
        [(_NOW + number // 10, b"key-%08d" % number, bytes(size), ()) for number in range(count)],
        compression=compression,
    )


def _check(batch: memoryview, count: int) -> None:
    check_records(batch, HEADER_SIZE, count, count - 1, _NOW)


def _validate(batch: memoryview) -> None:
    validate_batch(batch, max_batch_bytes=_MAX_BYTES, max_decompressed_bytes=_MAX_BYTES)


def _both(work: Callable[[], None], rounds: int) -> dict[str, float]:
    values = {}
    if kernel is not None:
        values[KERNEL] = _seconds(work, rounds)
    with patch.object(check, "kernel", None), patch.object(validate, "kernel", None):
        values[WITHOUT] = _seconds(work, rounds)
    return values


def _seconds(work: Callable[[], None], rounds: int) -> float:
    """CPU of one call, in the best round: others disturb the rest."""
    calls, used = 1, 0.0
    while used < 0.01:
        calls *= 4
        used = _used(work, calls)
    return min(_used(work, calls) for _ in range(rounds)) / calls


def _used(work: Callable[[], None], calls: int) -> float:
    began = time.process_time()
    for _ in range(calls):
        work()
    return time.process_time() - began


def _scaled(values: dict[str, float], factor: float) -> dict[str, float]:
    return {name: value * factor for name, value in values.items()}
