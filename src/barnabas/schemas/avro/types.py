"""The types of an Avro schema. Named types that are used twice are one object."""

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from barnabas.schemas.schema import Json, JsonObject

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


class NoDefault:
    """A field without a default, whose default is not null either."""


NO_DEFAULT = NoDefault()


@dataclass(slots=True, eq=False)
class AvroPrimitive:
    type: str
    properties: JsonObject = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class AvroArray:
    type: ClassVar[str] = "array"
    items: "AvroType"
    properties: JsonObject = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class AvroMap:
    type: ClassVar[str] = "map"
    values: "AvroType"
    properties: JsonObject = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class AvroUnion:
    type: ClassVar[str] = "union"
    branches: list["AvroType"]


@dataclass(slots=True, eq=False)
class AvroFixed:
    type: ClassVar[str] = "fixed"
    name: str
    size: int
    doc: str | None = None
    aliases: list[str] = field(default_factory=list)
    properties: JsonObject = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class AvroEnum:
    type: ClassVar[str] = "enum"
    name: str
    symbols: list[str]
    default: str | None = None
    doc: str | None = None
    aliases: list[str] = field(default_factory=list)
    properties: JsonObject = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class AvroField:
    name: str
    type: "AvroType"
    default: Json | NoDefault = NO_DEFAULT
    order: str = "ascending"
    doc: str | None = None
    aliases: list[str] = field(default_factory=list)
    properties: JsonObject = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class AvroRecord:
    type: ClassVar[str] = "record"
    name: str
    fields: list[AvroField]
    is_error: bool = False
    doc: str | None = None
    aliases: list[str] = field(default_factory=list)
    properties: JsonObject = field(default_factory=dict)


NamedType: TypeAlias = AvroFixed | AvroEnum | AvroRecord
AvroType: TypeAlias = AvroPrimitive | AvroArray | AvroMap | AvroUnion | NamedType


def namespace_of(name: str) -> str:
    return name.rpartition(".")[0]


def simple_name(name: str) -> str:
    return name.rpartition(".")[2]


def described(of: AvroType) -> str:
    """A type as a message names it: `array of string`, `Money`, `null or long`."""
    if isinstance(of, AvroPrimitive):
        logical = of.properties.get("logicalType")
        return f"{of.type} ({logical})" if isinstance(logical, str) else of.type
    if isinstance(of, AvroArray):
        return f"array of {described(of.items)}"
    if isinstance(of, AvroMap):
        return f"map of {described(of.values)}"
    if isinstance(of, AvroUnion):
        return " or ".join(described(each) for each in of.branches) or "an empty union"
    return f"{of.type} {of.name}"
