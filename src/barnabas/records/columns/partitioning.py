"""Which rows of a table go to which partition."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from barnabas.records.columns.encoder import binary_column
from barnabas.records.columns.row_columns import BYTES
from barnabas.records.kernel import kernel
from barnabas.records.murmur2 import SEED, M, plain_murmur2

# Keys up to here are hashed together, word by word; for the few longer ones that would not pay.
_SHORT_KEY_BYTES = 64


def partitions_for_keys(keys: pa.Array, partition_count: int) -> pa.Int32Array:
    """The partition of each key, the same as `partition_for_key` gives; null for a null key."""
    if partition_count < 1:
        raise ValueError(f"{partition_count} partitions")
    keys = keys.cast(BYTES)
    rows = len(keys)
    if rows == 0:
        return pa.array([], pa.int32())
    _, ends, data, first = binary_column(keys)
    if kernel is None:
        partitions = _partitions(keys, partition_count)
    else:
        found = kernel.partition_column(ends, data, first, rows, partition_count)
        partitions = pa.Array.from_buffers(pa.int32(), rows, [None, pa.py_buffer(found)])
    if keys.null_count:
        return pc.if_else(keys.is_valid(), partitions, pa.scalar(None, pa.int32()))
    return partitions


def rows_by_partition(partitions: pa.Int32Array) -> dict[int, pa.UInt64Array]:
    """The row numbers of each partition, in the order of the rows.

    Raises ValueError if a partition is null.
    """
    if partitions.null_count:
        raise ValueError("a row has no partition")
    order = pc.array_sort_indices(partitions)  # a stable sort
    runs = pc.run_end_encode(partitions.take(order), run_end_type=pa.int64())
    rows: dict[int, pa.UInt64Array] = {}
    at = 0
    for end, partition in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
        rows[partition] = order.slice(at, end - at)
        at = end
    return rows


def _partitions(keys: pa.LargeBinaryArray, partition_count: int) -> pa.Int32Array:
    keys = pc.fill_null(keys, b"")
    _, ends_buffer, data_buffer, first = binary_column(keys)
    ends = np.frombuffer(ends_buffer, np.int64)[first : first + len(keys) + 1]
    data = np.frombuffer(data_buffer or b"", np.uint8)
    hashes = _hash_short(data, ends[:-1], np.diff(ends))
    for row in np.flatnonzero(np.diff(ends) > _SHORT_KEY_BYTES):
        hashes[row] = plain_murmur2(data[ends[row] : ends[row + 1]].tobytes())
    return pa.array((hashes & 0x7FFFFFFF) % np.uint32(partition_count), pa.int32())


def _hash_short(
    data: npt.NDArray[np.uint8], begin: npt.NDArray[np.int64], size: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint32]:
    """murmur2 of all keys of at most 64 bytes; the others get nonsense."""
    m = np.uint32(M)
    hashes = np.uint32(SEED) ^ size.astype(np.uint32)
    for at in range(0, _SHORT_KEY_BYTES, 4):
        rows = np.flatnonzero(size >= at + 4)
        if not rows.size:
            break
        k = _word(data, begin[rows] + at, 4) * m
        k = (k ^ (k >> np.uint32(24))) * m
        hashes[rows] = (hashes[rows] * m) ^ k
    for left in (1, 2, 3):
        rows = np.flatnonzero((size & 3) == left)
        word = _word(data, begin[rows] + size[rows] - left, left)
        hashes[rows] = (hashes[rows] ^ word) * m
    hashes = (hashes ^ (hashes >> np.uint32(13))) * m
    return hashes ^ (hashes >> np.uint32(15))


def _word(
    data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], count: int
) -> npt.NDArray[np.uint32]:
    """So many bytes from each position on as one number, the lowest first."""
    word = np.zeros(len(at), np.uint32)
    for i in range(count):
        word |= data[at + i].astype(np.uint32) << np.uint32(8 * i)
    return word
