"""Schemas of any kind, parsed together with those they refer to."""

from typing import TypeAlias

from barnabas.schemas.avro.parsed import ParsedAvro, parse_avro
from barnabas.schemas.json_schema.parsed import ParsedJsonSchema, parse_json_schema
from barnabas.schemas.protobuf.parsed import ParsedProtobuf, parse_protobuf
from barnabas.schemas.schema import (
    InvalidSchemaError,
    Resolve,
    Schema,
    SchemaKind,
    SchemaReference,
)

_MAX_REFERENCES = 500
_MAX_DEPTH = 100
_MAX_CHARACTERS = 4_000_000
"""Of a schema and all that it refers to: they are parsed together."""

ParsedSchema: TypeAlias = ParsedAvro | ParsedJsonSchema | ParsedProtobuf


def no_references(reference: SchemaReference) -> Schema:
    raise LookupError(f"subject {reference.subject!r} has no version {reference.version}")


def parse(schema: Schema, resolve: Resolve = no_references, *, strict: bool = True) -> ParsedSchema:
    """Parse a schema and check it. Raises InvalidSchemaError, whose message names the field.

    `resolve` finds the schemas behind references, also those of references. A registry uses
    `strict=False` for schemas that it already has: as in Confluent's, a default that is not a value
    of its type is refused in new schemas only.
    """
    resolved: dict[str, Schema] = {}
    _resolve_all(schema, resolve, resolved, ())
    if schema.kind is SchemaKind.PROTOBUF:
        return parse_protobuf(schema, resolved.items())
    if schema.kind is SchemaKind.JSON:
        return parse_json_schema(schema, resolved.items())
    return parse_avro(schema, resolved.items(), strict=strict)


def _resolve_all(
    schema: Schema, resolve: Resolve, resolved: dict[str, Schema], above: tuple[str, ...]
) -> None:
    """Fill `resolved` by name, each schema after those that it refers to."""
    for reference in schema.references:
        if reference.name in above:
            circle = " -> ".join((*above, reference.name))
            raise InvalidSchemaError(f"the references refer to each other: {circle}")
        if reference.name in resolved:
            continue
        try:
            found = resolve(reference)
        except LookupError as error:
            raise InvalidSchemaError(f"reference {reference.name!r}: {_text(error)}") from None
        if found.kind is not schema.kind:
            raise InvalidSchemaError(
                f"reference {reference.name!r} is {found.kind}, and the schema is {schema.kind}"
            )
        if len(above) >= _MAX_DEPTH:
            raise InvalidSchemaError(f"references lead to more than {_MAX_DEPTH} others in turn")
        _resolve_all(found, resolve, resolved, (*above, reference.name))
        resolved[reference.name] = found
        total = len(schema.text) + sum(len(each.text) for each in resolved.values())
        if len(resolved) > _MAX_REFERENCES or total > _MAX_CHARACTERS:
            raise InvalidSchemaError(
                f"a schema refers to at most {_MAX_REFERENCES} others, with {_MAX_CHARACTERS} "
                "characters in all"
            )


def _text(error: LookupError) -> str:
    return str(error.args[0]) if error.args else "not found"
