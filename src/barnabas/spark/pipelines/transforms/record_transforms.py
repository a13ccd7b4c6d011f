"""Transforms of the record: where it goes, its key, times, and which are left out."""

import re
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import DateType, LongType, StringType, StructField, TimestampType

from barnabas.spark.pipelines.transforms.field_transforms import Apply, record_part
from barnabas.spark.pipelines.transforms.flowing_rows import KEY, TOPIC, FlowingRows, named
from barnabas.spark.pipelines.transforms.java_regex import java_pattern
from barnabas.spark.pipelines.transforms.transform_settings import TransformSettings

_TARGETS: Final = ("string", "unix", "Date", "Timestamp")
_PRECISIONS: Final = {"seconds": 1, "milliseconds": 1_000, "microseconds": 1_000_000}


def regex_router(settings: TransformSettings) -> Apply:
    """`regex` that matches the whole topic, and `replacement`."""
    pattern, replacement = java_pattern(settings, "regex"), settings.text("replacement")

    def apply(flowing: FlowingRows) -> FlowingRows:
        topic = flowing.topic_column
        whole = f"^(?:{pattern})$"
        routed = F.regexp_replace(topic, whole, replacement)
        return flowing.having(TOPIC, F.when(topic.rlike(whole), routed).otherwise(topic))

    return apply


def timestamp_router(settings: TransformSettings) -> Apply:
    """`topic.format` with `${topic}` and `${timestamp}`, in `timestamp.format`, in UTC."""
    form = settings.text("topic.format", "${topic}-${timestamp}")
    time_format = settings.text("timestamp.format", "yyyyMMdd")

    def apply(flowing: FlowingRows) -> FlowingRows:
        time = record_part(flowing, "timestamp")
        text = F.date_format(F.to_utc_timestamp(time, F.current_timezone()), time_format)
        parts: list[Column] = []
        for part in re.split(r"(\$\{topic\}|\$\{timestamp\})", form):
            known = {"${topic}": flowing.topic_column, "${timestamp}": text}
            parts.append(known.get(part, F.lit(part)))
        return flowing.having(TOPIC, F.concat(*parts))

    return apply


def value_to_key(settings: TransformSettings) -> Apply:
    """The key becomes a struct of `fields` of the value."""
    fields = settings.names("fields")
    if not fields:
        raise settings.wrong("fields", "name fields")

    def apply(flowing: FlowingRows) -> FlowingRows:
        for name in fields:
            flowing.field(name)
        return flowing.having(KEY, F.struct(*(named(each) for each in fields)))

    return apply


def timestamp_converter(settings: TransformSettings) -> Apply:
    """`field` becomes a `target.type`: string, unix, Date or Timestamp."""
    name, target = settings.text("field"), settings.text("target.type")
    form = settings.optional("format")
    precision = settings.text("unix.precision", "milliseconds")
    if target not in _TARGETS:
        raise settings.wrong("target.type", f"unknown type {target!r}; use {', '.join(_TARGETS)}")
    if precision not in _PRECISIONS:
        raise settings.wrong("unix.precision", f"use {', '.join(_PRECISIONS)}, not {precision!r}")
    if target == "string" and form is None:
        raise settings.wrong("format", "a string needs a format, as yyyy-MM-dd HH:mm:ss")
    times = _Times(settings, form, 1_000_000 // _PRECISIONS[precision])

    def apply(flowing: FlowingRows) -> FlowingRows:
        time = times.read(flowing.field(name))
        converted = times.written(time, target).alias(name)
        return flowing.of_fields(
            [converted if each.name == name else named(each.name) for each in flowing.fields]
        )

    return apply


@dataclass(frozen=True)
class _Times:
    """Times as texts in a format, in UTC, and as numbers of some microseconds."""

    settings: TransformSettings
    format: str | None
    unit_us: int

    def read(self, field: StructField) -> Column:
        column, of_type = named(field.name), field.dataType
        if isinstance(of_type, TimestampType):
            return column
        if isinstance(of_type, DateType):
            return _from_utc(column.cast("timestamp"))
        if isinstance(of_type, StringType):
            if self.format is None:
                raise self.settings.wrong("format", f"{field.name} is a string: say its format")
            return _from_utc(F.to_timestamp(column, self.format))
        if isinstance(of_type, LongType):
            return F.timestamp_micros(column * F.lit(self.unit_us))
        raise self.settings.wrong("field", f"{field.name} is a {of_type.simpleString()}, no time")

    def written(self, time: Column, target: str) -> Column:
        if target == "Timestamp":
            return time
        if target == "unix":
            return F.floor(F.unix_micros(time) / F.lit(self.unit_us)).cast("bigint")
        in_utc = F.to_utc_timestamp(time, F.current_timezone())
        if target == "Date":
            return in_utc.cast("date")
        assert self.format is not None
        return F.date_format(in_utc, self.format)


def _from_utc(time: Column) -> Column:
    """A time that was parsed in the session's zone, and was meant in UTC."""
    return F.from_utc_timestamp(time, F.current_timezone())
