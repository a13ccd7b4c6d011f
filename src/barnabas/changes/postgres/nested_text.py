"""Arrays and hstores as PostgreSQL writes them: `{1,NULL,{"a b"}}`, `"a"=>"1", "b"=>NULL`."""

import re
from typing import TypeAlias

Nested: TypeAlias = "list[str | Nested | None]"

_BOUNDS = re.compile(r"(?:\[-?\d+:-?\d+\])+=")
_PLAIN = re.compile(r'[^{},"]+')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PAIR = re.compile(r'"((?:[^"\\]|\\.)*)"=>(?:NULL|"((?:[^"\\]|\\.)*)")(?:,\s*|$)', re.DOTALL)


def array_elements(text: str) -> Nested:
    """The elements of an array as texts, None for NULL; those of several dimensions are lists.

    Lower bounds, as in `[0:1]={a,b}`, are left out.
    """
    bounds = _BOUNDS.match(text)
    at = bounds.end() if bounds else 0
    if text[at : at + 1] != "{":
        raise ValueError(f"{text!r} is not an array")
    stack: list[Nested] = []
    while True:
        if text[at : at + 1] == "{":
            stack.append([])
            at += 1
            if text[at : at + 1] != "}":
                continue
        else:
            at = _element(text, at, stack[-1])
        while text[at : at + 1] == "}":
            at += 1
            ended = stack.pop()
            if not stack:
                if at != len(text):
                    raise ValueError(f"{text!r} is not an array")
                return ended
            stack[-1].append(ended)
        if text[at : at + 1] != ",":
            raise ValueError(f"{text!r} is not an array")
        at += 1


def _element(text: str, at: int, found: Nested) -> int:
    """Add the element that starts here; where it ends."""
    quoted = _QUOTED.match(text, at)
    if quoted is not None:
        found.append(_ESCAPED.sub(r"\1", quoted[1]))
        return quoted.end()
    plain = _PLAIN.match(text, at)
    if plain is None:
        raise ValueError(f"{text!r} is not an array")
    found.append(None if plain[0] == "NULL" else _ESCAPED.sub(r"\1", plain[0]))
    return plain.end()


def hstore_pairs(text: str) -> dict[str, str | None]:
    """The keys and values of an hstore."""
    pairs: dict[str, str | None] = {}
    at = 0
    while at < len(text):
        found = _PAIR.match(text, at)
        if found is None:
            raise ValueError(f"{text!r} is not an hstore")
        value = found[2]
        pairs[_ESCAPED.sub(r"\1", found[1])] = None if value is None else _ESCAPED.sub(r"\1", value)
        at = found.end()
    return pairs
