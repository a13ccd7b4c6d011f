"""Types of pydantic, msgspec and protobuf.

Each is recognised by what such a class has, and the library is imported only then: the user's
module has imported it already.
"""

import sys
from collections.abc import Callable
from typing import Any

from barnabas.errors import ValidationFailed

Codec = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]


def library_codec(kind: type) -> Codec | None:
    """How a type of one of the libraries is encoded and decoded; None if it is not theirs."""
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and (
        issubclass(kind, pydantic.BaseModel) or hasattr(kind, "__pydantic_validator__")
    ):
        return _pydantic(kind)
    msgspec = sys.modules.get("msgspec")
    if msgspec is not None and issubclass(kind, msgspec.Struct):
        return _msgspec(kind)
    if hasattr(kind, "DESCRIPTOR") and hasattr(kind, "SerializeToString"):
        return _protobuf(kind)
    return None


def python_reader(kind: Any) -> Callable[[Any], Any] | None:
    """Converts what Avro gives, dates among it, to a model; None if it is of no library."""
    if not isinstance(kind, type):
        return None
    if "pydantic" in sys.modules and hasattr(kind, "__pydantic_validator__"):
        return _from_python(kind)
    msgspec = sys.modules.get("msgspec")
    if msgspec is None or not issubclass(kind, msgspec.Struct):
        return None

    def convert(value: Any) -> Any:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise _msgspec_failed(error) from None

    return convert


def check_kind(kind: type) -> Callable[[Any], None]:
    """Raises TypeError for what is not of this class."""

    def check(value: Any) -> None:
        if not isinstance(value, kind):
            raise TypeError(f"takes {kind.__name__}, not {type(value).__name__}")

    return check


def _pydantic(kind: type) -> Codec:
    from pydantic import TypeAdapter, ValidationError

    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    validate, dump, check = adapter.validate_json, adapter.dump_json, check_kind(kind)

    def encode(value: Any) -> bytes:
        check(value)
        return dump(value)

    def decode(data: bytes) -> Any:
        try:
            return validate(data)
        except ValidationError as error:
            raise _pydantic_failed(error) from error

    return encode, decode


def _from_python(kind: type) -> Callable[[Any], Any]:
    from pydantic import TypeAdapter, ValidationError

    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    validate = adapter.validate_python

    def convert(value: Any) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            raise _pydantic_failed(error) from error

    return convert


def _pydantic_failed(error: Any) -> ValidationFailed:
    first, *others = error.errors(include_url=False, include_context=False)
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    more = f" (and {len(others)} more)" if others else ""
    return ValidationFailed(field.lstrip("."), f"{first['msg']}{more}")


def _msgspec(kind: type) -> Codec:
    import msgspec

    dump = msgspec.json.Encoder().encode
    parse: Callable[[bytes], Any] = msgspec.json.Decoder(kind).decode
    check = check_kind(kind)

    def encode(value: Any) -> bytes:
        check(value)
        return dump(value)

    def decode(data: bytes) -> Any:
        try:
            return parse(data)
        except msgspec.DecodeError as error:
            raise _msgspec_failed(error) from None

    return encode, decode


def _msgspec_failed(error: Exception) -> ValidationFailed:
    problem, _, where = str(error).partition(" - at ")
    return ValidationFailed(where.strip("`").removeprefix("$").lstrip("."), problem)


def _protobuf(kind: Any) -> Codec:
    from google.protobuf.message import DecodeError

    check = check_kind(kind)
    parse = kind.FromString

    def encode(value: Any) -> bytes:
        check(value)
        data: bytes = value.SerializeToString(deterministic=True)
        return data

    def decode(data: bytes) -> Any:
        try:
            return parse(data)
        except DecodeError as error:
            raise ValidationFailed("", f"no {kind.__name__}: {error}") from None

    return encode, decode
