"""What JSON is cut into."""

from typing import NamedTuple

# Kinds of tokens that hold a value; brackets are their own kind.
NAME, STRING, INT, FLOAT, WORD = "name", "string", "int", "float", "word"
"""`WORD`: true, false and null."""


class Token(NamedTuple):
    """A piece of JSON; strings unescaped, numbers as they were written."""

    kind: str
    text: str


class Tokens(NamedTuple):
    """The first object of a text."""

    tokens: list[Token]
    end: int
    """Where it ends in the text."""
    depth: int
