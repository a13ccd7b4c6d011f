"""A parsed Avro schema, with the types of the schemas it refers to."""

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.schemas.avro.canonical import canonical_text, normalized_text
from barnabas.schemas.avro.parser import AvroParser
from barnabas.schemas.avro.types import AvroRecord, AvroType
from barnabas.schemas.schema import InvalidSchemaError, Schema


@dataclass(frozen=True, slots=True)
class ParsedAvro:
    schema: Schema
    type: AvroType
    referenced: frozenset[str]
    """Full names of types that are defined in other schemas."""

    @property
    def name(self) -> str | None:
        """The full name of its record."""
        return self.type.name if isinstance(self.type, AvroRecord) else None

    def canonical(self) -> str:
        return canonical_text(self.type, self.referenced)

    def normalized(self) -> str:
        return normalized_text(self.type, self.referenced)


def parse_avro(
    schema: Schema, resolved: Iterable[tuple[str, Schema]], *, strict: bool = True
) -> ParsedAvro:
    """`resolved` are the names and schemas of all references, each before those that need it."""
    parser = AvroParser(check_defaults=False)
    for name, each in resolved:
        try:
            parser.parse(each.text)
        except InvalidSchemaError as error:
            raise InvalidSchemaError(f"reference {name!r}: {error}") from None
    referenced = frozenset(parser.named)
    parser.check_defaults = strict
    return ParsedAvro(schema, parser.parse(schema.text), referenced)
