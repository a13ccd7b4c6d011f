"""Every message of the schema table, its generated class, and random instances of it.

An instance is drawn with all fields of all versions filled; `in_version` says what is left of it
after a trip through one version. So one draw exercises every version of the message.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Message
from barnabas.wire.primitives import Reader, Writer
from tools.codegen.schema import Block, Field, parse

SCHEMA = Path(__file__).parents[2] / "src/barnabas/wire/schema"

_WIDTHS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_TIMES = ("LifetimeMs", "TimestampMs", "Timestamp", "AppendTimeMs", "RetentionTimeMs")


class KnownMessage:
    """One block of the schema table with the module that was generated from its file."""

    def __init__(self, block: Block, module: str) -> None:
        self.block = block
        self.module = module

    def __repr__(self) -> str:
        return self.block.name

    @property
    def versions(self) -> range:
        return range(self.block.versions.low, self.block.versions.high + 1)

    @property
    def type(self) -> type[Message]:
        return self.struct(self.block.name)

    def struct(self, name: str) -> Any:
        return getattr(import_module(self.module), name)

    def fields_of(self, field: Field) -> list[Field]:
        """The fields of the structure that `field` holds, wherever it is defined."""
        return self.block.structs.get(field.element, field.fields)

    def present(self, fields: list[Field]) -> list[Field]:
        """The fields that some version of this message carries."""
        return [f for f in fields if (v := f.versions.clip(self.block.versions)).low <= v.high]


MESSAGES = [
    KnownMessage(block, f"barnabas.wire.messages.{path.stem}")
    for path in sorted(SCHEMA.glob("*.schema"))
    for block in parse(path)
]


def encode(message: Message, version: int) -> bytes:
    w = Writer()
    message.encode(w, version)
    return w.getvalue()


def decode(known: KnownMessage, data: bytes, version: int) -> Message:
    r = Reader(data)
    message = known.type.decode(r, version)
    assert r.remaining == 0
    return message


# -- random instances ------------------------------------------------------------------------------


def any_value(field: Field) -> st.SearchStrategy[Any]:
    """Any value of a field's basic type."""
    match field.element:
        case "int16" if field.name.endswith("ErrorCode"):
            return st.sampled_from(ErrorCode).map(int)
        case "int64" if field.name == "TransactionStartTimeMs":
            # kio takes none before 1970, not even the -1 of a transaction that has not begun.
            return st.integers(0, 2**47)
        case "int64" if field.name.endswith(_TIMES):
            # kio turns these into dates and durations, which end with the year 9999.
            return st.integers(-1, 2**47)
        case "bool":
            return st.booleans()
        case "float64":
            return st.floats(allow_nan=False)
        case "uint16":
            return st.integers(0, 2**16 - 1)
        case "string":
            return st.text(max_size=6)
        case "bytes" | "records":
            return st.binary(max_size=6)
        case "uuid":
            return st.binary(min_size=16, max_size=16)
        case _:
            bits = _WIDTHS[field.element]
            return st.integers(-(2**bits), 2**bits - 1)


class Instances:
    """Strategies for messages, given one for each field of a basic type."""

    def __init__(
        self,
        basic: Callable[[Field], st.SearchStrategy[Any]] = any_value,
        *,
        has_own: bool = True,
    ) -> None:
        self._basic = basic
        self._has_own = has_own
        """Whether fields are drawn that Kafka does not have."""
        self._known: dict[KnownMessage, st.SearchStrategy[Any]] = {}

    def __call__(self, known: KnownMessage) -> st.SearchStrategy[Any]:
        """Messages with every field of every version drawn."""
        if known not in self._known:
            self._known[known] = self._struct(known, known.block.name, known.block.fields)
        return self._known[known]

    def _struct(
        self, known: KnownMessage, name: str, fields: list[Field]
    ) -> st.SearchStrategy[Any]:
        values = {
            f.attribute: self._value(known, f)
            for f in known.present(fields)
            if self._has_own or not f.is_own
        }
        return st.builds(known.struct(name), **values)

    def _value(self, known: KnownMessage, field: Field) -> st.SearchStrategy[Any]:
        if field.is_basic:
            value = self._basic(field)
        else:
            value = self._struct(known, field.element, known.fields_of(field))
        if field.is_array:
            value = st.lists(value, max_size=2)
        if field.nullable.low <= field.nullable.high:
            value = st.none() | value
        elif _is_tagged_struct(field):
            # None says that it is not there, which is how one with nothing but defaults is sent.
            value = value.map(lambda struct: None if struct == type(struct)() else struct)
        return value


instances = Instances()
kafka_instances = Instances(has_own=False)


def _is_tagged_struct(field: Field) -> bool:
    return field.tag is not None and not field.is_basic and not field.is_array


# -- what a version carries ------------------------------------------------------------------------


def in_version(known: KnownMessage, message: Any, version: int) -> Any:
    """The message as it arrives: a field that the version doesn't carry is at its default, and
    null is empty where the version can't say null."""
    return _in_version(known, message, known.block.fields, version)


def _in_version(known: KnownMessage, struct: Any, fields: list[Field], version: int) -> Any:
    left = type(struct)()
    for f in known.present(fields):
        if version in f.versions:
            value = _carried(known, f, getattr(struct, f.attribute), version)
            setattr(left, f.attribute, value)
    return left


def _carried(known: KnownMessage, field: Field, value: Any, version: int) -> Any:
    if value is None:
        nullable = version in field.nullable or _is_tagged_struct(field)
        return None if nullable else _empty(field)
    if field.is_basic:
        return value
    fields = known.fields_of(field)
    if field.is_array:
        return [_in_version(known, element, fields, version) for element in value]
    return _in_version(known, value, fields, version)


def _empty(field: Field) -> Any:
    if field.is_array:
        return []
    return {"string": "", "bytes": b""}[field.element]
