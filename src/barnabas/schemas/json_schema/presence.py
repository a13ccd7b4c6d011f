"""The rules of what has to be there: required properties, items that differ or are contained."""

from barnabas.schemas.incompatibility import Incompatibility
from barnabas.schemas.json_schema.equality import same
from barnabas.schemas.json_schema.place import JsonPlace
from barnabas.schemas.json_schema.scalars import number
from barnabas.schemas.json_schema.views import additional, mapping, names
from barnabas.schemas.schema import JsonObject


def required_findings(
    reader: JsonObject, writers: list[JsonObject], place: JsonPlace
) -> list[Incompatibility]:
    found = []
    held = {name for each in writers for name in names(each, "required")}
    for name in names(reader, "required"):
        schema = mapping(reader, "properties").get(name)
        has_default = isinstance(schema, dict) and "default" in schema
        if name in held or has_default:
            continue
        inner = place.member(name)
        known = any(name in mapping(each, "properties") for each in writers)
        is_open = any(additional(each) is not False for each in writers) or not writers
        kind, path = "REQUIRED_ATTRIBUTE_ADDED", place.keyword("required", name)
        if not known and not is_open:
            kind, path = "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", inner
        message = (
            f"{inner.field} is required and has no default, and objects may have been written "
            "without it"
        )
        found.append(path._replace(field=inner.field).found(kind, message, None, name))
    return found


def array_findings(
    reader: JsonObject, writers: list[JsonObject], place: JsonPlace
) -> list[Incompatibility]:
    found = []
    unique = [each.get("uniqueItems") is True for each in writers]
    if reader.get("uniqueItems") is True and not any(unique):
        message = f"items of {place.named} have to differ, and may have been written twice"
        found.append(place.keyword("uniqueItems").found("UNIQUE_ITEMS_ADDED", message))
    group = ("contains", "minContains", "maxContains")
    wanted = [reader.get(each) for each in group]
    is_free = number(reader, "minContains") == 0 and "maxContains" not in reader
    if "contains" in reader and not is_free:
        held = [[each.get(key) for key in group] for each in writers]
        if not any(same(each, wanted) for each in held):
            message = f"{place.named} has to contain an item that may not have been written"
            found.append(place.keyword("contains").found("CONTAINS_ADDED", message))
    return found
