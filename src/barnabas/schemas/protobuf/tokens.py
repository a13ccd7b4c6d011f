"""The tokens of a .proto file."""

import re
from enum import Enum
from typing import NamedTuple

from barnabas.schemas.schema import InvalidSchemaError

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*|/\*.*?\*/)
    | (?P<number>[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+(?:\.[0-9]*)?[eE][+-]?[0-9]+
        |[0-9]+\.(?![A-Za-z_])|0[xX][0-9a-fA-F]+|[0-9]+)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<sign>[{}()\[\]<>;,=.:+/-])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)


class TokenKind(Enum):
    WORD = "word"
    NUMBER = "number"
    TEXT = "text"
    SIGN = "sign"
    END = "the end"


class ProtoToken(NamedTuple):
    kind: TokenKind
    value: str
    line: int

    def __str__(self) -> str:
        return "the end of the file" if self.kind is TokenKind.END else repr(self.value)


def tokens_of(text: str) -> list[ProtoToken]:
    """All tokens, and one for the end. Raises InvalidSchemaError."""
    found = []
    line, position = 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise InvalidSchemaError(f"line {line}: unexpected {text[position]!r}")
        kind = match.lastgroup
        value = match.group()
        if kind == "text":
            found.append(ProtoToken(TokenKind.TEXT, _unescaped(value[1:-1]), line))
        elif kind != "space":
            found.append(ProtoToken(TokenKind(kind), value, line))
        line += value.count("\n")
        position = match.end()
    found.append(ProtoToken(TokenKind.END, "", line))
    return found


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        code = match.group(1)
        if code[0] == "x" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code[0] in "01234567":
            return chr(int(code, 8))
        return _ESCAPES.get(code, code)

    return _ESCAPED.sub(one, text)
