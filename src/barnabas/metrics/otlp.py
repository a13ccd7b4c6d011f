"""Metrics in OpenTelemetry's protobuf format, as clients push them; only what is shown is read.

    MetricsData     1 ResourceMetrics*
    ResourceMetrics 2 ScopeMetrics*
    ScopeMetrics    2 Metric*
    Metric          1 name, 5 Gauge, 7 Sum
    Gauge           1 NumberDataPoint*
    Sum             1 NumberDataPoint*, 2 aggregation_temporality
    NumberDataPoint 4 as_double, 6 as_int (eight bytes each), 7 KeyValue*
    KeyValue        1 key, 2 AnyValue: 1 string, 2 bool, 3 int, 4 double

Histograms and summaries are passed over: no client of Kafka has any. Senders are not trusted:
lengths are checked, texts are cut, and at most so many points and fields are read.
"""

import struct
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

_DOUBLE = struct.Struct("<d")
_LONG = struct.Struct("<q")
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_MAX_SHIFT = 63
_DELTA = 1
_FIELDS_OF_A_POINT = 20
"""So many fields are read for each point that may be: clients have less of them."""
_MAX_TEXT = 256
"""Longer texts are cut: no metric is shown under such a name."""

Field = tuple[int, "int | memoryview"]
"""Its number, and its value: a varint, or bytes."""


class InvalidOtlp(ValueError):  # noqa: N818 - says what the payload is
    """A payload that is none."""


class _TooManyFieldsError(Exception):
    """There is more than a client has to say."""


class _Budget:
    """How many fields may still be read: a small payload can have millions of empty ones."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


class PointKind(Enum):
    GAUGE = "gauge"
    DELTA = "delta"
    """What has come since the last push."""
    CUMULATIVE = "cumulative"


class Point(NamedTuple):
    name: str
    kind: PointKind
    attributes: tuple[tuple[str, str], ...]
    value: float


def points_of(data: bytes | bytearray | memoryview, max_points: int) -> tuple[list[Point], bool]:
    """The first points, and whether there are more. Raises `InvalidOtlp`."""
    found: list[Point] = []
    try:
        for point in _points(memoryview(data), _Budget(_FIELDS_OF_A_POINT * max_points)):
            if len(found) == max_points:
                return found, True
            found.append(point)
    except _TooManyFieldsError:
        return found, True
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise InvalidOtlp(f"malformed metrics: {error}") from error
    return found, False


def _points(data: memoryview, budget: _Budget) -> Iterator[Point]:
    for resource in _parts(data, 1, budget):
        for scope in _parts(resource, 2, budget):
            for metric in _parts(scope, 2, budget):
                yield from _points_of_metric(metric, budget)


def _points_of_metric(metric: memoryview, budget: _Budget) -> Iterator[Point]:
    name = ""
    for number, value in _fields(metric, budget):
        if isinstance(value, int):
            continue
        if number == 1:
            name = _text(value)
        elif number in (5, 7):
            kind = PointKind.GAUGE if number == 5 else _temporality(value, budget)
            for point in _parts(value, 1, budget):
                yield _point(name, kind, point, budget)


def _temporality(total: memoryview, budget: _Budget) -> PointKind:
    for number, value in _fields(total, budget):
        if number == 2 and value == _DELTA:
            return PointKind.DELTA
    return PointKind.CUMULATIVE


def _point(name: str, kind: PointKind, point: memoryview, budget: _Budget) -> Point:
    value = 0.0
    attributes = []
    for number, field in _fields(point, budget):
        if isinstance(field, int):
            continue
        if number == 4:
            (value,) = _DOUBLE.unpack(field)
        elif number == 6:
            value = float(_LONG.unpack(field)[0])
        elif number == 7:
            attributes.append(_attribute(field, budget))
    return Point(name, kind, tuple(sorted(attributes)), value)


def _attribute(data: memoryview, budget: _Budget) -> tuple[str, str]:
    key = text = ""
    for number, field in _fields(data, budget):
        if isinstance(field, int):
            continue
        if number == 1:
            key = _text(field)
        elif number == 2:
            text = _any_value(field, budget)
    return key, text


def _any_value(data: memoryview, budget: _Budget) -> str:
    for number, field in _fields(data, budget):
        if isinstance(field, int):
            return str(bool(field)).lower() if number == 2 else str(field)
        if number == 1:
            return _text(field)
        if number == 4:
            return f"{_DOUBLE.unpack(field)[0]:g}"
    return ""


def _text(data: memoryview) -> str:
    if len(data) > _MAX_TEXT:
        return str(data[:_MAX_TEXT], "utf-8", "replace")
    return str(data, "utf-8")


def _parts(data: memoryview, wanted: int, budget: _Budget) -> Iterator[memoryview]:
    for number, value in _fields(data, budget):
        if number == wanted and not isinstance(value, int):
            yield value


def _fields(data: memoryview, budget: _Budget) -> Iterator[Field]:
    at, end = 0, len(data)
    while at < end:
        budget.left -= 1
        if budget.left < 0:
            raise _TooManyFieldsError
        key, at = _varint(data, at)
        wire_type = key & 7
        if wire_type == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if wire_type == _BYTES:
            size, at = _varint(data, at)
        elif wire_type in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if wire_type == _EIGHT_BYTES else 4
        else:
            raise InvalidOtlp(f"malformed metrics: wire type {wire_type}")
        if size > end - at:
            raise InvalidOtlp("malformed metrics: cut off")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    byte = data[at]
    at += 1
    if byte < 0x80:
        return byte, at
    value, shift = byte & 0x7F, 7
    while shift <= _MAX_SHIFT:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise InvalidOtlp("malformed metrics: a number has too many bytes")
