"""Transforms of fields, by Connect's names."""

import re
from collections.abc import Callable
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.transforms.flowing_rows import KEY, FlowingRows, named
from barnabas.spark.pipelines.transforms.transform_settings import TransformSettings

Apply = Callable[[FlowingRows], FlowingRows]

_NUMBERS = (ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, DecimalType)
_REPLACEABLE = (StringType, *_NUMBERS)
_CASTS: Final = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float32": "float",
    "float64": "double",
    "boolean": "boolean",
    "string": "string",
}


def replace_field(settings: TransformSettings) -> Apply:
    """`include`, `exclude`, `renames`."""
    include = settings.names("include") or settings.names("whitelist")
    exclude = settings.names("exclude") or settings.names("blacklist")
    renames = settings.pairs("renames")

    def apply(flowing: FlowingRows) -> FlowingRows:
        kept = [
            each.name
            for each in flowing.fields
            if each.name not in exclude and (not include or each.name in include)
        ]
        if not kept:
            raise InvalidArgument("ReplaceField leaves no field")
        return flowing.of_fields([named(each).alias(renames.get(each, each)) for each in kept])

    return apply


def mask_field(settings: TransformSettings) -> Apply:
    """`fields` become empty (0, false, ''), or `replacement`."""
    fields, replacement = settings.names("fields"), settings.optional("replacement")
    if not fields:
        raise settings.wrong("fields", "name fields")

    def masked(field: StructField) -> Column:
        column, of_type = named(field.name), field.dataType
        if replacement is not None:
            if not isinstance(of_type, _REPLACEABLE):
                raise settings.wrong("replacement", f"{field.name} is neither text nor a number")
            empty = F.lit(replacement)
        else:
            empty = _empty(field)
        return F.when(column.isNotNull(), empty.cast(of_type)).alias(field.name)

    def apply(flowing: FlowingRows) -> FlowingRows:
        for name in fields:
            flowing.field(name)
        return flowing.of_fields(
            [masked(each) if each.name in fields else named(each.name) for each in flowing.fields]
        )

    return apply


def _empty(field: StructField) -> Column:
    of_type = field.dataType
    if isinstance(of_type, StringType):
        return F.lit("")
    if isinstance(of_type, _NUMBERS):
        return F.lit(0)
    if isinstance(of_type, BooleanType):
        return F.lit(False)
    if isinstance(of_type, TimestampType | DateType):
        return F.timestamp_seconds(F.lit(0))
    raise InvalidArgument(f"MaskField can't mask {field.name}, a {of_type.simpleString()}")


def cast(settings: TransformSettings) -> Apply:
    """`spec`: `a:int32,b:string`."""
    wanted = settings.pairs("spec")
    if not wanted:
        raise settings.wrong("spec", "write fields and types, as a:int32,b:string")
    for name, of_type in wanted.items():
        if of_type not in _CASTS:
            raise settings.wrong(
                "spec", f"{name}: unknown type {of_type!r}; use {', '.join(_CASTS)}"
            )

    def apply(flowing: FlowingRows) -> FlowingRows:
        for name in wanted:
            flowing.field(name)
        return flowing.of_fields(
            [
                named(each.name).cast(_CASTS[wanted[each.name]]).alias(each.name)
                if each.name in wanted
                else named(each.name)
                for each in flowing.fields
            ]
        )

    return apply


def flatten(settings: TransformSettings) -> Apply:
    """Fields of structs become fields, with `delimiter` in their names."""
    delimiter = settings.text("delimiter", ".")

    def leaves(field: StructField, column: Column, name: str) -> list[Column]:
        if not isinstance(field.dataType, StructType):
            return [column.alias(name)]
        return [
            leaf
            for each in field.dataType.fields
            for leaf in leaves(each, column[each.name], f"{name}{delimiter}{each.name}")
        ]

    def apply(flowing: FlowingRows) -> FlowingRows:
        return flowing.of_fields(
            [leaf for each in flowing.fields for leaf in leaves(each, named(each.name), each.name)]
        )

    return apply


def extract_field(settings: TransformSettings) -> Apply:
    """The value becomes one of its fields: its fields if it is a struct, else `value`."""
    name = settings.text("field")

    def apply(flowing: FlowingRows) -> FlowingRows:
        field = flowing.field(name)
        if isinstance(field.dataType, StructType):
            names = field.dataType.names
            return flowing.of_fields([named(name)[each].alias(each) for each in names])
        return flowing.of_fields([named(name).alias("value")])

    return apply


def extract_key_field(settings: TransformSettings) -> Apply:
    """The key becomes one of its fields."""
    name = settings.text("field")

    def apply(flowing: FlowingRows) -> FlowingRows:
        of_type: DataType | None = None
        if KEY in flowing.rows.columns:
            of_type = flowing.rows.schema[KEY].dataType
        if not isinstance(of_type, StructType) or name not in of_type.names:
            raise settings.wrong("field", f"the key has no field {name!r}: use ValueToKey before")
        return flowing.having(KEY, F.col(KEY)[name])

    return apply


def hoist_field(settings: TransformSettings) -> Apply:
    """The value becomes a struct in one field."""
    name = settings.text("field")

    def apply(flowing: FlowingRows) -> FlowingRows:
        fields = [named(each.name) for each in flowing.fields]
        return flowing.of_fields([F.struct(*fields).alias(name)])

    return apply


def insert_field(settings: TransformSettings) -> Apply:
    """Fields from the record: `static.field` with `static.value`, `topic.field`, ..."""
    static, value = settings.optional("static.field"), settings.optional("static.value")
    topic = settings.optional("topic.field")
    of_record = {
        part: field
        for part in ("partition", "offset", "timestamp")
        if (field := settings.optional(f"{part}.field")) is not None
    }
    if (static is None) != (value is None):
        raise settings.wrong("static.field", "set static.field and static.value together")
    if static is None and topic is None and not of_record:
        raise settings.wrong("static.field", "say which field to insert")

    def apply(flowing: FlowingRows) -> FlowingRows:
        columns = [named(each.name) for each in flowing.fields]
        if static is not None:
            columns.append(F.lit(value).alias(_plain(static)))
        if topic is not None:
            columns.append(flowing.topic_column.alias(_plain(topic)))
        for part, field in of_record.items():
            columns.append(record_part(flowing, part).alias(_plain(field)))
        return flowing.of_fields(columns)

    return apply


def record_part(flowing: FlowingRows, part: str) -> Column:
    """A column of the record, which the source has to give."""
    for each in flowing.rows.schema.fields:
        of_type = each.dataType
        if each.name == "record" and isinstance(of_type, StructType) and part in of_type.names:
            return F.col("record")[part]
    raise InvalidArgument(
        f'the rows do not have the {part} of their record: from_topic(…, record="{part}")'
    )


def _plain(name: str) -> str:
    """Connect's marks for required (!) and optional (?) fields mean nothing here."""
    return re.sub("[!?]$", "", name)
