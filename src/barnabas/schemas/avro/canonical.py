"""The two texts of an Avro schema in a registry.

The canonical one is Java's `Schema.toString()`: attributes in a fixed order, and nothing dropped.
The normalized one, which `normalize=true` stores, also sorts properties and aliases. Types of
references appear by name in both.
"""

from barnabas.schemas.avro.types import (
    PRIMITIVES,
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroType,
    AvroUnion,
    NamedType,
    NoDefault,
    namespace_of,
    simple_name,
)
from barnabas.schemas.json_text import compact, ordered
from barnabas.schemas.schema import Json, JsonObject

_LOGICAL = {
    "big-decimal",
    "date",
    "decimal",
    "duration",
    "local-timestamp-micros",
    "local-timestamp-millis",
    "local-timestamp-nanos",
    "time-micros",
    "time-millis",
    "timestamp-micros",
    "timestamp-millis",
    "timestamp-nanos",
    "uuid",
}


def canonical_text(of: AvroType, referenced: frozenset[str] = frozenset()) -> str:
    """`referenced` are the full names of types that are defined in other schemas."""
    return compact(_Writer(referenced, normalize=False).json(of, ""))


def normalized_text(of: AvroType, referenced: frozenset[str] = frozenset()) -> str:
    return compact(_Writer(referenced, normalize=True).json(of, ""))


class _Writer:
    def __init__(self, known: frozenset[str], *, normalize: bool) -> None:
        self._known = set(known)
        self._normalize = normalize

    def json(self, of: AvroType, namespace: str) -> Json:
        if isinstance(of, AvroPrimitive):
            return {"type": of.type, **self._typed(of.properties)} if of.properties else of.type
        if isinstance(of, AvroUnion):
            return [self.json(each, namespace) for each in of.branches]
        if isinstance(of, AvroArray):
            items = self.json(of.items, namespace)
            return {"type": "array", "items": items} | self._properties(of.properties)
        if isinstance(of, AvroMap):
            values = self.json(of.values, namespace)
            return {"type": "map", "values": values} | self._properties(of.properties)
        if of.name in self._known:
            return _qualified(of.name, namespace)
        self._known.add(of.name)
        return self._named(of, namespace)

    def _named(self, of: NamedType, namespace: str) -> JsonObject:
        space = namespace_of(of.name)
        is_error = isinstance(of, AvroRecord) and of.is_error and not self._normalize
        found: JsonObject = {"type": "error" if is_error else of.type, "name": simple_name(of.name)}
        if space != namespace:
            found["namespace"] = space
        if of.doc is not None and (of.doc or not self._normalize):
            found["doc"] = of.doc
        properties = self._properties(of.properties)
        if isinstance(of, AvroFixed):
            found["size"] = of.size
            properties = self._typed(of.properties)
        elif isinstance(of, AvroEnum):
            found["symbols"] = list(of.symbols)
            if of.default is not None:
                found["default"] = of.default
        else:
            found["fields"] = [self._field(each, space) for each in of.fields]
        found |= properties
        if of.aliases:
            found["aliases"] = [_qualified(each, space) for each in self._aliases(of.aliases)]
        return found

    def _field(self, of: AvroField, namespace: str) -> JsonObject:
        found: JsonObject = {"name": of.name, "type": self.json(of.type, namespace)}
        if of.doc is not None:
            found["doc"] = of.doc
        if not isinstance(of.default, NoDefault):
            found["default"] = ordered(of.default) if self._normalize else of.default
        if of.order != "ascending":
            found["order"] = of.order
        if of.aliases:
            found["aliases"] = [*self._aliases(of.aliases)]
        return found | self._properties(of.properties)

    def _aliases(self, aliases: list[str]) -> list[str]:
        return sorted(set(aliases)) if self._normalize else list(dict.fromkeys(aliases))

    def _properties(self, properties: JsonObject) -> JsonObject:
        if not self._normalize:
            return properties
        return {key: ordered(properties[key]) for key in sorted(properties)}

    def _typed(self, properties: JsonObject) -> JsonObject:
        """Properties of a primitive or a fixed: a logical type is normalized to the front."""
        if not self._normalize or properties.get("logicalType") not in _LOGICAL:
            return self._properties(properties)
        first = ["logicalType"]
        if properties["logicalType"] == "decimal":
            first += ["precision"] + ["scale"] * (properties.get("scale", 0) != 0)
        found = {key: properties[key] for key in first if key in properties}
        return found | {k: v for k, v in self._properties(properties).items() if k not in found}


def _qualified(name: str, namespace: str) -> str:
    simple = simple_name(name)
    return simple if namespace_of(name) == namespace and simple not in PRIMITIVES else name
