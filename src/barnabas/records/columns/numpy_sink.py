"""Columns without the compiled kernel.

Where a record begins is known only from the length of the one before: that is a loop in Python,
one step a record. All else is done for all records of a batch at once: numpy reads the varints
field by field, and Arrow copies the keys and values. Batches with headers, and whatever is not
well-formed, are left to the ordinary decoder.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from barnabas.records.batch import BatchHeader, Buffer
from barnabas.records.columns import schema
from barnabas.records.decode import decode_payload
from barnabas.records.errors import CorruptBatch
from barnabas.records.record import Record
from barnabas.records.varint import decode_varint

Int64s = npt.NDArray[np.int64]

_LAST_SHIFT = 63  # of the tenth byte, which has room for one bit
_MAX_BYTES = 2**31 - 1  # that 32-bit ends can count


class _Malformed(Exception):  # noqa: N818 - says what the payload is, or that it has headers
    """Not for this reader."""


class _Fields(NamedTuple):
    """A field of all records of a batch, or several; a size below 0 is null."""

    offset: Int64s
    timestamp: Int64s
    key_at: Int64s
    key_size: Int64s
    value_at: Int64s
    value_size: Int64s


class NumpySink:
    """The wanted columns as one array a batch, put together at the end."""

    def __init__(self, columns: Collection[str]) -> None:
        self._arrays: dict[str, list[pa.Array]] = {
            name: []
            for name in (
                schema.KEY,
                schema.VALUE,
                schema.HEADERS,
                schema.OFFSET,
                schema.TIMESTAMP,
            )
            if name in columns
        }

    def append(self, header: BatchHeader, payload: Buffer, start_offset: int) -> int:
        try:
            fields = _read_fields(header, payload)
        except _Malformed:
            return self._append_records(decode_payload(header, payload), start_offset)
        if header.record_count and int(fields.offset.min()) < start_offset:
            wanted = fields.offset >= start_offset
            fields = _Fields(*(each[wanted] for each in fields))
        count = len(fields.offset)
        for name, arrays in self._arrays.items():
            type_ = schema.SCHEMA.field(name).type
            match name:
                case schema.KEY:
                    arrays.append(_spans(payload, fields.key_at, fields.key_size))
                case schema.VALUE:
                    arrays.append(_spans(payload, fields.value_at, fields.value_size))
                case schema.OFFSET:
                    arrays.append(pa.array(fields.offset, type_))
                case schema.TIMESTAMP:
                    arrays.append(pa.array(fields.timestamp, pa.int64()).cast(type_))
                case _:
                    ends = pa.array(np.zeros(count + 1, np.int32))
                    arrays.append(pa.ListArray.from_arrays(ends, _NO_HEADERS, type_))
        return count

    def _append_records(self, records: list[Record], start_offset: int) -> int:
        wanted = [record for record in records if record.offset >= start_offset]
        columns: dict[str, list[Any]] = {
            schema.KEY: [record.key for record in wanted],
            schema.VALUE: [record.value for record in wanted],
            schema.HEADERS: [schema.header_items(tuple(record.headers)) for record in wanted],
            schema.OFFSET: [record.offset for record in wanted],
            schema.TIMESTAMP: [record.timestamp for record in wanted],
        }
        # Both must fit whether they are wanted or not, so that a batch is damaged for all readers.
        limits = np.iinfo(np.int64)
        for number in columns[schema.OFFSET] + columns[schema.TIMESTAMP]:
            if not limits.min <= number <= limits.max:
                raise CorruptBatch(f"an offset or a timestamp of {number} does not fit a column")
        for name, arrays in self._arrays.items():
            arrays.append(pa.array(columns[name], schema.SCHEMA.field(name).type))
        return len(wanted)

    def finish(self) -> dict[str, pa.Array]:
        return {name: pa.concat_arrays(arrays) for name, arrays in self._arrays.items()}


_NO_HEADERS = pa.nulls(0, schema.HEADER_TYPE)  # `pa.array` would import pandas, if that is there


def _read_fields(header: BatchHeader, payload: Buffer) -> _Fields:
    """Every field of every record; raises `_Malformed`."""
    if len(payload) > _MAX_BYTES:
        raise _Malformed
    begin, end = _bodies(bytes(payload), header.record_count)
    data = np.frombuffer(payload, np.uint8)
    timestamp, at = _read_varints(data, begin + 1)  # behind the attributes, unused so far
    offset, at = _read_varints(data, at)
    key_size, key_at = _read_varints(data, at)
    value_size, value_at = _read_varints(data, _behind(data, key_at, key_size))
    at = _behind(data, value_at, value_size)
    # `at` only grows, so a record that ends here was never left on the way.
    if not np.array_equal(at + 1, end) or np.any(data[at]):
        raise _Malformed
    if header.is_log_append_time:
        timestamp = np.full_like(timestamp, header.max_timestamp)
    else:
        timestamp = _add(timestamp, header.base_timestamp)
    return _Fields(
        _add(offset, header.base_offset), timestamp, key_at, key_size, value_at, value_size
    )


def _bodies(data: bytes, count: int) -> tuple[Int64s, Int64s]:
    """Where each record begins behind its length, and where it ends."""
    begin: list[int] = []
    end: list[int] = []
    at = 0
    size = len(data)
    for _ in range(count):
        try:
            length, at = decode_varint(data, at)
        except (IndexError, CorruptBatch):
            raise _Malformed from None
        begin.append(at)
        at += length
        if length < 0 or at > size:
            raise _Malformed
        end.append(at)
    if at != size:
        raise _Malformed
    return np.array(begin, np.int64), np.array(end, np.int64)


def _read_varints(data: npt.NDArray[np.uint8], at: Int64s) -> tuple[Int64s, Int64s]:
    """The varints at all these positions, and the positions behind them.

    Positions behind the end read its last byte: they are found out when all fields are read.
    """
    byte = data.take(at, mode="clip")
    folded = (byte & 0x7F).astype(np.uint64)
    at = at + 1
    shift = 7
    more = np.flatnonzero(byte >= 0x80)
    while more.size:
        byte = data.take(at[more], mode="clip")
        if shift == _LAST_SHIFT and np.any(byte > 1):
            raise _Malformed
        folded[more] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        at[more] += 1
        shift += 7
        more = more[byte >= 0x80]
    sign = np.uint64(0) - (folded & np.uint64(1))
    return ((folded >> np.uint64(1)) ^ sign).view(np.int64), at


def _behind(data: npt.NDArray[np.uint8], at: Int64s, size: Int64s) -> Int64s:
    if np.any(size > len(data)):
        raise _Malformed  # and not added, lest it wraps around
    return at + np.maximum(size, 0)


def _add(deltas: Int64s, base: int) -> Int64s:
    total: Int64s = deltas + np.int64(base)
    if np.any((total < base) != (deltas < 0)):
        raise _Malformed  # it wrapped around
    return total


def _spans(payload: Buffer, at: Int64s, size: Int64s) -> pa.Array:
    """These bytes of the payload as a column.

    The payload is taken for a column already, of the wanted values and the gaps between them, from
    which Arrow takes every other one.
    """
    count = len(at)
    ends = np.empty(2 * count + 1, np.int32)
    ends[0 : 2 * count : 2] = at
    ends[1 : 2 * count : 2] = at + np.maximum(size, 0)
    ends[2 * count] = ends[2 * count - 1] if count else 0
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(payload)]
    pieces = pa.Array.from_buffers(pa.binary(), 2 * count, buffers)
    return pieces.take(pa.array(np.arange(0, 2 * count, 2), mask=size < 0))
