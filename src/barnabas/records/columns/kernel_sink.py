"""Columns that the compiled kernel fills."""

from array import array
from collections.abc import Collection

import pyarrow as pa

from barnabas.records.batch import BatchHeader, Buffer
from barnabas.records.columns import schema
from barnabas.records.decode import decode_payload
from barnabas.records.encode import encode_record
from barnabas.records.errors import CorruptBatch
from barnabas.records.kernel import Kernel

# How many of the kernel's 14 buffers each column has, in the kernel's order.
_BUFFERS = {
    schema.OFFSET: 1,
    schema.TIMESTAMP: 1,
    schema.KEY: 3,
    schema.VALUE: 3,
    schema.HEADERS: 6,
}
# Of those buffers, the ones that hold the 32-bit ends of something, which begin with a 0.
_ENDS = {schema.KEY: (0,), schema.VALUE: (0,), schema.HEADERS: (0, 1, 3)}
_FIRST_END = bytes(4)


class KernelSink:
    """The wanted columns as bytearrays, which become Arrow's without being copied.

    They are longer than needed, so that they do not grow with every batch; `_sizes` has the
    bytes in use.
    """

    def __init__(self, kernel: Kernel, columns: Collection[str]) -> None:
        self._kernel = kernel
        self._rows = 0
        self._places: dict[str, range] = {}
        sinks: list[bytearray | None] = []
        for name, count in _BUFFERS.items():
            if name not in columns:
                sinks += [None] * count
                continue
            self._places[name] = range(len(sinks), len(sinks) + count)
            sinks += [
                bytearray(_FIRST_END if index in _ENDS.get(name, ()) else b"")
                for index in range(count)
            ]
        self._sinks = tuple(sinks)
        self._sizes = array("q", [len(sink or b"") for sink in sinks])

    def append(self, header: BatchHeader, payload: Buffer, start_offset: int) -> int:
        added = self._append(header, payload, start_offset)
        if added is None:
            added = self._append(header, _mend(header, payload), start_offset)
        if added is None:
            raise CorruptBatch("an offset, a timestamp or all keys or values do not fit a column")
        self._rows += added
        return added

    def _append(self, header: BatchHeader, payload: Buffer, start_offset: int) -> int | None:
        return self._kernel.decode_columns(
            payload,
            header.record_count,
            header.base_offset,
            header.base_timestamp,
            header.max_timestamp if header.is_log_append_time else None,
            start_offset,
            self._rows,
            self._sinks,
            self._sizes,
        )

    def finish(self) -> dict[str, pa.Array]:
        rows = self._rows
        arrays: dict[str, pa.Array] = {}
        for name, places in self._places.items():
            type_ = schema.SCHEMA.field(name).type
            first, *others = [self._buffer(place) for place in places]
            if name == schema.HEADERS:
                items = _headers(*others)
                arrays[name] = pa.Array.from_buffers(type_, rows, [None, first], children=[items])
            elif others:
                data, valid = others
                arrays[name] = pa.Array.from_buffers(type_, rows, [valid, first, data])
            else:
                arrays[name] = pa.Array.from_buffers(type_, rows, [None, first])
        return arrays

    def _buffer(self, place: int) -> pa.Buffer:
        """What is in use of a sink; the rest is given back if it is much."""
        sink = self._sinks[place]
        assert sink is not None
        del sink[self._sizes[place] :]
        return pa.py_buffer(sink)


def _headers(
    key_ends: pa.Buffer,
    key_data: pa.Buffer,
    value_ends: pa.Buffer,
    value_data: pa.Buffer,
    value_valid: pa.Buffer,
) -> pa.StructArray:
    """The headers of all rows, one behind the other."""
    count = key_ends.size // 4 - 1
    keys = pa.Array.from_buffers(pa.string(), count, [None, key_ends, key_data])
    values = pa.Array.from_buffers(pa.binary(), count, [value_valid, value_ends, value_data])
    return pa.StructArray.from_arrays([keys, values], fields=list(schema.HEADER_TYPE))


def _mend(header: BatchHeader, payload: Buffer) -> bytes:
    """What the kernel declined, so that it can take it; raises `CorruptBatch` if that can't be.

    A header's key that is not valid UTF-8 gets replacement characters: a column of strings can't
    hold it otherwise.
    """
    records = decode_payload(header, payload)
    base = header.max_timestamp if header.is_log_append_time else header.base_timestamp
    return b"".join(
        encode_record(
            record.timestamp - base,
            record.offset - header.base_offset,
            record.key,
            record.value,
            record.headers,
        )
        for record in records
    )
