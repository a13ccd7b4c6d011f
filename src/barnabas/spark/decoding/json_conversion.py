"""Tokens of JSON to values of Spark's types, as `from_json` converts them.

A converter takes the tokens and where a value begins, and returns the value and where the next one
does; it raises `WrongType`. Values are what pyarrow takes: timestamps and dates are numbers.
"""

import base64
import re
from collections.abc import Callable, Sequence
from datetime import tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from struct import pack, unpack
from typing import Any, TypeAlias

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from barnabas.spark.decoding.date_times import days_of, local_micros_of, micros_of
from barnabas.spark.decoding.java_text import double_text, json_string, utf8_text
from barnabas.spark.decoding.json_token import FLOAT, INT, NAME, STRING, WORD, Token

Converted: TypeAlias = tuple[Any, int]
Converter: TypeAlias = Callable[[Sequence[Token], int], Converted]

_INFINITY = float("inf")
_NOT_NUMBERS = {
    "NaN": float("nan"),
    "+INF": _INFINITY,
    "+Infinity": _INFINITY,
    "Infinity": _INFINITY,
    "-INF": -_INFINITY,
    "-Infinity": -_INFINITY,
}
_NULL = Token(WORD, "null")
# Jackson lets a byte be 255 too, which is then -1.
_BOUNDS: dict[type[DataType], tuple[int, int]] = {
    ByteType: (-0x80, 0xFF),
    ShortType: (-0x8000, 0x7FFF),
    IntegerType: (-(1 << 31), (1 << 31) - 1),
    LongType: (-(1 << 63), (1 << 63) - 1),
}
_BIG_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?")
_MAX_SCALE = (1 << 31) - 1
_WIDE = Context(prec=4000, rounding=ROUND_HALF_UP, Emax=10**10, Emin=-(10**10))
_SPACES = r"[\x00-\x20]*"
_DIGIT = "[A-Za-z0-9+/]"
_BASE64 = re.compile(rf"(?:{_SPACES}{_DIGIT}{_DIGIT}(?:{_DIGIT}(?:{_DIGIT}|=)|==))*{_SPACES}")
_BASE64_GROUP = re.compile(r"[A-Za-z0-9+/=]{4}")
_INFINITE_BITS = 0x7F800000
_LONG_DIGITS = 18
_CLOSING = ("}", "]")


class WrongType(Exception):  # noqa: N818 - its name says what is wrong
    """A value is not of the type that the schema wants."""


class UnsupportedType(Exception):  # noqa: N818 - likewise
    """A type that is decoded by Spark only."""


def converter_of(of_type: DataType, zone: tzinfo) -> Converter:
    """What converts values to a type; raises `UnsupportedType`."""
    match of_type:
        case StructType():
            return struct_converter(of_type.fields, zone)
        case ArrayType():
            return _array_converter(converter_of(of_type.elementType, zone))
        case MapType() if isinstance(of_type.keyType, StringType):
            return _map_converter(converter_of(of_type.valueType, zone))
    convert = _scalar(of_type, zone)

    def converter(tokens: Sequence[Token], at: int) -> Converted:
        token = tokens[at]
        return (None if token == _NULL else convert(tokens, at)), end_of(tokens, at)

    return converter


def struct_converter(fields: Sequence[StructField], zone: tzinfo) -> Converter:
    """Objects to dicts that have all fields. Of members with the same name the last counts."""
    converters = {each.name: converter_of(each.dataType, zone) for each in fields}
    nothing = dict.fromkeys(converters)

    def converter(tokens: Sequence[Token], at: int) -> Converted:
        if tokens[at].kind != "{":
            return _null_or_wrong(tokens, at)
        row: dict[str, Any] = dict(nothing)
        at += 1
        while tokens[at].kind == NAME:
            name = tokens[at].text
            convert = converters.get(name)
            if convert is None:
                at = end_of(tokens, at + 1)
            else:
                row[name], at = convert(tokens, at + 1)
        return row, at + 1

    return converter


def end_of(tokens: Sequence[Token], at: int) -> int:
    """Where the value that begins here ends."""
    depth = 0
    while True:
        kind = tokens[at].kind
        depth += (kind in "{[") - (kind in _CLOSING)
        at += 1
        if depth == 0:
            return at


def text_of(tokens: Sequence[Token], at: int) -> str:
    """A value as a string: of a string what it says, of anything else its JSON, written again."""
    if tokens[at].kind == STRING:
        return utf8_text(tokens[at].text)
    parts: list[str] = []
    for token in tokens[at : end_of(tokens, at)]:
        if parts and parts[-1] not in ("{", "[", ":") and token.kind not in _CLOSING:
            parts.append(",")
        match token.kind:
            case "name" | "string":
                parts.append(json_string(token.text))
                if token.kind == NAME:
                    parts.append(":")
            case "int":
                parts.append(str(int(token.text)))
            case "float":
                text = double_text(float(token.text))
                parts.append(f'"{text}"' if text[-1].isalpha() else text)
            case _:
                parts.append(token.text)
    return "".join(parts)


def _array_converter(element: Converter) -> Converter:
    def converter(tokens: Sequence[Token], at: int) -> Converted:
        if tokens[at].kind != "[":
            return _null_or_wrong(tokens, at)
        elements = []
        at += 1
        while tokens[at].kind != "]":
            value, at = element(tokens, at)
            elements.append(value)
        return elements, at + 1

    return converter


