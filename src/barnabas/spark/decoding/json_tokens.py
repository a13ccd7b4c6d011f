"""JSON as Spark's `from_json` reads it, cut into tokens.

That is JSON with three additions, which Spark's reader (Jackson) is told to allow: strings in
single quotes, and NaN and infinities as numbers. It has limits too: of nesting, and of the length
of numbers and names.
"""

import re

from barnabas.spark.decoding.java_text import joined_surrogates
from barnabas.spark.decoding.json_token import FLOAT, INT, NAME, STRING, WORD, Token, Tokens
from barnabas.spark.decoding.plain_json import plain_tokens

MAX_DEPTH = 1000
_MAX_NUMBER_LENGTH = 1000
_MAX_NAME_LENGTH = 50_000

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = re.compile(r"true|false|null|NaN|[+-]INF|[+-]?Infinity")
_NOT_NUMBERS = {
    "NaN": "NaN",
    "Infinity": "Infinity",
    "+Infinity": "Infinity",
    "-Infinity": "-Infinity",
    "+INF": "Infinity",
    "-INF": "-Infinity",
}
_PLAIN = {
    '"': re.compile(r'[^"\\\x00-\x1f]*'),
    "'": re.compile(r"[^'\\\x00-\x1f]*"),
}
_ESCAPED = {
    "b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "/": "/", "\\": "\\", "'": "'",
}  # fmt: skip
_HEX = re.compile(r"[0-9A-Fa-f]{4}")


class BrokenJson(Exception):  # noqa: N818 - its name says what is wrong
    """The text is no JSON object."""


def tokens_of(text: str) -> Tokens | None:
    """The tokens of the object that a text begins with; None if there is nothing but white space.

    Raises `BrokenJson`.
    """
    plain = plain_tokens(text)
    if plain is not None:
        return plain
    at = _after_space(text, 0)
    if at == len(text):
        return None
    if text[at] != "{":
        raise BrokenJson
    return _Scanner(text, at).scan()


def only_space_from(text: str, at: int) -> bool:
    return _after_space(text, at) == len(text)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


class _Scanner:
    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at
        self._tokens: list[Token] = []
        self._open: list[str] = []
        self._depth = 0

    def scan(self) -> Tokens:
        self._begin(self._text[self._at])
        while self._open:
            self._element()
        return Tokens(self._tokens, self._at, self._depth)

    def _element(self) -> None:
        """An element of the innermost array or object, or its end."""
        closing = "}" if self._open[-1] == "{" else "]"
        char = self._next()
        is_first = self._tokens[-1].kind == self._open[-1]
        if char == closing:
            self._at += 1
            self._open.pop()
            self._tokens.append(Token(closing, closing))
            return
        if not is_first:
            self._expect(",")
            char = self._next()
        if closing == "}":
            self._name(char)
            self._expect(":")
            char = self._next()
        self._value(char)

    def _name(self, quote: str) -> None:
        if quote not in _PLAIN:
            raise BrokenJson
        name = self._string(quote)
        if len(name) > _MAX_NAME_LENGTH:
            raise BrokenJson
        self._tokens.append(Token(NAME, joined_surrogates(name)))

    def _value(self, char: str) -> None:
        if char in "{[":
            self._begin(char)
        elif char in _PLAIN:
            self._tokens.append(Token(STRING, self._string(char)))
        else:
            self._tokens.append(self._bare())

    def _begin(self, bracket: str) -> None:
        self._at += 1
        self._open.append(bracket)
        self._depth = max(self._depth, len(self._open))
        if self._depth > MAX_DEPTH:
            raise BrokenJson
        self._tokens.append(Token(bracket, bracket))

    def _bare(self) -> Token:
        """A number or a word."""
        word = _WORDS.match(self._text, self._at)
        if word is not None:
            self._at = word.end()
            text = word[0]
            if text in _NOT_NUMBERS:
                return Token(FLOAT, _NOT_NUMBERS[text])
            return Token(WORD, text)
        number = _NUMBER.match(self._text, self._at)
        if number is None:
            raise BrokenJson
        self._at = number.end()
        fraction, exponent = number.groups()
        if sum(map(str.isdigit, number[0])) > _MAX_NUMBER_LENGTH:
            raise BrokenJson
        return Token(INT if fraction is None and exponent is None else FLOAT, number[0])

    def _string(self, quote: str) -> str:
        plain = _PLAIN[quote]
        parts = []
        at = self._at + 1
        while True:
            found = plain.match(self._text, at)
            assert found is not None
            parts.append(found[0])
            at = found.end()
            char = self._text[at : at + 1]
            if char == quote:
                self._at = at + 1
                return "".join(parts)
            if char != "\\":  # a control character, or the end
                raise BrokenJson
            escape = self._text[at + 1 : at + 2]
            if escape == "u":
                code = _HEX.match(self._text, at + 2)
                if code is None:
                    raise BrokenJson
                parts.append(chr(int(code[0], 16)))
                at += 6
            elif escape in _ESCAPED:
                parts.append(_ESCAPED[escape])
                at += 2
            else:
                raise BrokenJson

    def _next(self) -> str:
        self._at = _after_space(self._text, self._at)
        if self._at == len(self._text):
            raise BrokenJson
        return self._text[self._at]

    def _expect(self, char: str) -> None:
        if self._next() != char:
            raise BrokenJson
        self._at += 1
