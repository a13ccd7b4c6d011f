"""Arrow columns to Avro: one datum for each row.

Which column is written as what is decided before there are rows, so that a column that can't be is
an error then. The columns are encoded one after the other, and joined row by row.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from barnabas.errors import ValidationFailed
from barnabas.formats.arrow.avro_columns import digits_of, logical_of
from barnabas.schemas.avro.default_bytes import default_bytes
from barnabas.schemas.avro.types import (
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroType,
    AvroUnion,
    NoDefault,
    described,
)

Encode: TypeAlias = Callable[[pa.Array], list[bytes | None]]
"""The bytes of each row; None for null, which whoever asks has to write."""

_INTEGERS = {"int": 32, "long": 64}
_MICROS = {"millis": -1_000, "micros": 1, "nanos": 1_000}
_FLOAT, _DOUBLE = struct.Struct("<f").pack, struct.Struct("<d").pack


def avro_encoder(
    columns: pa.StructType, schema: AvroType
) -> Callable[[pa.StructArray], list[bytes]]:
    """Encodes rows with these columns as records.

    Raises `ValidationFailed`, now for a column that is not in the record, or has a type that does
    not fit, and for a field that is neither a column nor has a default; later for a value.
    """
    if not isinstance(schema, AvroRecord):
        raise ValidationFailed("", f"rows are written as records, and the schema is {schema.type}")
    encode = _record(columns, schema, "")

    def encode_rows(rows: pa.StructArray) -> list[bytes]:
        return [each or b"" for each in encode(rows)]

    return encode_rows


def _of(kind: pa.DataType, schema: AvroType, at: str) -> Encode:
    """For values that are not null: those are None."""
    if isinstance(schema, AvroUnion):
        return _union(kind, schema, at)
    if isinstance(schema, AvroRecord) and pa.types.is_struct(kind):
        return _record(kind, schema, at)
    if isinstance(schema, AvroArray) and pa.types.is_list(kind):
        return _array(_some(kind.value_type, schema.items, f"{at}[]"))
    if isinstance(schema, AvroMap) and pa.types.is_map(kind):
        return _map(_some(kind.item_type, schema.values, f"{at}{{}}"))
    if isinstance(schema, AvroEnum) and pa.types.is_string(kind):
        return _enum(schema, at)
    if isinstance(schema, AvroPrimitive | AvroFixed):
        return _scalar(kind, schema, at)
    raise _unfit(kind, schema, at)


def _unfit(kind: pa.DataType, schema: AvroType, at: str) -> ValidationFailed:
    return ValidationFailed(at, f"a column of type {kind} can't be written as {described(schema)}")


def _some(kind: pa.DataType, schema: AvroType, at: str) -> Encode:
    """With null refused, unless the schema has it."""
    encode = _of(kind, schema, at)
    if isinstance(schema, AvroUnion):
        return encode

    def checked(values: pa.Array) -> list[bytes | None]:
        if values.null_count and schema.type != "null":
            raise ValidationFailed(at, f"is NULL, and {described(schema)} can't be")
        return encode(values)

    return checked


# -- what has parts --------------------------------------------------------------------------------


def _record(kind: pa.StructType, schema: AvroRecord, at: str) -> Encode:
    names = [each.name for each in kind]
    fields = {each.name for each in schema.fields}
    for name in names:
        if name not in fields:
            inner = f"{at}.{name}" if at else name
            raise ValidationFailed(inner, f"is a column, and {schema.name} has no such field")
    parts = [_field(kind, each, at) for each in schema.fields]

    def encode(values: pa.Array) -> list[bytes | None]:
        if values.null_count:
            return _around_nulls(values, encode)
        columns = values.flatten()
        written = [part(columns, len(values)) for part in parts]
        return [b"".join(row) for row in zip(*written, strict=True)] or [b""] * len(values)

    return encode


def _around_nulls(values: pa.Array, encode: Encode) -> list[bytes | None]:
    there = iter(encode(values.drop_null()))
    return [next(there) if each else None for each in values.is_valid().to_pylist()]


def _field(
    kind: pa.StructType, field: AvroField, at: str
) -> Callable[[Sequence[pa.Array], int], list[Any]]:
    inner = f"{at}.{field.name}" if at else field.name
    position = kind.get_field_index(field.name)
    if position >= 0:
        encode = _some(kind[position].type, field.type, inner)
        return lambda columns, _: encode(columns[position])
    if isinstance(field.default, NoDefault):
        raise ValidationFailed(inner, "is no column, and has no default")
    try:
        default = default_bytes(field.type, field.default)
    except ValueError as error:
        raise ValidationFailed(inner, str(error)) from None
    return lambda _, rows: [default] * rows


def _array(encode_items: Encode) -> Encode:
    def encode(values: pa.Array) -> list[bytes | None]:
        items = encode_items(values.flatten())
        at, found = 0, list[bytes | None]()
        for count in values.value_lengths().to_pylist():
            found.append(None if count is None else _block(items[at : at + count]))
            at += count or 0
        return found

    return encode


def _map(encode_items: Encode) -> Encode:
    def encode(values: pa.Array) -> list[bytes | None]:
        compact = values.take(pa.array(range(len(values)), pa.int64()))
        items = encode_items(compact.items)
        pairs = [
            _text(key) + (item or b"")
            for key, item in zip(compact.keys.to_pylist(), items, strict=True)
        ]
        ends = compact.offsets.to_pylist()
        return [
            _block(pairs[start:end]) if is_there else None
            for start, end, is_there in zip(
                ends, ends[1:], compact.is_valid().to_pylist(), strict=False
            )
        ]

    return encode


def _block(items: Sequence[bytes | None]) -> bytes:
    if not items:
        return b"\0"
    return b"".join([_long(len(items)), *(each or b"" for each in items), b"\0"])


def _union(kind: pa.DataType, schema: AvroUnion, at: str) -> Encode:
    null = next((n for n, each in enumerate(schema.branches) if each.type == "null"), None)
    problems: list[ValidationFailed] = []
    for position, branch in enumerate(schema.branches):
        if branch.type == "null":
            continue
        try:
            return _in_union(_of(kind, branch, at), position, null, at)
        except ValidationFailed as error:
            problems.append(error)
    raise problems[0] if len(problems) == 1 else _unfit(kind, schema, at)


def _in_union(encode: Encode, position: int, null: int | None, at: str) -> Encode:
    start = _long(position)
    nothing = None if null is None else _long(null)

    def encode_union(values: pa.Array) -> list[bytes | None]:
        if nothing is None and values.null_count:
            raise ValidationFailed(at, "is NULL, and none of its types is null")
        return [nothing if each is None else start + each for each in encode(values)]

    return encode_union


# -- scalars ---------------------------------------------------------------------------------------


def _scalar(kind: pa.DataType, schema: AvroPrimitive | AvroFixed, at: str) -> Encode:
    logical, name = logical_of(schema), schema.type
    if pa.types.is_decimal(kind):
        return _decimal(kind, schema, at)
    if logical == "decimal" or (isinstance(schema, AvroFixed) and not pa.types.is_binary(kind)):
        raise _unfit(kind, schema, at)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _time(kind, schema, at)
    if logical is not None:
        raise _unfit(kind, schema, at)
    if isinstance(schema, AvroFixed):
        return _fixed(schema, at)
    if pa.types.is_integer(kind) and name in _INTEGERS and kind.bit_width <= _INTEGERS[name]:
        return _each(_long)
    if pa.types.is_integer(kind) and name == "double" and kind.bit_width < _INTEGERS["long"]:
        return _each(_DOUBLE)
    if pa.types.is_floating(kind) and name == "double":
        return _each(_DOUBLE)
    if pa.types.is_float32(kind) and name == "float":
        return _each(_FLOAT)
    if pa.types.is_boolean(kind) and name == "boolean":
        return _each(lambda value: b"\1" if value else b"\0")
    if pa.types.is_string(kind) and name in ("string", "bytes"):
        return _each(_text)
    if pa.types.is_binary(kind) and name == "bytes":
        return _each(lambda value: _long(len(value)) + value)
    raise _unfit(kind, schema, at)


def _each(encode: Callable[[Any], bytes]) -> Encode:
    def encode_all(values: pa.Array) -> list[bytes | None]:
        return [None if each is None else encode(each) for each in values.to_pylist()]

    return encode_all


def _time(kind: pa.DataType, schema: AvroPrimitive | AvroFixed, at: str) -> Encode:
    logical = logical_of(schema) or ""
    if pa.types.is_date(kind):
        if logical != "date":
            raise _unfit(kind, schema, at)
        days = _each(_long)
        return lambda values: days(values.cast(pa.int32()))
    prefix = "timestamp-" if kind.tz is not None else "local-timestamp-"
    if not logical.startswith(prefix):
        raise _unfit(kind, schema, at)
    factor = _MICROS[logical.removeprefix(prefix)]

    def number(micros: int) -> bytes:
        value = micros * factor if factor > 0 else micros // -factor
        if not -(1 << 63) <= value < 1 << 63:
            raise ValidationFailed(at, f"is out of range of {logical}")
        return _long(value)

    encode = _each(number)
    return lambda values: encode(values.cast(pa.int64()))


def _decimal(kind: pa.DataType, schema: AvroPrimitive | AvroFixed, at: str) -> Encode:
    digits = digits_of(schema) if logical_of(schema) == "decimal" else None
    if digits is None:
        raise _unfit(kind, schema, at)
    precision, scale = digits
    if scale < kind.scale or precision - scale < kind.precision - kind.scale:
        raise _unfit(kind, schema, at)
    size = schema.size if isinstance(schema, AvroFixed) else None

    def encode(value: Any) -> bytes:
        sign, figures, exponent = value.as_tuple()
        number: int = int("".join(map(str, figures))) * 10 ** (exponent + scale)
        number = -number if sign else number
        width = (number + (number < 0)).bit_length() // 8 + 1
        if size is None:
            return _long(width) + number.to_bytes(width, "big", signed=True)
        try:
            return number.to_bytes(size, "big", signed=True)
        except OverflowError:
            raise ValidationFailed(at, f"{value} does not fit into {size} bytes") from None

    return _each(encode)


def _fixed(schema: AvroFixed, at: str) -> Encode:
    def encode(value: bytes) -> bytes:
        if len(value) != schema.size:
            raise ValidationFailed(at, f"has {len(value)} bytes, and {schema.name} {schema.size}")
        return value

    return _each(encode)


def _enum(schema: AvroEnum, at: str) -> Encode:
    numbers = {each: _long(n) for n, each in enumerate(schema.symbols)}

    def encode(value: str) -> bytes:
        found = numbers.get(value)
        if found is None:
            raise ValidationFailed(at, f"{value!r} is no symbol of {schema.name}")
        return found

    return _each(encode)


def _text(value: str) -> bytes:
    data = value.encode()
    return _long(len(data)) + data


def _long(value: int) -> bytes:
    """Zigzag, seven bits in each byte, the lowest first."""
    rest = value << 1 if value >= 0 else (~value << 1) | 1
    if rest < 0x80:
        return bytes((rest,))
    data = bytearray()
    while rest > 0x7F:
        data.append(rest & 0x7F | 0x80)
        rest >>= 7
    data.append(rest)
    return bytes(data)
