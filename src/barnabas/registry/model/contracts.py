"""Metadata and rule sets: data contracts, which clients run.

The registry checks their form, stores them, and merges those of the settings into each new schema:
defaults below what the schema has, overrides above it.
"""

from barnabas.registry.model.contents import (
    Json,
    JsonObject,
    mapping,
    objects,
    strings,
)
from barnabas.registry.model.errors import invalid_rule_set

_MIGRATION = "migrationRules"
_DOMAIN = "domainRules"
_ENCODING = "encodingRules"
_MODES = {
    _MIGRATION: ("UPGRADE", "DOWNGRADE", "UPDOWN"),
    _DOMAIN: ("WRITE", "READ", "WRITEREAD"),
    _ENCODING: ("WRITE", "READ", "WRITEREAD"),
}
_KINDS = ("TRANSFORM", "CONDITION")
_VERSION = "confluent:version"


def merged_metadata(below: JsonObject | None, above: JsonObject | None) -> JsonObject | None:
    """Both, entry by entry; `above` counts where both have one."""
    if below is None or above is None:
        return above if below is None else below
    found: dict[str, Json] = {}
    for name in ("tags", "properties"):
        entries = {**mapping(below.get(name)), **mapping(above.get(name))}
        if entries:
            found[name] = entries
    sensitive: list[Json] = [
        *sorted({*strings(below.get("sensitive")), *strings(above.get("sensitive"))})
    ]
    if sensitive:
        found["sensitive"] = sensitive
    return found


def merged_rules(below: JsonObject | None, above: JsonObject | None) -> JsonObject | None:
    """The rules of both; of two with one name that of `above` counts."""
    if below is None or above is None:
        return above if below is None else below
    found: dict[str, Json] = {}
    for group in _MODES:
        upper = objects(above.get(group))
        names = {_name(each) for each in upper}
        lower = [each for each in objects(below.get(group)) if _name(each) not in names]
        if lower or upper:
            found[group] = [dict(each) for each in (*lower, *upper)]
    return found


def version_in(metadata: JsonObject | None) -> str | None:
    """The version that metadata names, if it does."""
    found = mapping((metadata or {}).get("properties")).get(_VERSION)
    return None if found is None else str(found)


def with_version(metadata: JsonObject | None, version: int) -> JsonObject:
    """Metadata that names the version of its schema."""
    metadata = metadata or {}
    properties = {**mapping(metadata.get("properties")), _VERSION: str(version)}
    return {**metadata, "properties": properties}


def check_rules(rules: JsonObject | None) -> None:
    """Raises `RegistryRefusal` if a rule set has a form that clients refuse."""
    for group, modes in _MODES.items():
        names = set()
        for rule in objects((rules or {}).get(group)):
            name = _name(rule)
            if not name:
                raise invalid_rule_set(f"a rule of {group} has no name")
            if name in names:
                raise invalid_rule_set(f"Found rule with duplicate name '{name}' in {group}")
            names.add(name)
            if rule.get("kind") is not None and rule["kind"] not in _KINDS:
                raise invalid_rule_set(f"rule '{name}': kind is {' or '.join(_KINDS)}")
            if rule.get("mode") is not None and rule["mode"] not in modes:
                raise invalid_rule_set(f"rule '{name}' of {group}: mode is {', '.join(modes)}")
            if not rule.get("type"):
                raise invalid_rule_set(f"rule '{name}' has no type")


def _name(rule: JsonObject) -> str | None:
    """None if it has none, or what is no name: schemas are imported, and read, as they are."""
    name = rule.get("name")
    return name if isinstance(name, str) else None
