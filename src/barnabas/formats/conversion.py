"""JSON to dataclasses and TypedDicts, and back, by their annotations.

Each type is turned once into a function that converts what `json` gives, and raises
`ValidationFailed` with the path of the field. Fields that a type does not have are ignored, so that
producers may add some; missing ones need a default.

| annotation | JSON |
|---|---|
| `datetime`, `date`, `time` | text, ISO 8601 |
| `Decimal`, `UUID` | text; a number is a Decimal too |
| `bytes` | text, Base64 |
| enums | the value |
| `set`, `frozenset`, `tuple` | a list |

What is written is not checked: that is for a type checker.
"""

import base64
import json
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)
from uuid import UUID

from barnabas.errors import InvalidArgument, ValidationFailed
from barnabas.formats.libraries import Codec, check_kind

Read = Callable[[Any], Any]
_LISTS: dict[Any, Callable[[list[Any]], Any]] = {
    list: list,
    Sequence: list,
    set: set,
    frozenset: frozenset,
    tuple: tuple,
}


def json_codec(kind: Any) -> Codec:
    """How a type is written as JSON, and read."""
    read, dump = reader_of(kind), _ENCODER.encode
    check = check_kind(kind) if isinstance(kind, type) and is_dataclass(kind) else None

    def encode(value: Any) -> bytes:
        if check is not None:
            check(value)
        return dump(value).encode()

    def decode(data: bytes) -> Any:
        try:
            found = json.loads(data)
        except ValueError as error:
            raise ValidationFailed("", f"no JSON: {error}") from None
        return read(found)

    return encode, decode


def reader_of(kind: Any, *, converted: bool = False) -> Read:
    """Converts what `json` gives to a type; `converted` if dates and bytes are that already."""
    return _Readers(converted).of(kind)


class _Readers:
    """The functions of one type and those it consists of, which may refer to each other."""

    def __init__(self, converted: bool) -> None:
        self._known: dict[Any, list[Read]] = {}  # a list, to be filled when it is made
        self._converted = converted

    def of(self, kind: Any) -> Read:
        origin = get_origin(kind)
        if origin in (Annotated, Required, NotRequired):
            return self.of(get_args(kind)[0])
        if kind is Any or kind is object:
            return lambda value: value
        if isinstance(kind, NewType):
            return self.of(kind.__supertype__)
        if origin is Literal:
            return _literal(get_args(kind))
        if origin in (Union, types.UnionType):
            return self._union(get_args(kind))
        if origin in _LISTS or kind in _LISTS:
            return self._list(kind, origin or kind)
        if origin in (dict, Mapping) or kind is dict:
            return self._dict(kind)
        if kind in _SCALARS:
            return _scalar(kind, self._converted)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return _enum(kind)
        if is_typeddict(kind) or (isinstance(kind, type) and is_dataclass(kind)):
            return self._record(kind)
        raise InvalidArgument(
            f"no JSON is known for {kind!r}; use a dataclass, a TypedDict, a pydantic model, a "
            "msgspec struct, or a format of your own"
        )

    def _record(self, kind: Any) -> Read:
        if kind in self._known:
            return _later(self._known[kind])
        known = self._known[kind] = []
        hints = get_type_hints(kind, include_extras=True)
        if is_typeddict(kind):
            names = dict.fromkeys(hints, False) | dict.fromkeys(kind.__required_keys__, True)
            make: Any = dict
        else:
            names = {
                each.name: each.default is MISSING and each.default_factory is MISSING
                for each in fields(kind)
                if each.init
            }
            make = kind
        reads = []
        for name, required in names.items():
            try:
                reads.append((name, self.of(hints[name]), required))
            except InvalidArgument as error:
                raise InvalidArgument(f"field {name} of {kind.__name__}: {error}") from None
        known.append(_record_reader(kind, reads, make))
        return known[0]

    def _union(self, kinds: tuple[Any, ...]) -> Read:
        some = [each for each in kinds if each is not types.NoneType]
        reads = [self.of(each) for each in some]
        takes_none = len(some) < len(kinds)

        def read(value: Any) -> Any:
            if value is None and takes_none:
                return None
            first: ValidationFailed | None = None
            for each in reads:
                try:
                    return each(value)
                except ValidationFailed as error:
                    first = first or error
            assert first is not None
            if len(reads) == 1:
                raise first
            raise ValidationFailed("", f"matches none of {_names(some)}: {first}") from first

        return read

    def _list(self, kind: Any, origin: Any) -> Read:
        arguments = get_args(kind)
        make = _LISTS[origin]
        if origin is tuple and arguments and arguments[-1] is not Ellipsis:
            return self._fixed_tuple(arguments)
        item = self.of(arguments[0]) if arguments else self.of(Any)

        def read(value: Any) -> Any:
            if not isinstance(value, list | tuple):
                raise _expected("a list", value)
            at = 0
            found = []
            try:
                for each in value:
                    found.append(item(each))
                    at += 1
            except ValidationFailed as error:
                raise error.within(f"[{at}]") from None
            return make(found)

        return read

    def _fixed_tuple(self, arguments: tuple[Any, ...]) -> Read:
        items = [self.of(each) for each in arguments]

        def read(value: Any) -> Any:
            if not isinstance(value, list | tuple) or len(value) != len(items):
                raise _expected(f"a list of {len(items)}", value)
            return tuple(item(each) for item, each in zip(items, value, strict=True))

        return read

    def _dict(self, kind: Any) -> Read:
        arguments = get_args(kind)
        if arguments and arguments[0] not in (str, Any):
            raise InvalidArgument(f"{kind!r}: names in JSON are str")
        item = self.of(arguments[1]) if arguments else self.of(Any)

        def read(value: Any) -> Any:
            if not isinstance(value, dict):
                raise _expected("an object", value)
            name = ""
            found = {}
            try:
                for name, each in value.items():
                    found[name] = item(each)
            except ValidationFailed as error:
                raise error.within(f"[{name!r}]") from None
            return found

        return read


