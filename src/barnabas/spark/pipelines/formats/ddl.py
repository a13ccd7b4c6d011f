"""Finds errors in schemas without Spark, whose parser is in the JVM.

Only certain errors are found: a missing comma, a misspelled type. The rest is left to Spark.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches

_COMPLETE = (
    "BIGINT", "BINARY", "BOOLEAN", "BYTE", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INT", "INTEGER",
    "LONG", "SHORT", "SMALLINT", "STRING", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TINYINT",
)  # fmt: skip
"""Types that nothing but the words below can follow."""
_TYPES = (
    *_COMPLETE, "ARRAY", "CHAR", "DEC", "INTERVAL", "MAP", "NUMERIC", "REAL", "STRUCT", "TIME",
    "VARCHAR", "VARIANT", "VOID",
)  # fmt: skip
_MAY_FOLLOW = {"NOT", "NULL", "COMMENT", "COLLATE", "DEFAULT", "GENERATED"}
_MAY_FOLLOW |= {"PRECISION", "WITH", "WITHOUT"}  # DOUBLE PRECISION, TIMESTAMP WITHOUT TIME ZONE
_TOKEN = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\w+|[^\s]")


def mistake_in(schema: str) -> str | None:
    """The first certain error in a schema."""
    for column in _columns(_TOKEN.findall(schema)):
        found = _mistake_in_column(column)
        if found is not None:
            return found
    return None


def _columns(words: list[str]) -> Iterator[list[str]]:
    """The parts between commas outside of brackets, without what is in brackets."""
    column: list[str] = []
    depth = 0
    for word in words:
        if word in "<(":
            depth += 1
        elif word in ">)":
            depth -= 1
        elif word == "," and depth == 0:
            yield column
            column = []
        elif depth == 0:
            column.append(word)
    yield column


def _mistake_in_column(tokens: list[str]) -> str | None:
    words = [each for each in tokens if each != ":"]
    if len(words) < len(("name", "type")):
        return None
    name, kind, *rest = words
    if not re.fullmatch(r"\w+|`.*`", name) or not re.fullmatch(r"[A-Za-z]\w*", kind):
        return None
    if kind.upper() not in _TYPES:
        like = get_close_matches(kind.upper(), _TYPES, 1, 0.75)
        return f"{name} {kind}: did you mean {like[0]}?" if like else None
    if kind.upper() in _COMPLETE and rest and rest[0].upper() not in _MAY_FOLLOW:
        return f"after {name} {kind} there is {rest[0]}: is a comma missing?"
    return None
