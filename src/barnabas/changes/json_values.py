"""Values as JSON, in the representations that Debezium has for all databases.

JSON has no NaN and no infinities: they are the strings `NaN`, `Infinity`, `-Infinity`.
"""

import base64
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Literal, TypeAlias

Converter: TypeAlias = Callable[[str], str]
"""From the text of a value to its JSON; a `ValueError` if the text is no value of the type."""

DecimalMode = Literal["precise", "double", "string", "plain"]
TimeMode = Literal[
    "adaptive", "adaptive_time_microseconds", "connect", "microseconds", "isostring", "plain"
]
BinaryMode = Literal["bytes", "base64", "base64-url-safe", "hex"]

_SHORT = 1_000
"""Python turns texts of so many digits into integers; of more than 4,300, it does not."""

quoted: Converter = json.encoder.encode_basestring
"""A text as a JSON string."""

BINARY: dict[BinaryMode, Callable[[bytes], str]] = {
    "bytes": lambda found: f'"{base64.b64encode(found).decode()}"',  # as Connect's JSON has bytes
    "base64": lambda found: f'"{base64.b64encode(found).decode()}"',
    "base64-url-safe": lambda found: f'"{base64.urlsafe_b64encode(found).decode()}"',
    "hex": lambda found: f'"{found.hex()}"',
}


def decimal_json(text: str, scale: int | None, mode: DecimalMode) -> str:
    """A decimal number; `scale` is None if the type does not bound its digits."""
    if text in ("NaN", "Infinity", "-Infinity"):
        return f'"{text}"'
    if mode == "precise" and scale is not None and len(text) < _SHORT:
        before, _, after = text.partition(".")
        if len(after) == scale:
            return f'"{_two_complement(int(before + after))}"'
    number = Decimal(text)
    if mode == "plain":
        return text
    if mode == "string":
        return f'"{text}"'
    if mode == "double":
        return double_json(float(number))
    if scale is not None:
        return f'"{_unscaled(number, scale)}"'
    digits = max(-int(number.as_tuple().exponent), 0)
    return f'{{"scale":{digits},"value":"{_unscaled(number, digits)}"}}'


def double_json(number: float) -> str:
    """A floating-point number."""
    return json.dumps(number) if number - number == 0 else f'"{number}"'


def _unscaled(number: Decimal, scale: int) -> str:
    """As Connect writes a decimal: without its point, in two's complement."""
    sign, digits, exponent = number.as_tuple()
    shift = int(exponent) + scale
    whole = int(Decimal((0, digits, 0)))  # not from a text: Python bounds the digits of those
    whole = whole * 10**shift if shift >= 0 else whole // 10**-shift
    return _two_complement(-whole if sign else whole)


def _two_complement(whole: int) -> str:
    size = (~whole if whole < 0 else whole).bit_length() // 8 + 1
    return base64.b64encode(whole.to_bytes(size, "big", signed=True)).decode()
