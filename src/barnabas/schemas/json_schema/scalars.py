"""The rules of strings, numbers and sizes: whether a bound follows from another one."""

from collections.abc import Iterable
from fractions import Fraction

from barnabas.schemas.incompatibility import Incompatibility
from barnabas.schemas.json_schema.place import JsonPlace
from barnabas.schemas.schema import Json, JsonObject

SIZES = {
    "string": ("maxLength", "minLength"),
    "array": ("maxItems", "minItems"),
    "object": ("maxProperties", "minProperties"),
}
_WORDS = {
    "maxLength": "MAX_LENGTH",
    "minLength": "MIN_LENGTH",
    "maxItems": "MAX_ITEMS",
    "minItems": "MIN_ITEMS",
    "maxProperties": "MAX_PROPERTIES",
    "minProperties": "MIN_PROPERTIES",
    "maximum": "MAXIMUM",
    "minimum": "MINIMUM",
    "exclusiveMaximum": "EXCLUSIVE_MAXIMUM",
    "exclusiveMinimum": "EXCLUSIVE_MINIMUM",
}
Bound = tuple[Fraction, bool]
"""A limit, and whether the limit itself is excluded."""


def size_findings(
    key: str, reader: JsonObject, writers: Iterable[JsonObject], place: JsonPlace
) -> list[Incompatibility]:
    limit = number(reader, key)
    if limit is None or (key.startswith("min") and limit == 0):
        return []
    found = [each for each in (number(writer, key) for writer in writers) if each is not None]
    if key.startswith("max"):
        return [] if found and min(found) <= limit else [_bound(key, limit, found, place)]
    return [] if found and max(found) >= limit else [_bound(key, limit, found, place)]


def number_findings(
    reader: JsonObject, writers: list[JsonObject], place: JsonPlace
) -> list[Incompatibility]:
    found = []
    for sign, keys in ((1, ("maximum", "exclusiveMaximum")), (-1, ("minimum", "exclusiveMinimum"))):
        held = [each for writer in writers for each in _bounds(writer, keys, sign)]
        for limit, exclusive in _bounds(reader, keys, sign):
            if not any(_implies(each, (limit, exclusive)) for each in held):
                key = keys[1] if exclusive else keys[0]
                same = [value * sign for value, without in held if without == exclusive]
                found.append(_bound(key, limit * sign, same, place))
    return found + _multiple_findings(reader, writers, place)


def _implies(held: Bound, wanted: Bound) -> bool:
    """Whether all numbers below one upper bound are below another one."""
    return held[0] < wanted[0] or (held[0] == wanted[0] and (held[1] or not wanted[1]))


def _bounds(schema: JsonObject, keys: tuple[str, str], sign: int) -> list[Bound]:
    """Upper bounds; lower ones with their sign turned. In draft 4 the second key is a boolean."""
    inclusive, exclusive = keys
    found = []
    limit = number(schema, inclusive)
    if limit is not None:
        found.append((limit * sign, schema.get(exclusive) is True))
    strict = number(schema, exclusive)
    if strict is not None:
        found.append((strict * sign, True))
    return found


def _multiple_findings(
    reader: JsonObject, writers: list[JsonObject], place: JsonPlace
) -> list[Incompatibility]:
    wanted = number(reader, "multipleOf")
    if wanted is None:
        return []
    held = [
        each for each in (number(writer, "multipleOf") for writer in writers) if each is not None
    ]
    if any(writer.get("type") == "integer" for writer in writers):
        held.append(Fraction(1))
    if any(each % wanted == 0 for each in held):
        return []
    stated = [each for each in held if any(number(one, "multipleOf") == each for one in writers)]
    kind = "ADDED"
    if stated:
        kind = "EXPANDED" if any(wanted % each == 0 for each in stated) else "CHANGED"
    old = text(stated[0]) if stated else None
    message = f"{place.named} has to be a multiple of {text(wanted)}, and {_was(old)}"
    inner = place.keyword("multipleOf")
    return [inner.found(f"MULTIPLE_OF_{kind}", message, old, text(wanted))]


def pattern_findings(
    reader: JsonObject, writers: Iterable[JsonObject], place: JsonPlace
) -> list[Incompatibility]:
    wanted = reader.get("pattern")
    if not isinstance(wanted, str):
        return []
    held = [each for each in (writer.get("pattern") for writer in writers) if isinstance(each, str)]
    if wanted in held:
        return []
    kind = "PATTERN_CHANGED" if held else "PATTERN_ADDED"
    old = held[0] if held else None
    message = f"{place.named} has to match {wanted!r}, and {_was(old)}"
    return [place.keyword("pattern").found(kind, message, old, wanted)]


def _bound(key: str, limit: Fraction, held: list[Fraction], place: JsonPlace) -> Incompatibility:
    at_most = key.lower().find("max") >= 0
    tightest = (min(held) if at_most else max(held)) if held else None
    change = ("DECREASED" if at_most else "INCREASED") if tightest is not None else "ADDED"
    old = text(tightest) if tightest is not None else None
    message = f"{place.named} has {key} {text(limit)}, and {_was(old)}"
    return place.keyword(key).found(f"{_WORDS[key]}_{change}", message, old, text(limit))


def _was(old: str | None) -> str:
    return f"it was {old} when values were written" if old else "values were written without that"


def number(schema: JsonObject, key: str) -> Fraction | None:
    found: Json = schema.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return Fraction(str(found))


def text(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else str(float(value))
