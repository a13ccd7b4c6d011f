"""Settings of a subject, a context or the whole registry, and the modes in which they can be."""

from barnabas.registry.model.contents import Json, JsonObject, mapping
from barnabas.registry.model.errors import RegistryRefusal, invalid_compatibility, invalid_mode

DEFAULT_LEVEL = "BACKWARD"
LEVELS = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)
READWRITE = "READWRITE"
READONLY = "READONLY"
READONLY_OVERRIDE = "READONLY_OVERRIDE"
IMPORT = "IMPORT"
FORWARD = "FORWARD"
MODES = (READWRITE, READONLY, READONLY_OVERRIDE, IMPORT, FORWARD)

LEVEL = "compatibilityLevel"
ALIAS = "alias"
_TEXTS = (ALIAS, "compatibilityPolicy", "compatibilityGroup")
_FLAGS = ("normalize", "validateFields", "validateRules")
RULE_SETS = ("defaultRuleSet", "overrideRuleSet")
_OBJECTS = ("defaultMetadata", "overrideMetadata", *RULE_SETS)
FIELDS = (ALIAS, "normalize", "validateFields", "validateRules", LEVEL, *_TEXTS[1:], *_OBJECTS)
_INVALID = 42200
_OWN = (ALIAS,)
"""What a subject does not take over from its context and the registry."""


def changed_config(before: JsonObject | None, request: JsonObject) -> dict[str, Json]:
    """Settings after a request: what it does not name stays, null takes a setting away.

    Unknown fields are ignored. Raises `RegistryRefusal`.
    """
    found = {**(before or {})}
    for name in FIELDS:
        given = "compatibility" if name == LEVEL and "compatibility" in request else name
        if given not in request:
            continue
        value = _checked(name, request[given])
        if value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def effective_config(*levels: JsonObject | None) -> JsonObject:
    """Settings where several apply: the first that has a setting counts, own settings apart."""
    found: dict[str, Json] = {}
    for index, each in enumerate(levels):
        for name, value in (each or {}).items():
            if not index or name not in _OWN:
                found.setdefault(name, value)
    found.setdefault(LEVEL, DEFAULT_LEVEL)
    return found


def level_of(config: JsonObject) -> str:
    return str(config.get(LEVEL, DEFAULT_LEVEL))


def object_of(config: JsonObject, name: str) -> JsonObject | None:
    """A setting that is an object, None without it."""
    return mapping(config[name]) if config.get(name) is not None else None


def checked_mode(value: Json) -> str:
    """A mode of a request. Raises `RegistryRefusal`."""
    mode = value.upper() if isinstance(value, str) else value
    if mode not in MODES:
        raise invalid_mode(value)
    return str(mode)


def _checked(name: str, value: Json) -> Json:
    if value is None:
        return None
    if name == LEVEL:
        level = value.upper() if isinstance(value, str) else value
        if level not in LEVELS:
            raise invalid_compatibility(value)
        return level
    expected = bool if name in _FLAGS else dict if name in _OBJECTS else str
    if not isinstance(value, expected):
        kind = {bool: "true or false", dict: "an object", str: "a string"}[expected]
        raise RegistryRefusal(_INVALID, f"{name} has to be {kind}, not {value!r}")
    return value or None if name == ALIAS else value
