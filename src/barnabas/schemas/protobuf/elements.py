"""What a .proto file contains, as it is written: names are not resolved."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

MAX_NUMBER = 536_870_911


@dataclass(frozen=True, slots=True)
class QuotedText:
    text: str


@dataclass(frozen=True, slots=True)
class BareWord:
    """A number, a boolean or the name of an enum value."""

    text: str


@dataclass(frozen=True, slots=True)
class OptionMap:
    entries: tuple[tuple[str, "OptionValue"], ...]


@dataclass(frozen=True, slots=True)
class OptionList:
    items: tuple["OptionValue", ...]


OptionValue: TypeAlias = QuotedText | BareWord | OptionMap | OptionList


@dataclass(frozen=True, slots=True)
class ProtoOption:
    name: str
    """As written, with parentheses around the names of custom options."""
    value: OptionValue


@dataclass(frozen=True, slots=True)
class NumberRange:
    first: int
    last: int

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last


ReservedValue: TypeAlias = NumberRange | str


@dataclass(slots=True)
class ProtoField:
    name: str
    number: int
    type: str
    """As written; of a map the type of its values."""
    label: str | None = None
    """`optional`, `required`, `repeated`, or none."""
    options: list[ProtoOption] = field(default_factory=list)
    map_key: str | None = None
    oneof: str | None = None


@dataclass(slots=True)
class ProtoOneof:
    name: str
    fields: list[ProtoField] = field(default_factory=list)
    options: list[ProtoOption] = field(default_factory=list)


@dataclass(slots=True)
class ProtoEnumValue:
    name: str
    number: int
    options: list[ProtoOption] = field(default_factory=list)


@dataclass(slots=True)
class ProtoEnum:
    name: str
    values: list[ProtoEnumValue] = field(default_factory=list)
    options: list[ProtoOption] = field(default_factory=list)
    reserved: list[list[ReservedValue]] = field(default_factory=list)


@dataclass(slots=True)
class ProtoExtend:
    name: str
    fields: list[ProtoField] = field(default_factory=list)


@dataclass(slots=True)
class ProtoMessage:
    name: str
    fields: list[ProtoField] = field(default_factory=list)
    oneofs: list[ProtoOneof] = field(default_factory=list)
    messages: list["ProtoMessage"] = field(default_factory=list)
    enums: list[ProtoEnum] = field(default_factory=list)
    options: list[ProtoOption] = field(default_factory=list)
    reserved: list[list[ReservedValue]] = field(default_factory=list)
    extensions: list[list[NumberRange]] = field(default_factory=list)
    extends: list[ProtoExtend] = field(default_factory=list)

    def all_fields(self) -> Iterator[ProtoField]:
        """Also those in oneofs."""
        yield from self.fields
        for each in self.oneofs:
            yield from each.fields


@dataclass(slots=True)
class ProtoRpc:
    name: str
    request: str
    response: str
    streams_requests: bool = False
    streams_responses: bool = False
    options: list[ProtoOption] = field(default_factory=list)


@dataclass(slots=True)
class ProtoService:
    name: str
    rpcs: list[ProtoRpc] = field(default_factory=list)
    options: list[ProtoOption] = field(default_factory=list)


@dataclass(slots=True)
class ProtoFile:
    syntax: str | None = None
    """`proto2` or `proto3`; without it a file is proto2."""
    package: str = ""
    imports: list[str] = field(default_factory=list)
    public_imports: list[str] = field(default_factory=list)
    options: list[ProtoOption] = field(default_factory=list)
    messages: list[ProtoMessage] = field(default_factory=list)
    enums: list[ProtoEnum] = field(default_factory=list)
    extends: list[ProtoExtend] = field(default_factory=list)
    services: list[ProtoService] = field(default_factory=list)

    @property
    def is_proto3(self) -> bool:
        return self.syntax == "proto3"