def _map_converter(value: Converter) -> Converter:
    def converter(tokens: Sequence[Token], at: int) -> Converted:
        if tokens[at].kind != "{":
            return _null_or_wrong(tokens, at)
        items = []
        at += 1
        while tokens[at].kind == NAME:
            name = utf8_text(tokens[at].text)
            converted, at = value(tokens, at + 1)
            items.append((name, converted))
        return items, at + 1

    return converter


def _null_or_wrong(tokens: Sequence[Token], at: int) -> Converted:
    if tokens[at] != _NULL:
        raise WrongType
    return None, at + 1


def _scalar(of_type: DataType, zone: tzinfo) -> Callable[[Sequence[Token], int], Any]:
    match of_type:
        case StringType() if type(of_type) is StringType and of_type.isUTF8BinaryCollation():
            return text_of
        case ByteType() | ShortType() | IntegerType() | LongType():
            least, greatest = _BOUNDS[type(of_type)]
            return lambda tokens, at: _int(tokens[at], least, greatest)
        case DecimalType():
            return lambda tokens, at: _decimal(tokens[at], of_type.precision, of_type.scale)
        case TimestampType():
            return lambda tokens, at: _timestamp(tokens[at], zone)
    simple = _SIMPLE.get(type(of_type))
    if simple is None:
        raise UnsupportedType(of_type.simpleString())
    return lambda tokens, at: simple(tokens[at])


def _boolean(token: Token) -> bool:
    if token.kind != WORD:
        raise WrongType
    return token.text == "true"


def _int(token: Token, least: int, greatest: int) -> int:
    if token.kind != INT:
        raise WrongType
    number = int(token.text)
    if not least <= number <= greatest:
        raise WrongType
    return number - 0x100 if greatest == 0xFF and number > 0x7F else number


def _double(token: Token) -> float:
    if token.kind == INT and len(token.text) <= _LONG_DIGITS:
        return float(int(token.text))  # of -0 that is 0
    if token.kind in (INT, FLOAT):
        return float(token.text)
    if token.kind == STRING and token.text in _NOT_NUMBERS:
        return _NOT_NUMBERS[token.text]
    raise WrongType


def _float(token: Token) -> float:
    """The nearest number of 32 bits: not always the nearest to the nearest one of 64 bits."""
    double = _double(token)
    is_long_int = token.kind == INT and len(token.text.lstrip("-")) > _LONG_DIGITS
    if token.kind == STRING or is_long_int or double == 0 or double - double != 0:
        return _narrow(double)
    return _nearest_float(Fraction(token.text), double)


def _nearest_float(exact: Fraction, double: float) -> float:
    narrow = _narrow(double)
    if narrow - narrow != 0 or Fraction(narrow) == exact:
        return narrow
    (bits,) = unpack("<i", pack("<f", narrow))
    adjacent = [other for other in (bits - 1, bits + 1) if 0 <= other & 0x7FFFFFFF < _INFINITE_BITS]
    around: list[float] = [narrow, *(unpack("<f", pack("<i", other))[0] for other in adjacent)]
    # Of two that are as near, the even one.
    return min(
        around,
        key=lambda each: (abs(Fraction(each) - exact), unpack("<i", pack("<f", each))[0] & 1),
    )


def _narrow(double: float) -> float:
    try:
        (narrow,) = unpack("<f", pack("<f", double))
    except OverflowError:
        return _INFINITY if double > 0 else -_INFINITY
    return float(narrow)


def _decimal(token: Token, precision: int, scale: int) -> Decimal:
    match token.kind:
        case "int" | "float":
            text = token.text
        case "string" if token.text:
            text = token.text.replace(",", "")
        case _:
            raise WrongType
    found = _BIG_DECIMAL.fullmatch(text)
    if found is None or abs(int(found[1] or 0)) > _MAX_SCALE:
        raise WrongType
    number = _WIDE.create_decimal(text)
    if number.is_zero():
        return Decimal(0).scaleb(-scale)
    if number.adjusted() >= precision - scale + 1:  # too large, whatever it is rounded to
        raise WrongType
    if number.adjusted() < -scale - 1:
        return Decimal(0).scaleb(-scale)
    rounded = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _WIDE)
    if len(rounded.as_tuple().digits) > precision:
        raise WrongType
    return rounded


def _timestamp(token: Token, zone: tzinfo) -> int:
    if token.kind == INT:  # seconds
        micros = _int(token, *_BOUNDS[LongType]) * 1_000_000
        return (micros + (1 << 63)) % (1 << 64) - (1 << 63)  # as Java's multiplication ends
    found = micros_of(utf8_text(token.text), zone) if token.kind == STRING else None
    if found is None:
        raise WrongType
    return found


def _timestamp_ntz(token: Token) -> int:
    found = local_micros_of(utf8_text(token.text)) if token.kind == STRING else None
    if found is None:
        raise WrongType
    return found


def _date(token: Token) -> int:
    found = days_of(utf8_text(token.text)) if token.kind == STRING else None
    if found is None:
        raise WrongType
    return found


def _binary(token: Token) -> bytes:
    if token.kind != STRING or _BASE64.fullmatch(token.text) is None:
        raise WrongType
    return b"".join(map(base64.b64decode, _BASE64_GROUP.findall(token.text)))


_SIMPLE: dict[type[DataType], Callable[[Token], Any]] = {
    BooleanType: _boolean,
    FloatType: _float,
    DoubleType: _double,
    TimestampNTZType: _timestamp_ntz,
    DateType: _date,
    BinaryType: _binary,
}
