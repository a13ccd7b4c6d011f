"""Properties and items of a schema, as all drafts mean them."""

from barnabas.schemas.check_time import CheckTime
from barnabas.schemas.json_schema.patterns import matches
from barnabas.schemas.schema import Json, JsonObject

IN_PLACE = ("$ref", "allOf", "anyOf", "dependentSchemas", "else", "if", "oneOf", "then")
"""Keywords whose schemas are about the value itself: they may evaluate its properties and items."""


def mapping(schema: JsonObject, key: str) -> JsonObject:
    found = schema.get(key)
    return found if isinstance(found, dict) else {}


def names(schema: JsonObject, key: str) -> list[str]:
    found = schema.get(key)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def many(schema: JsonObject, key: str) -> list[Json]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def properties_for(schema: JsonObject, name: str, time: CheckTime) -> list[Json]:
    """The schemas that a property has to meet, all of them."""
    found = []
    properties = mapping(schema, "properties")
    if name in properties:
        found.append(properties[name])
    for pattern, each in mapping(schema, "patternProperties").items():
        time.step()
        if matches(pattern, name):
            found.append(each)
    return found or [additional(schema)]


def additional(schema: JsonObject) -> Json:
    """The schema of properties that no other keyword is about."""
    if "additionalProperties" in schema:
        return schema["additionalProperties"]
    return _unevaluated(schema, "unevaluatedProperties")


def prefix(schema: JsonObject) -> list[Json]:
    """The schemas of the first items, each for one."""
    items = schema.get("items")
    return items if isinstance(items, list) else many(schema, "prefixItems")


def rest(schema: JsonObject) -> Json:
    """The schema of all other items."""
    items = schema.get("items")
    found = schema.get("additionalItems") if isinstance(items, list) else items
    return _unevaluated(schema, "unevaluatedItems") if found is None else found


def _unevaluated(schema: JsonObject, key: str) -> Json:
    """What is unevaluated next to no other schema is what is additional."""
    return True if any(each in schema for each in IN_PLACE) else schema.get(key, True)


def item_at(schema: JsonObject, position: int) -> Json:
    first = prefix(schema)
    return first[position] if position < len(first) else rest(schema)
