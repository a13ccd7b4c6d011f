"""Formats by type: which format a dataclass, a pydantic model or `str` stands for.

A library is imported by the user's type already, so asking `sys.modules` finds it, and costs
nothing where it is not used.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_origin

from barnabas.errors import InvalidArgument
from barnabas.formats.avro import avro_format, avro_schema_of
from barnabas.formats.conversion import json_codec
from barnabas.formats.libraries import library_codec
from barnabas.formats.named import BYTES, INT, REGISTERED, STR, Format, FormatName

if TYPE_CHECKING:
    from barnabas.formats.registered.registry import Registry

T = TypeVar("T")

_PLAIN: dict[object, Format] = {bytes: BYTES, str: STR, int: INT}


class TypedFormat(Generic[T]):
    """The format of a type. It does not decode null, unless it is optional."""

    def __init__(
        self,
        kind: object,
        encode: Callable[[T], bytes],
        decode: Callable[[bytes], T],
        *,
        refuses_null: bool = True,
    ) -> None:
        self.kind = kind
        self.encode = encode
        self.decode = decode
        self.refuses_null = refuses_null

    def __repr__(self) -> str:
        name = name_of(self.kind)
        return name if self.refuses_null else f"optional({name})"


def of(kind: type[T]) -> Format[T]:
    """The format of a type: `formats.of(Order)`. Null does not match it."""
    return _typed(kind, "kind")


def optional(kind: type[T] | Format[T]) -> Format[T | None]:
    """The format of a type, or null: for keys that are left out, and values of compacted topics."""
    inner = choose(kind, "bytes", "kind")
    assert not isinstance(inner, str)
    return TypedFormat(
        getattr(inner, "kind", inner), inner.encode, inner.decode, refuses_null=False
    )


def choose(
    kind: object,
    name: FormatName | Format,
    argument: str,
    registry: "Registry | None" = None,
) -> FormatName | Format:
    """What `key=` or `value=` stands for, and without it `key_format=` or `value_format=`."""
    if registry is not None and isinstance(name, str) and name in REGISTERED:
        return _registered(kind, name, argument, registry)
    if kind is None:
        return name
    if name != "bytes":
        raise InvalidArgument(f"{argument}={name_of(kind)}: leave {argument}_format out, or this")
    if isinstance(kind, str):
        raise TypeError(f'{argument} is a type: write {argument}_format="{kind}"')
    if not isinstance(kind, type) and get_origin(kind) is None and isinstance(kind, Format):
        return kind
    return _typed(kind, argument)


def _registered(kind: Any, name: Any, argument: str, registry: "Registry") -> Format:
    from barnabas.formats.registered.formats import RegistryFormat

    takes_null = kind is None
    if isinstance(kind, TypedFormat):
        takes_null, kind = not kind.refuses_null, kind.kind
    try:
        return RegistryFormat(name, kind, registry, refuses_null=not takes_null)
    except InvalidArgument as error:
        raise InvalidArgument(f'{argument}_format="{name}": {error}') from None


def _typed(kind: Any, argument: str) -> TypedFormat[Any]:
    if kind in _PLAIN:
        plain = _PLAIN[kind]
        return TypedFormat(kind, plain.encode, plain.decode)
    if isinstance(kind, type):
        found = library_codec(kind)
        if found is not None:
            return TypedFormat(kind, *found)
        schema = avro_schema_of(kind)
        if schema is not None:
            chosen = avro_format(kind, schema)
            return TypedFormat(kind, chosen.encode, chosen.decode)
    try:
        return TypedFormat(kind, *json_codec(kind))
    except InvalidArgument as error:
        raise InvalidArgument(f"{argument}={name_of(kind)}: {error}") from None


def name_of(kind: object) -> str:
    """As a reader knows it."""
    return kind.__name__ if isinstance(kind, type) and get_origin(kind) is None else repr(kind)
