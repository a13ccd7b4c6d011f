"""A schema with what belongs to it, and the GUID that follows from it."""

import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]

AVRO = "AVRO"
_SEPARATOR = b"\x01"
_RULES = ("migrationRules", "domainRules", "encodingRules")
_BEFORE_TAGS = ("name", "doc", "kind", "mode", "type")
_AFTER_PARAMS = ("expr", "onSuccess", "onFailure")


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema that another one uses by `name`."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class SchemaContent:
    """A schema, apart from the places where it is registered."""

    kind: str
    text: str
    references: tuple[Reference, ...] = ()
    metadata: JsonObject | None = field(default=None, hash=False)
    rules: JsonObject | None = field(default=None, hash=False)

    @property
    def guid(self) -> str:
        """The same for equal contents, in every registry."""
        return str(UUID(bytes=fingerprint(self)))


def fingerprint(content: SchemaContent) -> bytes:
    """The MD5 that Confluent's registry takes of a schema."""
    digest = hashlib.md5(content.text.encode(), usedforsecurity=False)
    for each in content.references:
        digest.update(each.name.encode() + each.subject.encode() + struct.pack(">i", each.version))
    if content.metadata is not None:
        digest.update(_SEPARATOR)
        for part in _texts_of_metadata(content.metadata):
            digest.update(part.encode())
    if content.rules is not None:
        digest.update(_SEPARATOR)
        for group in _RULES:
            for rule in objects(content.rules.get(group)):
                for part in _texts_of_rule(rule):
                    digest.update(part.encode())
    return digest.digest()


def objects(value: Json) -> list[JsonObject]:
    """The objects of a list; none of anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def mapping(value: Json) -> JsonObject:
    """An object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def strings(value: Json) -> list[str]:
    """The texts of a list."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _texts_of_metadata(metadata: JsonObject) -> Iterable[str]:
    for name, values in sorted(mapping(metadata.get("tags")).items()):
        yield from (name, *sorted(set(strings(values))))
    for name, value in sorted(mapping(metadata.get("properties")).items()):
        yield from (name, str(value))
    yield from sorted(set(strings(metadata.get("sensitive"))))


def _texts_of_rule(rule: JsonObject) -> Iterable[str]:
    yield from (str(rule[name]) for name in _BEFORE_TAGS if rule.get(name) is not None)
    yield from sorted(set(strings(rule.get("tags"))))
    for name, value in sorted(mapping(rule.get("params")).items()):
        yield from (name, str(value))
    yield from (str(rule[name]) for name in _AFTER_PARAMS if rule.get(name) is not None)
