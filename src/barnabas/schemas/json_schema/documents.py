"""A schema and those it refers to: which draft it follows, and what a `$ref` means."""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from urllib.parse import unquote, urldefrag, urljoin

from barnabas.schemas.schema import InvalidSchemaError, Json, JsonObject

_MAX_DEPTH = 200
_ONE = frozenset(
    {
        *("additionalItems", "additionalProperties", "contains", "else", "if", "items", "not"),
        *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    }
)
_MANY = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_NAMED = frozenset(
    {
        *("$defs", "definitions", "dependencies", "dependentSchemas"),
        *("patternProperties", "properties"),
    }
)


class JsonSchemaDraft(IntEnum):
    DRAFT_4 = 4
    DRAFT_6 = 6
    DRAFT_7 = 7
    DRAFT_2019_09 = 2019
    DRAFT_2020_12 = 2020


_BY_NAME = {
    "draft-04": JsonSchemaDraft.DRAFT_4,
    "draft-06": JsonSchemaDraft.DRAFT_6,
    "draft-07": JsonSchemaDraft.DRAFT_7,
    "2019-09": JsonSchemaDraft.DRAFT_2019_09,
    "2020-12": JsonSchemaDraft.DRAFT_2020_12,
}


def draft_of(schema: Json) -> JsonSchemaDraft:
    """JsonSchemaDraft 7 without `$schema`, as in Confluent's registry."""
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if isinstance(named, str):
        for part, draft in _BY_NAME.items():
            if part in named:
                return draft
    return JsonSchemaDraft.DRAFT_7


def subschemas(schema: JsonObject) -> Iterator[tuple[tuple[str, ...], Json]]:
    """The schemas directly inside, with their steps."""
    for key, value in schema.items():
        if key in _ONE and not isinstance(value, list):
            yield (key,), value
        elif key in _MANY and isinstance(value, list):
            for position, each in enumerate(value):
                yield (key, str(position)), each
        elif key in _NAMED and isinstance(value, dict):
            for name, each in value.items():
                if not (key == "dependencies" and isinstance(each, list)):
                    yield (key, name), each


class SchemaDocuments:
    """The schema that is parsed and all that it refers to."""

    def __init__(self, root: Json, references: Mapping[str, Json]) -> None:
        """`references` are schemas by the names that `$ref`s use. Raises InvalidSchemaError."""
        self.root = root
        self._by_uri: dict[str, Json] = {}
        self._bases: dict[int, tuple[str, JsonSchemaDraft]] = {}
        self._without: dict[tuple[int, str], JsonObject] = {}
        base = _id_of(root, draft_of(root))
        for name, each in references.items():
            draft = draft_of(each)
            uri = _id_of(each, draft) or name
            self._add(each, uri, draft, 0)
            for known in (name, urljoin(base, name)):
                self._by_uri.setdefault(known, each)
        self._by_uri[base] = root
        self._add(root, base, draft_of(root), 0)

    def _add(self, schema: Json, base: str, draft: JsonSchemaDraft, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise InvalidSchemaError(f"schemas are nested more than {_MAX_DEPTH} deep")
        if not isinstance(schema, dict) or id(schema) in self._bases:
            return
        own = _id_of(schema, draft)
        if own.startswith("#"):  # an anchor, before draft 2019-09
            self._by_uri[urljoin(base, own)] = schema
        elif own:
            base = urljoin(base, own)
            self._by_uri.setdefault(urldefrag(base).url, schema)
        for key in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(key)
            if isinstance(anchor, str):
                self._by_uri[urljoin(base, f"#{anchor}")] = schema
        self._bases[id(schema)] = (base, draft)
        for _, each in subschemas(schema):
            self._add(each, base, draft, depth + 1)

    def without(self, schema: JsonObject, key: str) -> JsonObject:
        """The schema without a keyword: the same object for each call."""
        known = self._without.get((id(schema), key))
        if known is None:
            known = {name: each for name, each in schema.items() if name != key}
            self._without[id(schema), key] = known
            if id(schema) in self._bases:
                self._bases[id(known)] = self._bases[id(schema)]
        return known

    def draft(self, schema: Json) -> JsonSchemaDraft:
        return self._bases[id(schema)][1] if id(schema) in self._bases else draft_of(self.root)

    def reference_of(self, schema: JsonObject) -> str | None:
        for key in ("$ref", "$dynamicRef", "$recursiveRef"):
            found = schema.get(key)
            if isinstance(found, str):
                return found
        return None

    def referred(self, schema: JsonObject) -> Json:
        """What the `$ref` of a schema means. Raises LookupError."""
        reference = self.reference_of(schema)
        assert reference is not None
        base, draft = self._bases.get(id(schema), ("", JsonSchemaDraft.DRAFT_7))
        uri = urljoin(base, reference) if reference != "#" else urldefrag(base).url
        if uri in self._by_uri:
            return self._by_uri[uri]
        document, fragment = urldefrag(uri)
        if document not in self._by_uri:
            raise LookupError(f"{reference!r} is unknown; add a reference with this name")
        found = _at_pointer(self._by_uri[document], fragment, reference)
        if isinstance(found, dict) and id(found) not in self._bases:
            self._add(found, document, draft, 0)
        return found


def _id_of(schema: Json, draft: JsonSchemaDraft) -> str:
    if not isinstance(schema, dict):
        return ""
    found = schema.get("id" if draft is JsonSchemaDraft.DRAFT_4 else "$id")
    return found if isinstance(found, str) else ""


def _at_pointer(schema: Json, fragment: str, reference: str) -> Json:
    for part in fragment.split("/")[1:] if fragment else []:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict) and key in schema:
            schema = schema[key]
        elif isinstance(schema, list) and key.isdigit() and int(key) < len(schema):
            schema = schema[int(key)]
        else:
            raise LookupError(f"{reference!r} leads nowhere: there is no {key!r}")
    if fragment and not fragment.startswith("/"):
        raise LookupError(f"{reference!r} leads nowhere: there is no anchor {fragment!r}")
    return schema
