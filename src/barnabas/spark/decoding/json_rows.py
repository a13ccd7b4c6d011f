"""Values that are JSON objects as rows, one at a time, or the reason why one is no row.

This decides exactly as Spark's `from_json` does, with one addition: behind the object there may be
white space only. It is slow, and for the values that the kernel leaves to it.
"""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, NamedTuple

from pyspark.sql.types import StructField, StructType

from barnabas.formats.arrow.decoded import NO_VALUE
from barnabas.spark.decoding.json_conversion import (
    Converter,
    WrongType,
    end_of,
    struct_converter,
    text_of,
)
from barnabas.spark.decoding.json_token import NAME, WORD, Token, Tokens
from barnabas.spark.decoding.json_tokens import MAX_DEPTH, BrokenJson, only_space_from, tokens_of

EXCERPT_LENGTH = 100
_WHITE_SPACE = " \t\r\n"


class Row(NamedTuple):
    """What a value holds, or why it can't be decoded."""

    columns: dict[str, Any] | None
    reason: str | None = None


class JsonRows:
    """Decodes values by a schema; raises `UnsupportedType` if it has a type that can't be."""

    def __init__(self, schema: StructType, zone: tzinfo) -> None:
        self._fields = schema.fields
        self._required = [each.name for each in schema.fields if not each.nullable]
        self._columns = struct_converter(schema.fields, zone)
        self._each: list[tuple[StructField, Converter]] = [
            (each, struct_converter([each], zone)) for each in schema.fields
        ]
        self._nothing: dict[str, Any] = dict.fromkeys(each.name for each in schema.fields)

    def row(self, value: bytes | None) -> Row:
        if value is None:
            return Row(None, NO_VALUE) if self._required else Row(self._nothing)
        try:
            text = value.decode()
        except UnicodeDecodeError:
            return Row(None, "the value is not UTF-8")
        try:
            found = tokens_of(text)
        except BrokenJson:
            return Row(None, f"the value is not a JSON object: {text[:EXCERPT_LENGTH]}")
        if found is None:
            return Row(None, "the value is empty")
        if not _is_alone(text, found):
            return Row(None, f"there is more after the JSON object: {text[:EXCERPT_LENGTH]}")
        try:
            columns, _ = self._columns(found.tokens, 0)
        except WrongType:
            return Row(None, self._wrong_columns(found.tokens))
        for name in self._required:
            if columns[name] is None:
                return Row(None, f"{name} is missing")
        return Row(columns)

    def _wrong_columns(self, tokens: Sequence[Token]) -> str:
        """All columns whose type is wrong, with what they are given."""
        given = _texts(tokens)
        reasons = []
        for field, convert in self._each:
            try:
                convert(tokens, 0)
            except WrongType:
                found = given.get(field.name)
                if found is not None:
                    kind = field.dataType.simpleString().upper()
                    reasons.append(f"{field.name} is not {kind}: {found[:EXCERPT_LENGTH]}")
        return "; ".join(reasons)


def _is_alone(text: str, found: Tokens) -> bool:
    if not only_space_from(text, found.end):
        return False
    # As it is told from what follows: inside of an array, unless it has no other closing brace.
    has_one_brace = text.index("}") == len(text.rstrip(_WHITE_SPACE)) - 1
    return has_one_brace or found.depth < MAX_DEPTH


def _texts(tokens: Sequence[Token]) -> dict[str, str | None]:
    """The members of an object as strings; null is None."""
    texts: dict[str, str | None] = {}
    at = 1
    while tokens[at].kind == NAME:
        is_null = tokens[at + 1] == Token(WORD, "null")
        texts[tokens[at].text] = None if is_null else text_of(tokens, at + 1)
        at = end_of(tokens, at + 1)
    return texts
