"""Formats by name, and what encodes and decodes with any format.

None is not converted: as a value it is a tombstone. A format with a true `refuses_null` does not
decode it.
"""

import json
from collections.abc import Callable
from datetime import date, time
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NoReturn,
    Protocol,
    TypeAlias,
    cast,
    runtime_checkable,
)

from barnabas.errors import InvalidArgument, ValidationFailed

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)
else:  # defaults of type variables are known to type checkers, and to Python from 3.13 on
    from typing import TypeVar

    T = TypeVar("T")

FormatName: TypeAlias = Literal["bytes", "str", "int", "json", "avro", "json-schema", "protobuf"]
REGISTERED = ("avro", "json-schema", "protobuf")
"""Names of formats whose schemas a registry has."""

_INT_BYTES = 8


@runtime_checkable
class Format(Protocol[T]):
    """Converts values to bytes and back; `Format[Order]` gives and takes an `Order`.

    `encode` raises TypeError or ValueError for an invalid value; what `decode` raises becomes an
    `UndecodableRecord`. Both may be called by several threads at once.
    """

    def encode(self, value: T, /) -> bytes: ...

    def decode(self, data: bytes, /) -> T: ...


def _kind(value: object) -> str:
    return type(value).__name__


def _refuse_json(value: object) -> NoReturn:
    hint = ""
    if isinstance(value, date | time):  # a datetime is a date
        hint = "; write it as isoformat()"
    elif isinstance(value, set | frozenset):
        hint = "; write it as a list"
    raise TypeError(f"{_kind(value)} is not JSON serializable{hint}")


class _Bytes:
    def encode(self, value: Any) -> bytes:
        if isinstance(value, bytes):
            return value
        if isinstance(value, bytearray | memoryview):
            return bytes(value)
        raise TypeError(f"takes bytes, not {_kind(value)}")

    def decode(self, data: bytes) -> bytes:
        return data

    def __repr__(self) -> str:
        return '"bytes"'


class _Str:
    def encode(self, value: Any) -> bytes:
        if not isinstance(value, str):
            raise TypeError(f"takes str, not {_kind(value)}")
        return value.encode()

    decode = staticmethod(bytes.decode)

    def __repr__(self) -> str:
        return '"str"'


class _Int:
    def encode(self, value: Any) -> bytes:
        if not isinstance(value, int):
            raise TypeError(f"takes int, not {_kind(value)}")
        try:
            return value.to_bytes(_INT_BYTES, "big", signed=True)
        except OverflowError:
            raise ValueError(f"takes what 64 bits hold, not {value}") from None

    def decode(self, data: bytes) -> int:
        if len(data) != _INT_BYTES:
            raise ValueError(f"an int takes {_INT_BYTES} bytes, and these are {len(data)}")
        return int.from_bytes(data, "big", signed=True)

    def __repr__(self) -> str:
        return '"int"'


class _Json:
    def __init__(self) -> None:
        encoder = json.JSONEncoder(
            ensure_ascii=False,
            allow_nan=False,
            sort_keys=True,
            separators=(",", ":"),
            default=_refuse_json,
        )
        self._encode = encoder.encode

    def encode(self, value: Any) -> bytes:
        return self._encode(value).encode()

    decode = staticmethod(json.loads)

    def __repr__(self) -> str:
        return '"json"'


BYTES: Format[bytes] = _Bytes()
STR: Format[str] = _Str()
INT: Format[int] = _Int()
JSON: Format = _Json()

_NAMED: dict[str, Format] = {"bytes": BYTES, "str": STR, "int": INT, "json": JSON}


def format_of(choice: FormatName | Format, argument: str) -> Format:
    """The format that an argument such as "value_format" stands for."""
    if isinstance(choice, str):
        if choice in REGISTERED:
            raise InvalidArgument(
                f'{argument}="{choice}" is for Producer, Consumer and App, with the URL of a '
                'schema registry: registry="http://localhost:8081"'
            )
        if choice not in _NAMED:
            known = ", ".join(f'"{name}"' for name in (*_NAMED, *REGISTERED))
            raise InvalidArgument(
                f"{argument}={choice!r} is unknown: it is one of {known}, or an object with "
                "encode and decode"
            )
        return _NAMED[choice]
    if isinstance(choice, type) or not isinstance(choice, Format):
        said = f"{argument} has to be a name, or an object with encode and decode"
        kind = cast("object", choice)
        if isinstance(kind, type) and not isinstance(kind, Format):
            said += f": write {argument}=barnabas.formats.of({kind.__name__})"
        raise TypeError(said)
    return choice


def encoder(choice: FormatName | Format, argument: str) -> Callable[[Any], bytes | None]:
    """Encodes whatever the application gives; errors name the argument that chose the format."""
    chosen = format_of(choice, argument)
    encode_some = chosen.encode

    def encode(value: Any) -> bytes | None:
        if value is None:
            return None
        try:
            data = encode_some(value)
        except TypeError as error:
            hint = _hint(argument, chosen, value)
            raise TypeError(f"{argument}={chosen!r}: {error}{hint}") from error
        except ValueError as error:
            raise InvalidArgument(f"{argument}={chosen!r}: {error}") from error
        if not isinstance(data, bytes):
            raise TypeError(f"{argument}={chosen!r}: its encode gave {_kind(data)}, not bytes")
        return data

    return encode


def decoder(choice: FormatName | Format, argument: str) -> Callable[[bytes | None], Any]:
    """Decodes what a record holds; raises whatever the format raises."""
    chosen = format_of(choice, argument)
    decode_some = chosen.decode

    def decode(data: bytes | None) -> Any:
        return None if data is None else decode_some(data)

    def decode_no_null(data: bytes | None) -> Any:
        if data is None:
            name = argument.removesuffix("_format")
            raise ValidationFailed(
                "",
                f"is null; {name}=formats.optional({chosen!r}) takes it, and in a handler "
                f"the annotation {chosen!r} | None",
            )
        return decode_some(data)

    return decode_no_null if getattr(chosen, "refuses_null", False) else decode


def _hint(argument: str, chosen: Format, value: object) -> str:
    """Which other format takes the value."""
    if isinstance(value, str):
        return f'; {argument}="str" would'
    if isinstance(value, bytes):
        return f'; {argument}="bytes" would'
    if isinstance(value, int):
        return f'; {argument}="int" would, or "json"'
    if isinstance(value, dict | list | float) and chosen is not JSON:
        return f'; {argument}="json" would'
    return ""
