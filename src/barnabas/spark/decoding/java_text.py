"""Texts as Java writes them, where that differs from Python."""

import math
import re

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BEYOND = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")
_SCIENTIFIC_FROM = 1e7
_SCIENTIFIC_BELOW = 1e-3
_SHORT_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPES = {
    **{code: f"\\u{code:04X}" for code in range(0x20)},
    **{ord(char): text for char, text in _SHORT_ESCAPES.items()},
    ord('"'): '\\"',
    ord("\\"): "\\\\",
}


def joined_surrogates(text: str) -> str:
    """Halves of a character that stand side by side, as that character."""
    return _PAIR.sub(lambda pair: _character(pair[0]), text)


def utf8_text(text: str) -> str:
    """As Java encodes it: a single half of a character becomes a question mark."""
    return _SURROGATE.sub("?", joined_surrogates(text))


def json_string(text: str) -> str:
    """A string of JSON, as Jackson writes it: with characters beyond 16 bits as two escapes."""
    return '"' + _BEYOND.sub(_escapes, text.translate(_ESCAPES)) + '"'


def double_text(value: float) -> str:
    """As `Double.toString` writes it, since Java 19: the shortest text that reads as the same."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign = "-" if value < 0 else ""
    digits, exponent = _shortest(abs(value))
    if _SCIENTIFIC_BELOW <= abs(value) < _SCIENTIFIC_FROM:
        if exponent < 0:
            return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
        whole = digits[: exponent + 1].ljust(exponent + 1, "0")
        return f"{sign}{whole}.{digits[exponent + 1 :] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _shortest(value: float) -> tuple[str, int]:
    """Digits without zeros at their end, and the exponent of the first."""
    text = repr(value)
    mantissa, _, exponent = f"{value:.{_precision(text)}e}".partition("e")
    digits = mantissa.replace(".", "").rstrip("0") or "0"
    return digits, int(exponent)


def _precision(text: str) -> int:
    """Digits behind the first that are needed.

    Java takes the nearest of all texts of two digits where one digit would do: 4.9E-324.
    """
    digits = text.partition("e")[0].replace(".", "").strip("0")
    return max(len(digits) - 1, 1)


def _escapes(character: re.Match[str]) -> str:
    halves = character[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{halves[at : at + 2].hex().upper()}" for at in range(0, len(halves), 2))


def _character(pair: str) -> str:
    return chr(0x10000 + ((ord(pair[0]) - 0xD800) << 10) + (ord(pair[1]) - 0xDC00))
