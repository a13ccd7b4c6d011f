"""Whatever way columns are measured, they are the same ones."""

import pyarrow as pa

from barnabas.records import decode
from barnabas.records.compression import Compression
from barnabas.records.encode import encode_batch
from barnabas.records.kernel import kernel
from benchmarks.columns import (
    decode_columns,
    decode_objects,
    encode_columns,
    encode_objects,
    without_kernel,
)

ROWS = [(1_700_000_000_000 + i, b"key", b"v" * i, ()) for i in range(1000)]
BATCHES = [encode_batch(ROWS, base_offset=1000 * i) for i in range(3)]


def test_every_way_of_measuring_gives_the_same() -> None:
    table = decode_columns(BATCHES)
    objects = decode_objects(BATCHES)
    assert objects.num_rows == 3000
    assert table.set_column(3, "timestamp", table["timestamp"].cast(pa.int64())) == objects
    [records] = table.combine_chunks().to_batches()
    max_bytes = len(BATCHES[0]) + 1000 * 36
    batches = encode_columns(records, max_bytes, Compression.LZ4)
    with without_kernel():
        assert decode.kernel is None
        assert decode_columns(BATCHES) == table
        assert encode_columns(records, max_bytes, Compression.LZ4) == batches
    assert decode.kernel is kernel
    assert encode_objects(records, Compression.NONE) == [encode_batch(ROWS)] * 3
