"""The Avro schema of Arrow columns."""

import re

import pyarrow as pa

from barnabas.errors import ValidationFailed
from barnabas.schemas.schema import Json, JsonObject

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SCALARS: dict[pa.DataType, Json] = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.date32(): {"type": "int", "logicalType": "date"},
}


def avro_schema_of(columns: pa.StructType, name: str) -> JsonObject:
    """A record with a field for each column; one that may be null has null as its default.

    Raises `ValidationFailed` for a column that has no type in Avro.
    """
    return _record(columns, re.sub(r"[^A-Za-z0-9_]|^(?=[0-9])", "_", name), "")


def _record(columns: pa.StructType, name: str, at: str) -> JsonObject:
    fields: list[Json] = []
    for column in columns:
        inner = f"{at}.{column.name}" if at else column.name
        if _NAME.fullmatch(column.name) is None:
            raise ValidationFailed(inner, "is no name in Avro: use letters, digits and _")
        fields.append(_field(column, f"{name}_{column.name}", inner))
    return {"type": "record", "name": name, "fields": fields}


def _field(column: pa.Field, name: str, at: str) -> JsonObject:
    kind = _type(column.type, name, at)
    if not column.nullable:
        return {"name": column.name, "type": kind}
    return {"name": column.name, "type": ["null", kind], "default": None}


def _type(kind: pa.DataType, name: str, at: str) -> Json:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if pa.types.is_timestamp(kind):
        logical = "local-timestamp-micros" if kind.tz is None else "timestamp-micros"
        return {"type": "long", "logicalType": logical}
    if pa.types.is_decimal(kind):
        size: JsonObject = {"precision": kind.precision, "scale": kind.scale}
        return {"type": "bytes", "logicalType": "decimal", **size}
    if pa.types.is_struct(kind):
        return _record(kind, name, at)
    if pa.types.is_list(kind):
        items = _item(kind.value_field, name, f"{at}[]")
        return {"type": "array", "items": items}
    if pa.types.is_map(kind) and pa.types.is_string(kind.key_type):
        return {"type": "map", "values": _item(kind.item_field, name, f"{at}{{}}")}
    raise ValidationFailed(at, f"a column of type {kind} has no type in Avro")


def _item(field: pa.Field, name: str, at: str) -> Json:
    kind = _type(field.type, name, at)
    return ["null", kind] if field.nullable else kind
