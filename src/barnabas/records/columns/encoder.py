"""The rows of a table to batches.

Takes the columns key, value, headers and timestamp of `schema`, each of which may be missing, and
ignores others: the caller decides which rows go to which partition. The rows are encoded
by the compiled kernel if there is one, else by numpy and Arrow.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from barnabas.records.batch import HEADER_SIZE
from barnabas.records.columns.numpy_rows import encode_rows
from barnabas.records.columns.row_columns import EncodedRows, row_columns
from barnabas.records.compression import Compression
from barnabas.records.kernel import BinaryColumn, HeadersColumn, Kernel, kernel
from barnabas.records.packed import PackedRecords, pack_payload


class ColumnEncoder:
    """The rows of one RecordBatch, to be packed into batches of records.

    `timestamp_ms` is for rows that have none. Raises TypeError or ValueError as `row_columns` does.
    """

    def __init__(self, records: pa.RecordBatch, *, timestamp_ms: int) -> None:
        self.rows: int = records.num_rows
        self._columns = row_columns(records, timestamp_ms)
        timestamp, key, value, headers = self._columns
        self._buffers = (
            (timestamp.buffers()[1], timestamp.offset),
            None if key is None else binary_column(key),
            None if value is None else binary_column(value),
            None if headers is None else _headers_column(headers),
        )

    @property
    def min_timestamp_ms(self) -> int | None:
        """The smallest timestamp; None without rows."""
        smallest: int | None = pc.min(self._columns.timestamp).as_py()
        return smallest

    def pack(
        self,
        rows: pa.UInt64Array | None = None,
        *,
        max_bytes: int,
        compression: Compression = Compression.NONE,
    ) -> Iterator[PackedRecords]:
        """Batches of these rows in this order, by default of all.

        No batch is larger than `max_bytes` before compression, unless it has one record only.
        """
        if rows is not None and (rows.type != pa.uint64() or rows.null_count):
            raise TypeError(f"row numbers are uint64 and never null, these are {rows.type}")
        max_payload_bytes = max_bytes - HEADER_SIZE
        if kernel is None:
            batches = encode_rows(self._columns, rows, max_payload_bytes)
        else:
            batches = self._encode_rows(kernel, rows, max_payload_bytes)
        for buffer, count, base_timestamp, max_timestamp in batches:
            yield pack_payload(buffer, compression, count, base_timestamp, max_timestamp)

    def _encode_rows(
        self, kernel: Kernel, rows: pa.UInt64Array | None, max_bytes: int
    ) -> Iterator[EncodedRows]:
        """What `encode_rows` does, by the kernel."""
        stop = self.rows
        numbers = None
        if rows is not None:
            stop = len(rows)
            numbers = rows.buffers()[1].slice(8 * rows.offset, 8 * stop)
        at = 0
        while at < stop:
            buffer, following, base_timestamp, max_timestamp = kernel.encode_columns(
                numbers, at, stop, max_bytes, HEADER_SIZE, *self._buffers
            )
            yield EncodedRows(buffer, following - at, base_timestamp, max_timestamp)
            at = following


def binary_column(array: pa.Array) -> BinaryColumn:
    """The buffers of a column of bytes with 64-bit ends, for the kernel."""
    valid, ends, data = array.buffers()
    return valid, ends, data, array.offset


def _headers_column(array: pa.LargeListArray) -> HeadersColumn:
    valid, ends, *_ = array.buffers()
    items = array.values
    return valid, ends, array.offset, binary_column(items.field(0)), binary_column(items.field(1))