def _later(known: list[Read]) -> Read:
    """For a type that refers to itself, while its function is made."""

    def read(value: Any) -> Any:
        return known[0](value)

    return read


def _record_reader(kind: Any, reads: list[tuple[str, Read, bool]], make: Any) -> Read:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _expected(f"an object ({kind.__name__})", value)
        found = {}
        name = ""
        try:
            for name, convert, required in reads:
                if name in value:
                    found[name] = convert(value[name])
                elif required:
                    raise ValidationFailed("", "is missing")
        except ValidationFailed as error:
            raise error.within(name) from None
        try:
            return make(**found)
        except (TypeError, ValueError) as error:  # its __post_init__ refuses them
            raise ValidationFailed("", f"{kind.__name__}: {error}") from error

    return read


def _scalar(kind: Any, converted: bool) -> Read:
    name, parse = _SCALARS[kind]

    def read(value: Any) -> Any:
        if type(value) is kind and (parse is None or converted):
            return value
        if parse is not None:
            try:
                return parse(value)
            except (TypeError, ValueError, AttributeError, InvalidOperation):
                pass
        raise _expected(name, value)

    return read


def _float(value: Any) -> float:
    if type(value) is float or type(value) is int:
        return float(value)
    raise TypeError


def _decimal(value: Any) -> Decimal:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return Decimal(str(value))
    raise TypeError


def _none(value: Any) -> None:
    if value is not None:
        raise TypeError


_SCALARS: dict[Any, tuple[str, Callable[[Any], Any] | None]] = {
    str: ("text", None),
    int: ("an integer", None),
    bool: ("true or false", None),
    float: ("a number", _float),
    types.NoneType: ("null", _none),
    Decimal: ("a decimal number", _decimal),
    UUID: ("a UUID", UUID),
    bytes: ("text in Base64", lambda value: base64.b64decode(value, validate=True)),
    datetime: ("a date and time in ISO 8601", datetime.fromisoformat),
    date: ("a date in ISO 8601", date.fromisoformat),
    time: ("a time in ISO 8601", time.fromisoformat),
}


def _literal(allowed: tuple[Any, ...]) -> Read:
    def read(value: Any) -> Any:
        if not any(value == each and type(value) is type(each) for each in allowed):
            raise _expected(f"one of {', '.join(map(repr, allowed))}", value)
        return value

    return read


def _enum(kind: type[Enum]) -> Read:
    def read(value: Any) -> Any:
        try:
            return kind(value)
        except ValueError:
            known = ", ".join(repr(each.value) for each in kind)
            raise _expected(f"one of {known}", value) from None

    return read


def _expected(what: str, value: Any) -> ValidationFailed:
    shown = repr(value)
    return ValidationFailed("", f"expected {what}, got {shown[:60]}{'...' * (len(shown) > 60)}")


def _names(kinds: list[Any]) -> str:
    return ", ".join(getattr(each, "__name__", None) or repr(each) for each in kinds)


def _default(value: Any) -> Any:
    """What `json` does not know itself."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, UUID | Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, set | frozenset):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not JSON serializable")


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), default=_default
)
