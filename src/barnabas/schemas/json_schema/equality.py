"""Whether two texts of JSON mean the same. For Python, true is 1 and false is 0."""

from barnabas.schemas.schema import Json


def same(one: Json, other: Json) -> bool:
    """Whether they are equal; numbers are by value, as 1 and 1.0."""
    return one == other and _has_same_kinds(one, other)


def _has_same_kinds(one: Json, other: Json) -> bool:
    """Of what is equal for Python."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_has_same_kinds(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return all(map(_has_same_kinds, one, other))
    return isinstance(one, bool) is isinstance(other, bool)
