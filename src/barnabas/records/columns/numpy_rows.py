"""Rows of a table to the records of a batch, without the compiled kernel.

A record is five pieces: what stands before the key, the key, the value's length, the value, and
the number of headers. numpy makes the varints of all rows at once, and Arrow joins the pieces. Rows
with headers are encoded one by one.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from barnabas.records.batch import HEADER_SIZE
from barnabas.records.columns.row_columns import BYTES, EncodedRows, RowColumns
from barnabas.records.encode import MAX_HEADER_OVERHEAD, MAX_RECORD_OVERHEAD, BatchBuilder

Int64s = npt.NDArray[np.int64]
# Bytes of all rows, of each of which only the first so many count.
Matrix = tuple[npt.NDArray[np.uint8], Int64s]

_MAX_VARINT_BYTES = 10
_MAX_BATCH_BYTES = 2**31 - 1


def encode_rows(
    columns: RowColumns, rows: pa.UInt64Array | None, max_bytes: int
) -> Iterator[EncodedRows]:
    """Batches of these rows, each as many as fit into `max_bytes`, at least one.

    Sizes are estimated from above, as `max_record_size` does.
    """
    if rows is not None:
        columns = RowColumns(*(None if each is None else each.take(rows) for each in columns))
    bounds = np.cumsum(_bounds(columns))
    at = 0
    while at < len(bounds):
        limit = max_bytes + (bounds[at - 1] if at else 0)
        end = max(at + 1, int(np.searchsorted(bounds, limit, side="right")))
        yield _encode(
            RowColumns(*(None if each is None else each.slice(at, end - at) for each in columns))
        )
        at = end


def _encode(columns: RowColumns) -> EncodedRows:
    timestamps = columns.timestamp.to_numpy()
    base = timestamps[0]
    deltas = timestamps - base
    if np.any((deltas < 0) != (timestamps < base)):
        raise ValueError("two timestamps of a batch are too far apart")
    if columns.headers is not None and len(columns.headers.flatten()):
        payload = _encode_one_by_one(columns)
    else:
        payload = _encode_at_once(columns, deltas)
    if len(payload) > _MAX_BATCH_BYTES:
        raise ValueError("a record is too large for a batch")
    return EncodedRows(payload, len(timestamps), int(base), int(timestamps.max()))


def _sizes(column: pa.LargeBinaryArray | None, count: int) -> Int64s:
    """Bytes of each row, 0 for null."""
    if column is None:
        return np.zeros(count, np.int64)
    return np.asarray(pc.fill_null(pc.binary_length(column), 0).to_numpy(), np.int64)


def _bounds(columns: RowColumns) -> Int64s:
    """The most bytes that each row can take."""
    count = len(columns.timestamp)
    bounds = _sizes(columns.key, count) + _sizes(columns.value, count) + MAX_RECORD_OVERHEAD
    if columns.headers is not None:
        items = columns.headers.flatten()
        of_items = _sizes(items.field(0), len(items)) + _sizes(items.field(1), len(items))
        before = np.concatenate(([0], np.cumsum(of_items + MAX_HEADER_OVERHEAD)))
        counts = pc.fill_null(pc.list_value_length(columns.headers), 0).to_numpy()
        ends = np.cumsum(counts)
        bounds += before[ends] - before[ends - counts]
    return bounds


def _encode_one_by_one(columns: RowColumns) -> bytearray:
    timestamps = columns.timestamp.to_pylist()
    nothing = [None] * len(timestamps)
    keys = nothing if columns.key is None else columns.key.to_pylist()
    values = nothing if columns.value is None else columns.value.to_pylist()
    items = nothing if columns.headers is None else columns.headers.to_pylist()
    headers = [[(item["key"], item["value"]) for item in of_row or ()] for of_row in items]
    builder = BatchBuilder()
    builder.extend(zip(timestamps, keys, values, headers, strict=True))
    return builder.pack().buffer


def _encode_at_once(columns: RowColumns, timestamp_deltas: Int64s) -> bytearray:
    count = len(timestamp_deltas)
    zero = np.zeros((count, 1), np.uint8), np.ones(count, np.int64)
    timestamp = _varints(timestamp_deltas)
    offset = _varints(np.arange(count))
    key_length = _lengths(columns.key, count)
    value_length = _lengths(columns.value, count)
    length = _sizes(columns.key, count) + _sizes(columns.value, count)
    for _, sizes in (zero, timestamp, offset, key_length, value_length, zero):
        length += sizes
    records = pc.binary_join_element_wise(
        _join(_varints(length), zero, timestamp, offset, key_length),  # attributes are zero
        _pieces(columns.key),
        _join(value_length),
        _pieces(columns.value),
        _join(zero),  # no headers
        pa.scalar(b"", BYTES),
    )
    _, ends, data = records.buffers()
    size = int(np.frombuffer(ends, np.int64)[records.offset + count])
    return bytearray().join((bytes(HEADER_SIZE), memoryview(data)[:size]))


def _lengths(column: pa.LargeBinaryArray | None, count: int) -> Matrix:
    if column is None:
        return _varints(np.full(count, -1))
    sizes = pc.fill_null(pc.binary_length(column), -1).to_numpy()
    return _varints(np.asarray(sizes, np.int64))


def _pieces(column: pa.LargeBinaryArray | None) -> pa.Array | pa.Scalar:
    return pa.scalar(b"", BYTES) if column is None else pc.fill_null(column, b"")


def _varints(values: Int64s) -> Matrix:
    folded = ((values << 1) ^ (values >> 63)).astype(np.uint64)
    width = 1
    while width < _MAX_VARINT_BYTES and np.any(folded >> np.uint64(7 * width)):
        width += 1
    shifts = np.arange(0, 7 * width, 7, dtype=np.uint64)
    septets = folded[:, None] >> shifts
    sizes = np.maximum(1, np.count_nonzero(septets, axis=1))
    matrix = (septets & np.uint64(0x7F)).astype(np.uint8)
    matrix[np.arange(width) < (sizes - 1)[:, None]] |= 0x80
    return matrix, sizes


def _join(*matrices: Matrix) -> pa.LargeBinaryArray:
    """The rows of these matrices side by side, as a column of bytes."""
    wide = np.hstack([matrix for matrix, _ in matrices])
    counted = np.hstack([np.arange(m.shape[1]) < sizes[:, None] for m, sizes in matrices])
    ends = np.concatenate(([0], np.cumsum(np.count_nonzero(counted, axis=1))))
    buffers = [None, pa.py_buffer(ends.astype(np.int64)), pa.py_buffer(wide[counted])]
    return pa.Array.from_buffers(BYTES, len(wide), buffers)
