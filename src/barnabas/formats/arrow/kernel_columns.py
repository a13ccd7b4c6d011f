"""Columns as the compiled kernels take and give them: `src/columns/` has their side."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import pyarrow as pa

Spec: TypeAlias = tuple[int, int, int, int, bytes, tuple[Any, ...]]
"""Kind, flags, precision, scale, name, children."""
Column: TypeAlias = tuple[int, int, Any, Any, Any]
"""Length, nulls, and the buffers: validity, ends, data."""

# As in columns.h.
_KINDS: dict[int, int] = {
    pa.bool_().id: 0,
    pa.int8().id: 1,
    pa.int16().id: 2,
    pa.int32().id: 3,
    pa.int64().id: 4,
    pa.float32().id: 5,
    pa.float64().id: 6,
    pa.string().id: 7,
    pa.binary().id: 8,
    pa.date32().id: 9,
    pa.decimal128(1).id: 12,
    pa.struct([]).id: 13,
    pa.list_(pa.int8()).id: 14,
    pa.map_(pa.string(), pa.int8()).id: 15,
}
_TIMESTAMP, _LOCAL_TIMESTAMP = 10, 11
_BUILT, _REQUIRED = 1, 2


def column_spec(
    of_type: pa.DataType,
    children: tuple[Spec, ...],
    *,
    is_built: bool,
    is_required: bool = False,
    name: str = "",
) -> Spec:
    """A column and its parts. What is not built is only checked."""
    precision = scale = 0
    if pa.types.is_decimal(of_type):
        precision, scale = of_type.precision, of_type.scale
    flags = (_BUILT if is_built else 0) | (_REQUIRED if is_required else 0)
    return _kind_of(of_type), flags, precision, scale, name.encode(), children


def _kind_of(of_type: pa.DataType) -> int:
    if pa.types.is_timestamp(of_type):
        return _LOCAL_TIMESTAMP if of_type.tz is None else _TIMESTAMP
    return _KINDS[of_type.id]


def array_of(of_type: pa.DataType, column: Column, children: Sequence[pa.Array]) -> pa.Array:
    """What a kernel gives for a column, with its parts."""
    length, nulls, valid, ends, data = column
    buffers = [valid]
    if pa.types.is_struct(of_type):
        pass
    elif pa.types.is_list(of_type):
        buffers.append(ends)
    elif pa.types.is_map(of_type):
        buffers.append(ends)
        keys, items = children
        entries = pa.struct([of_type.key_field, of_type.item_field])
        children = [pa.Array.from_buffers(entries, len(keys), [None], 0, children=[keys, items])]
    else:
        buffers += [data] if ends is None else [ends, data]
    kept = [None if each is None else pa.py_buffer(each) for each in buffers]
    parts = children or None
    return pa.Array.from_buffers(of_type, length, kept, nulls, children=parts)
