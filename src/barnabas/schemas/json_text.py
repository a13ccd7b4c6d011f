"""JSON text as Jackson writes it, so that texts are equal to those of Confluent's registry."""

import json
import math

from barnabas.schemas.schema import Json


def compact(value: Json) -> str:
    """Without spaces, keys in the order they came, letters beyond ASCII as they are."""
    if isinstance(value, dict):
        inner = ",".join(f"{_text(key)}:{compact(each)}" for key, each in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{','.join(map(compact, value))}]"
    if isinstance(value, float):
        return _double(value)
    return _text(value)


def ordered(value: Json) -> Json:
    """The same value with the keys of all objects sorted."""
    if isinstance(value, dict):
        return {key: ordered(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [ordered(each) for each in value]
    return value


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _double(value: float) -> str:
    """Java's Double.toString: 1.0E10 rather than Python's 10000000000.0."""
    if not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else ('"Infinity"' if value > 0 else '"-Infinity"')
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(value)
        return text if "e" not in text else f"{value:f}"
    digits, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        digits, _, exponent = _scientific(value).partition("e")
    if "." not in digits:
        digits += ".0"
    return f"{digits}E{int(exponent)}"


def _scientific(value: float) -> str:
    """With as few digits as give the same number again."""
    for precision in range(17):
        text = f"{value:.{precision}e}"
        if float(text) == value:
            return text
    return f"{value:.17e}"
