"""A schema as a registry stores it: its kind, its text and the schemas it refers to."""

import hashlib
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias
from uuid import UUID

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
JsonObject: TypeAlias = dict[str, Json]


class SchemaKind(StrEnum):
    """The kinds of schemas, with the names that the registry's REST API uses."""

    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """A schema that another one uses by `name`: a full name, a URI, or the path of an import."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    """The text of a schema, before anything has been checked."""

    kind: SchemaKind
    text: str
    references: tuple[SchemaReference, ...] = ()


Resolve: TypeAlias = Callable[[SchemaReference], Schema]
"""Finds the schema behind a reference; raises LookupError if there is none."""


class InvalidSchemaError(ValueError):
    """A schema that can't be used. The message names the field and says what is wrong."""


def fingerprint(schema: Schema) -> bytes:
    """The MD5 by which Confluent's registry recognizes a schema without metadata and rules.

    Equal fingerprints mean equal texts and references: give it the canonical or the normalized
    text, as the registry does.
    """
    digest = hashlib.md5(schema.text.encode(), usedforsecurity=False)
    for each in schema.references:
        digest.update(each.name.encode())
        digest.update(each.subject.encode())
        digest.update(struct.pack(">i", each.version))
    return digest.digest()


def guid(schema: Schema) -> UUID:
    """The GUID that newer serializers put into record headers: the fingerprint as a UUID."""
    return UUID(bytes=fingerprint(schema))
