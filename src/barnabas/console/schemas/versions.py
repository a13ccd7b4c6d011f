"""Versions of a schema, as people read them and compare them."""

import json
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

_MAX_LINES = 5_000
"""Longer texts are shown without a comparison: it takes quadratic time."""


class Line(NamedTuple):
    """A line of each version; None where the other one has more."""

    left: str | None
    right: str | None
    is_same: bool


def readable(kind: str, text: str) -> str:
    """JSON with a line for each value; Protobuf as it is."""
    if kind == "PROTOBUF":
        return text
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def line_differences(left: str, right: str) -> list[Line]:
    """Both texts beside each other, with lines that are the same in one row."""
    lefts, rights = left.splitlines(), right.splitlines()
    if max(len(lefts), len(rights)) > _MAX_LINES:
        return [Line(one, two, one == two) for one, two in zip_longest(lefts, rights)]
    lines: list[Line] = []
    matcher = SequenceMatcher(None, lefts, rights, autojunk=False)
    for kind, left_from, left_to, right_from, right_to in matcher.get_opcodes():
        rows = zip_longest(lefts[left_from:left_to], rights[right_from:right_to])
        lines += [Line(one, two, kind == "equal") for one, two in rows]
    return lines
