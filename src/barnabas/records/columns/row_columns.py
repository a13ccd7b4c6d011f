"""The columns that make a record, as the encoders take them, and what they make of them.

Keys and values may be of any type that Arrow can cast to binary, strings for instance; headers a
list of structs of key and value, or a map; timestamps of any unit, or int64 in milliseconds. A
column may be missing, or of Arrow's null type, which is the same.
"""

from typing import NamedTuple

import pyarrow as pa

from barnabas.records.columns import schema

BYTES = pa.large_binary()
_HEADERS = pa.large_list(pa.struct([("key", pa.large_string()), ("value", BYTES)]))


class RowColumns(NamedTuple):
    """The types are int64 in milliseconds, large_binary, and large_list of large ones.

    No timestamp is null, no header, and no header's key.
    """

    timestamp: pa.Int64Array
    key: pa.LargeBinaryArray | None
    value: pa.LargeBinaryArray | None
    headers: pa.LargeListArray | None


class EncodedRows(NamedTuple):
    """The records of one batch, with room for its header before them."""

    buffer: bytearray
    record_count: int
    base_timestamp: int
    max_timestamp: int


def row_columns(records: pa.RecordBatch, timestamp_ms: int) -> RowColumns:
    """The columns of `records`; `timestamp_ms` is for rows that have none.

    Raises TypeError if a column is of another type, ValueError if a header's key is null.
    """
    headers = _cast(records, schema.HEADERS, _HEADERS)
    if headers is not None:
        items = headers.flatten()
        if items.null_count or items.field("key").null_count:
            raise ValueError("column headers: a header, or the key of one, is null")
    return RowColumns(
        _timestamps(records, timestamp_ms),
        _cast(records, schema.KEY, BYTES),
        _cast(records, schema.VALUE, BYTES),
        headers,
    )


def _cast(records: pa.RecordBatch, name: str, type_: pa.DataType) -> pa.Array | None:
    if not _has(records, name):
        return None
    column = records.column(name)
    try:
        return column.cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as cause:
        wanted = schema.SCHEMA.field(name).type
        raise TypeError(f"column {name} is {column.type}, and can't be made {wanted}") from cause


def _has(records: pa.RecordBatch, name: str) -> bool:
    return name in records.schema.names and records.column(name).type != pa.null()


def _timestamps(records: pa.RecordBatch, timestamp_ms: int) -> pa.Int64Array:
    name = schema.TIMESTAMP
    if not _has(records, name):
        return pa.repeat(pa.scalar(timestamp_ms, pa.int64()), records.num_rows)
    column = records.column(name)
    if pa.types.is_timestamp(column.type):
        # Finer units are cut to milliseconds.
        column = column.cast(pa.timestamp("ms", tz=column.type.tz), safe=False).cast(pa.int64())
    elif column.type != pa.int64():
        raise TypeError(f"column {name} is {column.type}, it should be timestamp or int64")
    return column.fill_null(timestamp_ms)
