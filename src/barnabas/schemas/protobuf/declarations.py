"""Reads the parts of a .proto file that have no parts of their own: names, options, fields."""

from barnabas.schemas.protobuf.elements import (
    MAX_NUMBER,
    BareWord,
    NumberRange,
    OptionList,
    OptionMap,
    OptionValue,
    ProtoEnumValue,
    ProtoField,
    ProtoOption,
    QuotedText,
    ReservedValue,
)
from barnabas.schemas.protobuf.tokens import ProtoToken, TokenKind, tokens_of
from barnabas.schemas.schema import InvalidSchemaError

LABELS = ("optional", "required", "repeated")
_MAX_DEPTH = 50
_ENUM_MAX = 2**31 - 1


class DeclarationReader:
    """A position in the tokens of a file."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens_of(text)
        self._position = 0
        self._depth = 0

    @property
    def next(self) -> ProtoToken:
        return self._tokens[self._position]

    @property
    def is_at_end(self) -> bool:
        return self.next.kind is TokenKind.END

    def error(self, problem: str) -> InvalidSchemaError:
        return InvalidSchemaError(f"line {self.next.line}: {problem}")

    def take(self, value: str) -> bool:
        """Go on if this word or sign is next."""
        if self.next.value != value or self.next.kind is TokenKind.TEXT:
            return False
        self._position += 1
        return True

    def expect(self, value: str) -> None:
        if not self.take(value):
            raise self.error(f"expected {value!r}, got {self.next}")

    def _take(self, kind: TokenKind, what: str) -> str:
        if self.next.kind is not kind:
            raise self.error(f"expected {what}, got {self.next}")
        self._position += 1
        return self._tokens[self._position - 1].value

    def word(self, what: str) -> str:
        return self._take(TokenKind.WORD, what)

    def text(self, what: str) -> str:
        found = self._take(TokenKind.TEXT, what)
        while self.next.kind is TokenKind.TEXT:
            found += self._take(TokenKind.TEXT, what)
        return found

    def number(self, what: str) -> int:
        negative = self.take("-")
        text = self._take(TokenKind.NUMBER, what)
        try:
            found = int(text, 16 if text[:2] in ("0x", "0X") else 8 if text[0] == "0" else 10)
        except ValueError:
            raise self.error(f"expected {what}, got {text}") from None
        return -found if negative else found

    def name(self, what: str) -> str:
        """A name with dots, maybe with one in front."""
        found = "." if self.take(".") else ""
        found += self.word(what)
        while self.take("."):
            found += f".{self.word(what)}"
        return found

    def option(self) -> ProtoOption:
        """`deprecated = true`, without `option` and the semicolon."""
        name = self._option_part()
        while self.take("."):
            name += f".{self._option_part()}"
        self.expect("=")
        return ProtoOption(name, self._option_value())

    def _option_part(self) -> str:
        if self.take("("):
            name = self.name("the name of an option")
            self.expect(")")
            return f"({name})"
        return self.word("the name of an option")

    def _option_value(self) -> OptionValue:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self.error("options are nested too deeply")
        try:
            if self.next.kind is TokenKind.TEXT:
                return QuotedText(self.text("a value"))
            if self.take("{"):
                return self._option_map("}")
            if self.take("<"):
                return self._option_map(">")
            if self.take("["):
                return self._option_list()
            sign = "-" if self.take("-") else ""
            self.take("+")
            kind = self.next.kind
            if kind is TokenKind.NUMBER:
                return BareWord(sign + self._take(kind, "a value"))
            return BareWord(sign + self.name("a value"))
        finally:
            self._depth -= 1

    def _option_map(self, end: str) -> OptionMap:
        entries = []
        while not self.take(end):
            if self.take("["):
                key = self.name("a name")
                while self.take("/"):
                    key += f"/{self.name('a name')}"
                self.expect("]")
                key = f"[{key}]"
            else:
                key = self.word("a name")
            self.take(":")
            entries.append((key, self._option_value()))
            if not self.take(","):
                self.take(";")
        return OptionMap(tuple(entries))

    def _option_list(self) -> OptionList:
        items: list[OptionValue] = []
        while not self.take("]"):
            items.append(self._option_value())
            self.take(",")
        return OptionList(tuple(items))

    def options(self) -> list[ProtoOption]:
        """`[deprecated = true, packed = false]`, or nothing."""
        found: list[ProtoOption] = []
        if self.take("["):
            while True:
                found.append(self.option())
                if not self.take(","):
                    break
            self.expect("]")
        return found

    def field(self, oneof: str | None = None) -> ProtoField:
        label = self.next.value if self.next.value in LABELS else None
        if label is not None:
            if oneof is not None:
                raise self.error(f"a field of a oneof is not {label}")
            self.expect(label)
        key = None
        type_ = self.name("a type")
        if type_ == "map" and self.take("<"):
            key = self.name("the type of the keys")
            self.expect(",")
            type_ = self.name("the type of the values")
            self.expect(">")
        if type_ == "group":
            raise self.error("groups are not supported; use a nested message")
        name = self.word(f"the name of a field of type {type_}")
        self.expect("=")
        number = self.number(f"the number of field {name!r}")
        options = self.options()
        self.expect(";")
        return ProtoField(name, number, type_, label, options, key, oneof)

    def enum_value(self) -> ProtoEnumValue:
        name = self.word("the name of a value")
        self.expect("=")
        number = self.number(f"the number of value {name!r}")
        options = self.options()
        self.expect(";")
        return ProtoEnumValue(name, number, options)

    def reserved(self, *, of_enum: bool = False) -> list[ReservedValue]:
        found: list[ReservedValue] = []
        while True:
            if self.next.kind is TokenKind.TEXT:
                found.append(self.text("a name"))
            elif self.next.kind is TokenKind.WORD:
                found.append(self.word("a name"))
            else:
                found.append(self._range(_ENUM_MAX if of_enum else MAX_NUMBER))
            if not self.take(","):
                break
        self.expect(";")
        return found

    def extensions(self) -> list[NumberRange]:
        found = [self._range(MAX_NUMBER)]
        while self.take(","):
            found.append(self._range(MAX_NUMBER))
        self.options()
        self.expect(";")
        return found

    def _range(self, most: int) -> NumberRange:
        first = self.number("a number")
        if not self.take("to"):
            return NumberRange(first, first)
        return NumberRange(first, most if self.take("max") else self.number("a number"))
