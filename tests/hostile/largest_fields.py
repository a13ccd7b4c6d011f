"""Requests in which one field has the largest size that the listener takes.

They are made from the schema and the route table, so an API that is added is covered at once. A
frame is put together from bytes: an array is the bytes of one element, many times over.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from barnabas.broker.net.dispatcher import Route
from barnabas.broker.routes import routes
from barnabas.wire.primitives import MAX_STRING_BYTES
from tools.codegen.schema import Block, Field, parse

_SCHEMA = Path(__file__).parents[2] / "src/barnabas/wire/schema"
_REQUEST_BYTES = 100 << 20
"""`socket.request.max.bytes`, with room for the header."""
_HEADER_BYTES = 64
LARGEST_BEFORE_SIGN_IN = 512 << 10
"""`sasl.server.max.receive.size`"""

_NAME = b"n-00000000"
_NUMBER = b"\x00\x7a\x7b\x7c"
_UUID = b"topic---n-000000"
_MARKS: dict[bytes, Callable[[int], bytes]] = {
    _NAME: lambda number: b"n-%08d" % number,
    _UUID: lambda number: b"topic---n-%06x" % number,
    _NUMBER: lambda number: number.to_bytes(4),
}
"""In the bytes of one element, what is different in every element if they are to be distinct."""

_STRINGS = {
    "Topic": "t",
    "TopicName": "t",
    "GroupId": "g",
    "TransactionalId": "x",
    "Mechanism": "PLAIN",
    "ClientSoftwareName": "c",
    "ClientSoftwareVersion": "1",
    "ProtocolType": "consumer",
    "EntityType": "user",
    "ResourceName": "t",
}
_FIXED = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "int64": "q",
    "float64": "d",
}
_NUMBERS = {
    "Acks": 1,
    "TimeoutMs": 1000,
    "timeoutMs": 1000,
    "SessionTimeoutMs": 10_000,
    "RebalanceTimeoutMs": 10_000,
    "TransactionTimeoutMs": 10_000,
    "MaxBytes": 1 << 20,
    "PartitionMaxBytes": 1 << 20,
    "ResourceType": 2,
    "ResourceTypeFilter": 2,
    "ReplicaId": -1,
    "Timestamp": -1,
    "NumPartitions": 1,
    "ReplicationFactor": 1,
    "Count": 2,
    "PatternType": 3,
    "ResourcePatternType": 3,
    "PatternTypeFilter": 3,
    "Operation": 3,
    "PermissionType": 3,
}
_NUMBERED = ("PartitionIndex", "Partition", "PartitionId", "PartitionIndexes", "Partitions")


@dataclass(frozen=True)
class Case:
    """One field of one API in one version, at its largest."""

    api: str
    version: int
    field: str
    """The path from the request to it."""
    distinct: bool
    """Whether the elements of the array differ."""
    is_array: bool

    def __str__(self) -> str:
        kind = "" if self.distinct else "-same"
        return f"{self.api}-v{self.version}-{self.field}{kind}"


@cache
def blocks() -> dict[str, Block]:
    """The schema of every request."""
    found = (block for path in sorted(_SCHEMA.glob("*.schema")) for block in parse(path))
    return {block.name: block for block in found if block.kind == "request"}


@cache
def served() -> dict[str, Route[Any]]:
    """The routes by the name of the request."""
    return {route.request_type.__name__: route for route in routes()}


def cases() -> Iterator[Case]:
    """Every field without a fixed size of every API, in its oldest and its newest version."""
    for name, route in served().items():
        for version in sorted({route.min_version, route.max_version}):
            for path, field in _sized(blocks()[name], blocks()[name].fields, version):
                yield Case(name, version, path, distinct=True, is_array=field.is_array)
                if field.is_array and version == route.max_version:
                    yield Case(name, version, path, distinct=False, is_array=True)


def of_many_elements() -> Iterator[Case]:
    """An array of many elements that differ, in the newest version of an API."""
    for case in cases():
        if case.distinct and case.is_array and case.version == served()[case.api].max_version:
            yield case


def _sized(
    block: Block, fields: list[Field], version: int, above: str = ""
) -> Iterator[tuple[str, Field]]:
    for field in fields:
        if version not in field.versions:
            continue
        path = f"{above}{field.name}"
        if field.is_array or field.type in ("string", "bytes", "records"):
            yield path, field
        if field.element not in _FIXED:
            inner = field.fields or block.structs.get(field.element, [])
            yield from _sized(block, inner, version, f"{path}.")


def body(case: Case, max_bytes: int = _REQUEST_BYTES) -> bytes:
    """The request without its header."""
    return _Body(case, served()[case.api], max_bytes).made()


def frame(case: Case, max_bytes: int = _REQUEST_BYTES) -> bytes:
    """The request with its header and length."""
    request = blocks()[case.api]
    header = struct.pack(">hhih", request.key or 0, case.version, 7, 1) + b"c"
    if case.version in request.flexible:
        header += b"\0"
    whole = header + body(case, max_bytes)
    return struct.pack(">i", len(whole)) + whole


class _Body:
    def __init__(self, case: Case, route: Route[Any], max_bytes: int) -> None:
        self._case = case
        self._block = blocks()[case.api]
        self._flexible = case.version in self._block.flexible
        self._max_bytes = min(max_bytes, route.limits.size) - _HEADER_BYTES
        self._max_elements = route.limits.elements
        self._elements = 0
        """Array elements outside of the field that is large."""
        self._outside = 0
        """Bytes outside of it."""

    def made(self) -> bytes:
        made = self._struct(self._block.fields, "", large=False)
        self._outside = len(made)
        self._elements = self._count(self._block.fields, "")
        return self._struct(self._block.fields, "", large=True)

    def _struct(self, fields: list[Field], above: str, *, large: bool) -> bytes:
        made = b""
        tagged: list[tuple[int, bytes]] = []
        for field in fields:
            if self._case.version not in field.versions:
                continue
            value = self._value(field, f"{above}{field.name}", large=large)
            if self._case.version not in field.tagged:
                made += value
            elif self._case.field.startswith(f"{above}{field.name}"):
                tagged.append((field.tag or 0, value))
        if not self._flexible:
            return made
        made += _uvarint(len(tagged))
        for tag, value in sorted(tagged):
            made += _uvarint(tag) + _uvarint(len(value)) + value
        return made

    def _value(self, field: Field, path: str, *, large: bool) -> bytes:
        is_large = large and path == self._case.field
        if field.is_array:
            return self._array(field, path, large=large, is_large=is_large)
        if not field.is_basic:
            nullable = b"\1" if self._case.version in field.nullable else b""
            inner = field.fields or self._block.structs[field.element]
            return nullable + self._struct(inner, f"{path}.", large=large)
        return self._basic(field, path, is_large=is_large)

    def _basic(self, field: Field, path: str, *, is_large: bool) -> bytes:
        kind = field.element
        if kind == "string":
            text = _STRINGS.get(field.name, "t" if "opic" in path else "s").encode()
            if self._case.distinct and path.startswith(f"{self._case.field}"):
                text = _NAME
            return self._sized(b"a" * MAX_STRING_BYTES if is_large else text, 2)
        if kind in ("bytes", "records"):
            room = self._max_bytes - self._outside
            return self._sized(bytes(room) if is_large else b"", 4)
        if kind == "uuid":
            return _UUID
        if kind == "int32" and field.name in _NUMBERED and self._case.distinct:
            return _NUMBER if path.startswith(self._case.field) else bytes(4)
        default = field.default or "0"
        value: float | None = _NUMBERS.get(field.name)
        if value is None:
            is_float = kind == "float64"
            value = default == "true" if kind == "bool" else (float if is_float else int)(default)
        return struct.pack(f">{_FIXED[kind]}", value)

    def _array(self, field: Field, path: str, *, large: bool, is_large: bool) -> bytes:
        inner = field.fields or self._block.structs.get(field.element, [])

        def element() -> bytes:
            if field.is_basic:
                return self._basic(
                    Field(field.name, field.element, field.versions), path, is_large=False
                )
            return self._struct(inner, f"{path}.", large=large)

        if not is_large:
            return self._counted(1) + element()
        one = element()
        weight = 1 + (0 if field.is_basic else self._count(inner, f"{path}."))
        room = self._max_bytes - self._outside
        count = min((self._max_elements - self._elements) // weight + 1, room // (len(one) or 1))
        count = min(count, max(1, self._max_elements // weight - self._elements))
        if not self._case.distinct:
            return self._counted(count) + one * count
        return self._counted(count) + b"".join(_numbered(one, count))

    def _count(self, fields: list[Field], above: str) -> int:
        """The array elements and tagged fields of such a structure, with one in each array."""
        count = 0
        for field in fields:
            path = f"{above}{field.name}"
            if self._case.version not in field.versions:
                continue
            if self._case.version in field.tagged and not self._case.field.startswith(path):
                continue
            count += field.is_array + (self._case.version in field.tagged)
            if not field.is_basic:
                inner = field.fields or self._block.structs.get(field.element, [])
                count += self._count(inner, f"{path}.")
        return count

    def _counted(self, count: int) -> bytes:
        return _uvarint(count + 1) if self._flexible else struct.pack(">i", count)

    def _sized(self, data: bytes, width: int) -> bytes:
        if self._flexible:
            return _uvarint(len(data) + 1) + data
        return struct.pack(">h" if width == 2 else ">i", len(data)) + data


def _numbered(one: bytes, count: int) -> list[bytes]:
    """So many copies of an element, each with its number wherever there is a mark."""
    made = [one]
    for mark, numbers in _MARKS.items():
        if mark in one:
            made = made * count if len(made) == 1 else made
            made = [each.replace(mark, numbers(number)) for number, each in enumerate(made)]
    return made * count if len(made) == 1 else made


def _uvarint(value: int) -> bytes:
    made = b""
    while value > 0x7F:
        made += bytes([value & 0x7F | 0x80])
        value >>= 7
    return made + bytes([value])
