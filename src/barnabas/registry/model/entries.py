"""Versions of subjects, and their JSON forms in records, requests and answers."""

from dataclasses import dataclass, replace
from typing import Self

from barnabas.registry.model.contents import (
    AVRO,
    Json,
    JsonObject,
    Reference,
    SchemaContent,
    objects,
)


class MalformedEntryError(ValueError):
    """JSON that is no schema. The message names the field."""


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """One version of a subject."""

    subject: str
    version: int
    id: int
    content: SchemaContent
    deleted: bool = False
    """Whether it is soft-deleted: gone for those who do not ask for deleted ones."""

    def with_deleted(self) -> Self:
        return replace(self, deleted=True)


def content_json(content: SchemaContent) -> dict[str, Json]:
    """The fields of a schema; those that are empty are left out, as Confluent's registry does."""
    found: dict[str, Json] = {}
    if content.kind != AVRO:
        found["schemaType"] = content.kind
    if content.references:
        found["references"] = [
            {"name": each.name, "subject": each.subject, "version": each.version}
            for each in content.references
        ]
    if content.metadata is not None:
        found["metadata"] = dict(content.metadata)
    if content.rules is not None:
        found["ruleSet"] = dict(content.rules)
    found["schema"] = content.text
    return found


def content_from(value: JsonObject) -> SchemaContent:
    """A schema of a request or a record; unknown fields are ignored.

    Raises `MalformedEntryError`.
    """
    kind = value.get("schemaType") or AVRO
    text = value.get("schema")
    if text is None:
        text = ""
    if not isinstance(kind, str) or not isinstance(text, str):
        raise MalformedEntryError("schema and schemaType have to be strings")
    return SchemaContent(
        kind.upper(),
        text,
        tuple(_reference(each) for each in objects(value.get("references"))),
        _object(value, "metadata"),
        _object(value, "ruleSet"),
    )


def integer(value: JsonObject, name: str, default: int | None = None) -> int:
    """A number of an object. Raises `MalformedEntryError`."""
    found = value.get(name)
    if found is None and default is not None:
        return default
    if not isinstance(found, int) or isinstance(found, bool):
        raise MalformedEntryError(f"{name} has to be a number, not {found!r}")
    return found


def text(value: JsonObject, name: str) -> str:
    """A text of an object. Raises `MalformedEntryError`."""
    found = value.get(name)
    if not isinstance(found, str):
        raise MalformedEntryError(f"{name} has to be a string, not {found!r}")
    return found


def _reference(value: JsonObject) -> Reference:
    return Reference(text(value, "name"), text(value, "subject"), integer(value, "version"))


def _object(value: JsonObject, name: str) -> JsonObject | None:
    found = value.get(name)
    if found is not None and not isinstance(found, dict):
        raise MalformedEntryError(f"{name} has to be an object, not {found!r}")
    return found
