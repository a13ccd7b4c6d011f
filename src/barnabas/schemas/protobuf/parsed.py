"""A parsed Protobuf schema, with the types of the files it imports."""

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.schemas.protobuf.canonical import canonical_text, normalized_text
from barnabas.schemas.protobuf.elements import ProtoFile
from barnabas.schemas.protobuf.names import ProtoType, joined, types_of
from barnabas.schemas.protobuf.parser import parse_file
from barnabas.schemas.protobuf.validation import validate
from barnabas.schemas.schema import InvalidSchemaError, Schema


@dataclass(frozen=True, slots=True)
class ParsedProtobuf:
    schema: Schema
    file: ProtoFile
    types: dict[str, ProtoType]
    """All types that the file can use, by full name."""

    @property
    def name(self) -> str | None:
        """The full name of its first message."""
        messages = self.file.messages
        return joined(self.file.package, messages[0].name) if messages else None

    def canonical(self) -> str:
        return canonical_text(self.file)

    def normalized(self) -> str:
        return normalized_text(self.file, self.types)


def parse_protobuf(schema: Schema, resolved: Iterable[tuple[str, Schema]]) -> ParsedProtobuf:
    """`resolved` are the imported files by path."""
    imported: dict[str, ProtoFile] = {}
    for path, each in resolved:
        try:
            imported[path] = parse_file(each.text)
        except InvalidSchemaError as error:
            raise InvalidSchemaError(f"reference {path!r}: {error}") from None
    file = parse_file(schema.text)
    types = types_of(file, imported)
    validate(file, types, imported)
    return ParsedProtobuf(schema, file, types)
