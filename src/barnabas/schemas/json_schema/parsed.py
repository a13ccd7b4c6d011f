"""A parsed JSON Schema, with the schemas it refers to."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.schemas.json_schema.documents import SchemaDocuments
from barnabas.schemas.json_schema.validation import validate
from barnabas.schemas.json_text import compact, ordered
from barnabas.schemas.schema import InvalidSchemaError, Json, Schema


@dataclass(frozen=True, slots=True)
class ParsedJsonSchema:
    schema: Schema
    documents: SchemaDocuments

    @property
    def name(self) -> str | None:
        root = self.documents.root
        title = root.get("title") if isinstance(root, dict) else None
        return title if isinstance(title, str) else None

    def canonical(self) -> str:
        """Without spaces, and in the order in which it came."""
        return compact(self.documents.root)

    def normalized(self) -> str:
        """With sorted keys."""
        return compact(ordered(self.documents.root))


def parse_json_schema(schema: Schema, resolved: Iterable[tuple[str, Schema]]) -> ParsedJsonSchema:
    """`resolved` are the schemas that `$ref` may name."""
    references = {}
    for name, each in resolved:
        try:
            references[name] = _json(each.text)
        except InvalidSchemaError as error:
            raise InvalidSchemaError(f"reference {name!r}: {error}") from None
    documents = SchemaDocuments(_json(schema.text), references)
    validate(documents)
    return ParsedJsonSchema(schema, documents)


def _json(text: str) -> Json:
    try:
        found: Json = json.loads(text)
    except ValueError as error:
        raise InvalidSchemaError(f"a JSON Schema is JSON, and this is not: {error}") from None
    except RecursionError:
        raise InvalidSchemaError("the schema is nested too deeply") from None
    return found
