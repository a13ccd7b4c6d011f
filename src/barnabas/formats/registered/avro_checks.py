"""Values by an Avro schema: what does not fit is named, and the rest is made what fastavro takes.

fastavro itself writes 1 for 1.5, true for "x", and 2**31 where an int is expected. A schema is
turned once into functions; each gets a value, and returns it or raises `ValidationFailed`.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeAlias

from barnabas.errors import ValidationFailed
from barnabas.formats.registered.avro_expected import Check, expected
from barnabas.formats.registered.avro_scalars import scalar_check
from barnabas.schemas.models.fields import fields_of, is_model

_NAMED = ("record", "error", "enum", "fixed")
_MISSING = object()
Fields: TypeAlias = dict[str, Any]
"""A record, or a map, as fastavro takes it."""


class AvroChecks:
    """The functions of one schema, whose named types may contain themselves."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._made: dict[str, list[Check]] = {}  # lists, to be filled when they are made

    def of(self, schema: Any) -> Check:
        """What checks values of a type, as fastavro has parsed it."""
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            if schema in self._named:
                return self._by_name(schema, self._named[schema])
            return scalar_check(schema, {})
        kind = schema["type"]
        if not isinstance(kind, str) or kind in self._named:
            return self.of(kind)
        if kind in _NAMED:
            return self._by_name(schema["name"], schema)
        if kind == "array":
            return _array(self.of(schema["items"]))
        if kind == "map":
            return _map(self.of(schema["values"]))
        return scalar_check(kind, schema)

    def _by_name(self, name: str, schema: Any) -> Check:
        if name not in self._made:
            made = self._made[name] = []
            made.append(self._make(schema))
        elif not self._made[name]:
            return _later(self._made[name])
        return self._made[name][0]

    def _make(self, schema: Any) -> Check:
        if schema["type"] == "enum":
            return _enum(schema["symbols"])
        if schema["type"] == "fixed":
            return scalar_check("fixed", schema)
        return self._record(schema)

    def _record(self, schema: Any) -> Check:
        name = schema["name"]
        fields = [
            (each["name"], self.of(each["type"]), self._default(each)) for each in schema["fields"]
        ]
        known = {each[0] for each in fields}

        def check(value: Any) -> Fields:
            given = value if isinstance(value, dict) else _fields_of(value, name)
            if not given.keys() <= known:
                extra = next(each for each in given if each not in known)
                raise ValidationFailed(str(extra), f"{name} has no such field")
            found = {}
            field = ""
            try:
                for field, checked, default in fields:
                    one = given.get(field, _MISSING)
                    found[field] = default if one is _MISSING else checked(one)
                    if found[field] is _MISSING:
                        raise ValidationFailed("", "is missing, and has no default")
            except ValidationFailed as error:
                raise error.within(field) from None
            return found

        return check

    def _default(self, field: Any) -> Any:
        """As fastavro writes it: bytes are text in a schema."""
        default = field.get("default", _MISSING)
        kind = field["type"]
        kind = kind[0] if isinstance(kind, list) else kind
        kind = self._named.get(kind, kind) if isinstance(kind, str) else kind
        kind = kind["type"] if isinstance(kind, dict) else kind
        if kind in ("bytes", "fixed") and isinstance(default, str):
            return default.encode("latin-1")
        return default

    def _union(self, branches: list[Any]) -> Check:
        checks = {_name(each): self.of(each) for each in branches}
        takes_null = checks.pop("null", None) is not None
        return _one_of(checks, takes_null=takes_null)


def _one_of(checks: dict[str, Check], *, takes_null: bool) -> Check:
    """A value with the name of its branch: fastavro would choose one by itself."""
    shown = ", ".join(map(_simple, checks)) + " or null" * takes_null
    by_class = {_simple(each): each for each in checks if each != "float"}
    of_whole = [*(each for each in checks if each in ("int", "long")), *checks]
    of_fraction = [*(each for each in checks if each == "double"), *checks]  # a float rounds

    def check(value: Any) -> Any:
        if value is None and takes_null:
            return None
        if len(checks) == 1:
            ((name, only),) = checks.items()
            return name, only(value)
        names = of_whole if type(value) is int else of_fraction  # double takes them too
        own = by_class.get(type(value).__name__)
        problem: ValidationFailed | None = None
        for name in names if own is None else (own, *names):
            try:
                return name, checks[name](value)
            except ValidationFailed as error:
                problem = problem or error
        raise problem if problem is not None and problem.field else expected(shown, value)

    return check


def _simple(name: str) -> str:
    return name.rpartition(".")[2]


def _later(made: list[Check]) -> Check:
    """For a type that contains itself, while its function is made."""

    def check(value: Any) -> Any:
        return made[0](value)

    return check


def _name(branch: Any) -> str:
    """As fastavro names the branches of a union."""
    if isinstance(branch, str):
        return branch
    return str(branch["name"] if branch["type"] in _NAMED else branch["type"])


def _array(item: Check) -> Check:
    def check(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple | set | frozenset):
            raise expected("a list", value)
        found: list[Any] = []
        try:
            for each in value:
                found.append(item(each))  # noqa: PERF401 - counted for errors
        except ValidationFailed as error:
            raise error.within(f"[{len(found)}]") from None
        return found

    return check


def _map(item: Check) -> Check:
    def check(value: Any) -> Fields:
        if not isinstance(value, Mapping):
            raise expected("a dict", value)
        found = {}
        name: Any = ""
        try:
            for name, each in value.items():
                if not isinstance(name, str):
                    raise expected("str as key", name)
                found[name] = item(each)
        except ValidationFailed as error:
            raise error.within(f"[{name!r}]") from None
        return found

    return check


def _enum(symbols: list[str]) -> Check:
    known = frozenset(symbols)

    def check(value: Any) -> str:
        given = value.value if isinstance(value, Enum) else value
        if not isinstance(given, str) or given not in known:
            raise expected(f"one of {', '.join(symbols[:50])}", value)
        return given

    return check


def _fields_of(value: Any, name: str) -> Fields:
    """The fields of an object."""
    kind = type(value)
    names = _attributes.get(kind)
    if names is None:
        if isinstance(value, Mapping):
            return dict(value)
        if not is_model(kind):
            raise expected(f"a dict or a model ({name})", value)
        names = _attributes[kind] = {each.name: each.attribute for each in fields_of(kind)}
    return {field: getattr(value, attribute) for field, attribute in names.items()}


_attributes: dict[type, dict[str, str]] = {}
