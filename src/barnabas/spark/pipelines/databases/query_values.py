"""Values of a driver as those of Spark's types, and as JSON in positions."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import types as t

from barnabas.errors import InvalidArgument

Convert = Callable[[Any], Any]


class NanoText(str):
    """A time with nanoseconds, as text: as a position it has to be exact."""

    __slots__ = ()


def _timestamp(value: Any) -> datetime:
    at = datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(at, datetime):
        raise TypeError(f"a {type(value).__name__} is no time")
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def _local_timestamp(value: Any) -> datetime:
    at = datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(at, datetime):
        raise TypeError(f"a {type(value).__name__} is no time")
    return at.astimezone(UTC).replace(tzinfo=None) if at.tzinfo is not None else at


def _date(value: Any) -> date:
    day = date.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(day, date):
        raise TypeError(f"a {type(value).__name__} is no date")
    return day.date() if isinstance(day, datetime) else day


def _text(value: Any) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value)
    return value.decode() if isinstance(value, bytes) else str(value)


def _boolean(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError(f"{value!r} is neither true nor false")
    return bool(value)


def _decimal(value: Any) -> Decimal:
    return Decimal(str(value))


_OF_TYPE: dict[type[t.DataType], Convert] = {
    t.BinaryType: bytes,
    t.BooleanType: _boolean,
    t.ByteType: int,
    t.DateType: _date,
    t.DecimalType: _decimal,
    t.DoubleType: float,
    t.FloatType: float,
    t.IntegerType: int,
    t.LongType: int,
    t.ShortType: int,
    t.StringType: _text,
    t.TimestampNTZType: _local_timestamp,
    t.TimestampType: _timestamp,
}


def converters(schema: t.StructType) -> list[Convert]:
    """For each column, what makes Spark's value of the driver's; arrays stay as they are."""
    found = []
    for field in schema.fields:
        convert = _OF_TYPE.get(type(field.dataType))
        if convert is None and not isinstance(field.dataType, t.ArrayType):
            raise InvalidArgument(
                f"column {field.name}: a query gives no {field.dataType.simpleString()}; read it "
                "as STRING"
            )
        found.append(convert or (lambda value: value))
    return found


# -- positions ------------------------------------------------------------------------------------

_TAGS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "nanoseconds": (NanoText, str, NanoText),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "decimal": (Decimal, str, Decimal),
}


def to_json(value: Any) -> Any:
    """A value of a driver as JSON."""
    for tag, (of_type, write, _) in _TAGS.items():
        if isinstance(value, of_type):
            return {tag: write(value)}
    if isinstance(value, int | str | float):
        return value
    raise InvalidArgument(
        f"a {type(value).__name__} can't be a position: use a column of numbers, times or text"
    )


def from_json(value: Any) -> Any:
    """The value that `to_json` wrote."""
    if not isinstance(value, dict):
        return value
    ((tag, text),) = value.items()
    return _TAGS[tag][2](text)
