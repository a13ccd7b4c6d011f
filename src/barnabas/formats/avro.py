"""Avro records without a header, by fastavro: the schema is known to both sides.

A class has its schema with it: `avro_schema()`, as classes of dataclasses-avroschema have, or an
attribute `__avro_schema__`, as JSON or as a dict. `avro(Order, schema)` is for other dataclasses.
"""

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from io import BytesIO
from typing import Any, TypeVar

from barnabas.errors import InvalidArgument, ValidationFailed
from barnabas.formats.avro_bounds import avro_check
from barnabas.formats.conversion import reader_of
from barnabas.formats.libraries import check_kind
from barnabas.formats.named import Format

T = TypeVar("T")


def avro(kind: type[T], schema: str | dict[str, Any]) -> Format[T]:
    """The format of a dataclass or TypedDict whose records are Avro, as this schema says."""
    return avro_format(kind, schema)


def avro_schema_of(kind: Any) -> str | dict[str, Any] | None:
    """The Avro schema that a class has with it."""
    schema = getattr(kind, "__avro_schema__", None) or getattr(kind, "avro_schema", None)
    found: str | dict[str, Any] | None = schema() if callable(schema) else schema
    return found


class _Avro:
    def __init__(self, kind: Any, schema: str | dict[str, Any]) -> None:
        try:
            import fastavro
        except ImportError as error:
            raise InvalidArgument(f"Avro needs fastavro: pip install fastavro ({error})") from error
        given = json.loads(schema) if isinstance(schema, str) else schema
        named: dict[str, Any] = {}
        parsed = fastavro.parse_schema(given, named)
        self.kind = kind
        self.refuses_null = True
        self._parsed = parsed
        self._check_data = avro_check(parsed, named)
        self._write, self._read = fastavro.schemaless_writer, fastavro.schemaless_reader
        self._convert = reader_of(kind, converted=True)
        self._is_dataclass = is_dataclass(kind)
        self._check: Callable[[Any], None] | None = (
            check_kind(kind) if isinstance(kind, type) and self._is_dataclass else None
        )

    def encode(self, value: Any) -> bytes:
        if self._check is not None:
            self._check(value)
        buffer = BytesIO()
        try:
            self._write(buffer, self._parsed, _plain(value))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"does not match the Avro schema: {error}") from error
        return buffer.getvalue()

    def decode(self, data: bytes) -> Any:
        buffer = BytesIO(data)
        try:
            if self._check_data is not None:
                self._check_data(data, 0)
            found = self._read(buffer, self._parsed, None)
        except (EOFError, IndexError, KeyError, TypeError, ValueError) as error:
            problem = str(error) or "it ends too early"
            raise ValidationFailed("", f"no Avro of {self.kind.__name__}: {problem}") from error
        if buffer.tell() != len(data):
            raise ValidationFailed("", f"{len(data) - buffer.tell()} bytes after the Avro record")
        return self._convert(found)

    def __repr__(self) -> str:
        return f"avro({self.kind.__name__})"


def avro_format(kind: Any, schema: str | dict[str, Any]) -> _Avro:
    return _Avro(kind, schema)


def _plain(value: Any) -> Any:
    """Dataclasses as dicts: all else fastavro knows."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value
