"""Converts arguments in a SQL file, which are strings, to the types that a Python function takes.

The function's annotations give the types: `bool` takes true or false, `int` a number, a sequence of
strings a comma-separated list. Anything else stays a string. So a new source or sink needs no code
here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args, get_origin, get_type_hints

from barnabas.errors import InvalidArgument


def argument_values(function: Callable[..., object], given: Mapping[str, str]) -> dict[str, Any]:
    """The arguments by name, converted; raises `InvalidArgument`."""
    hints = get_type_hints(function)
    return {name: _value(name, text, hints.get(name)) for name, text in given.items()}


def _value(name: str, text: str, annotation: object) -> Any:
    kinds = get_args(annotation) or (annotation,)
    if any(get_origin(each) is Sequence for each in (annotation, *kinds)):
        return [each.strip() for each in text.split(",") if each.strip()]
    if bool in kinds:
        if text.lower() not in ("true", "false"):
            raise InvalidArgument(f"{name} is true or false, not {text!r}")
        return text.lower() == "true"
    if int in kinds:
        if not text.isdecimal():
            raise InvalidArgument(f"{name} is a number, not {text!r}")
        return int(text)
    return text
