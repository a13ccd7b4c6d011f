"""Messages of Protobuf as values of Spark's types, by their descriptors.

    int32, sint32, sfixed32 -> INT             string  -> STRING
    int64, sint64, sfixed64 -> BIGINT          bytes   -> BINARY
    uint32, fixed32         -> BIGINT          enum    -> STRING, its name
    uint64, fixed64         -> DECIMAL(20,0)   message -> STRUCT
    float, double, bool     -> the same        repeated, map -> ARRAY, MAP
    google.protobuf.Timestamp -> TIMESTAMP, of which microseconds are kept

A field that can be absent and is, is null. Others have their default, which is never written.
"""

from base64 import b64decode
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

Convert: TypeAlias = Callable[[Any], Any]

_TIMESTAMP = "google.protobuf.Timestamp"
_UNSIGNED_64 = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)
_TYPES: dict[int, DataType] = {
    FieldDescriptor.TYPE_INT32: IntegerType(),
    FieldDescriptor.TYPE_SINT32: IntegerType(),
    FieldDescriptor.TYPE_SFIXED32: IntegerType(),
    FieldDescriptor.TYPE_INT64: LongType(),
    FieldDescriptor.TYPE_SINT64: LongType(),
    FieldDescriptor.TYPE_SFIXED64: LongType(),
    FieldDescriptor.TYPE_UINT32: LongType(),
    FieldDescriptor.TYPE_FIXED32: LongType(),
    FieldDescriptor.TYPE_UINT64: DecimalType(20, 0),
    FieldDescriptor.TYPE_FIXED64: DecimalType(20, 0),
    FieldDescriptor.TYPE_FLOAT: FloatType(),
    FieldDescriptor.TYPE_DOUBLE: DoubleType(),
    FieldDescriptor.TYPE_BOOL: BooleanType(),
    FieldDescriptor.TYPE_STRING: StringType(),
    FieldDescriptor.TYPE_BYTES: BinaryType(),
    FieldDescriptor.TYPE_ENUM: StringType(),
}


class UnknownMessage(ValueError):  # noqa: N818 - its name says what is wrong
    """A message that can't be found, or has no schema."""


def message_type(definition: str) -> type[Message]:
    """The class of a definition, `NAME BASE64`: a message, and a FileDescriptorSet that has it."""
    name, _, encoded = definition.partition(" ")
    files = descriptor_pb2.FileDescriptorSet.FromString(b64decode(encoded))
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    try:
        found: type[Message] = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    except KeyError:
        known = [
            f"{file.package}.{each.name}".lstrip(".") for file in files.file
            for each in file.message_type
        ]  # fmt: skip
        raise UnknownMessage(
            f"there is no message {name!r} among {', '.join(sorted(known))}"
        ) from None
    return found


def schema_of_message(descriptor: Descriptor, around: tuple[str, ...] = ()) -> StructType:
    """The columns of a message; raises `UnknownMessage` if it holds itself."""
    if descriptor.full_name in around:
        raise UnknownMessage(f"{descriptor.full_name} contains itself, which no column can")
    inside = (*around, descriptor.full_name)
    return StructType(
        [
            StructField(each.name, _type(each, inside), not each.is_required)
            for each in descriptor.fields
        ]
    )


def row_converter(descriptor: Descriptor) -> Convert:
    """What makes a dict of a message."""
    parts = [(each.name, _part(each)) for each in descriptor.fields]
    return lambda message: {name: part(message) for name, part in parts}


def _type(field: FieldDescriptor, around: tuple[str, ...]) -> DataType:
    if _is_map(field):
        keys, values = field.message_type.fields_by_name["key"], _map_value(field)
        return MapType(_one_type(keys, around), _one_type(values, around))
    one = _one_type(field, around)
    return ArrayType(one) if field.is_repeated else one


def _one_type(field: FieldDescriptor, around: tuple[str, ...]) -> DataType:
    of_message = field.message_type
    if of_message is None:
        return _TYPES[field.type]
    if of_message.full_name == _TIMESTAMP:
        return TimestampType()
    return schema_of_message(of_message, around)


def _part(field: FieldDescriptor) -> Convert:
    name, one = field.name, _one(field)
    if _is_map(field):
        key, item = _one(field.message_type.fields_by_name["key"]), _one(_map_value(field))
        return lambda message: [(key(k), item(v)) for k, v in getattr(message, name).items()]
    if field.is_repeated:
        return lambda message: [one(each) for each in getattr(message, name)]
    if field.has_presence:
        return lambda message: one(getattr(message, name)) if message.HasField(name) else None
    return lambda message: one(getattr(message, name))


def _one(field: FieldDescriptor) -> Convert:
    if field.message_type is not None:
        if field.message_type.full_name == _TIMESTAMP:
            return lambda time: time.seconds * 1_000_000 + time.nanos // 1000
        return row_converter(field.message_type)
    if field.type in _UNSIGNED_64:
        return Decimal
    if field.enum_type is not None:
        names = {number: each.name for number, each in field.enum_type.values_by_number.items()}
        return lambda number: names.get(number, str(number))
    return lambda value: value


def _is_map(field: FieldDescriptor) -> bool:
    of_message = field.message_type
    return of_message is not None and bool(of_message.GetOptions().map_entry)


def _map_value(field: FieldDescriptor) -> FieldDescriptor:
    return field.message_type.fields_by_name["value"]
