"""Messages of pgoutput, the output plugin of PostgreSQL's logical replication, protocol version 1.

A message is one byte for its kind and its fields, numbers in network byte order, strings ended by a
zero byte. A row ("tuple") is an int16 count and for each column one byte: `n` NULL, `u` a TOAST
value that has not changed and is not sent, `t` an int32 length and that many bytes of text.

Transactions come whole, in the order of their commits: Begin, changes, Commit. A Relation message
describes a table before its first change, and again after the table has changed.

Left out: protocol versions 2 to 4 (parts of transactions before they commit, two-phase commits),
and values in binary format. Neither is sent unless it is asked for.
"""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from barnabas.changes.rows import UNCHANGED, Row, Value
from barnabas.errors import BarnabasError

POSTGRES_EPOCH_US: Final = 946_684_800_000_000
"""2000-01-01, where PostgreSQL's clock starts, in microseconds since 1970."""


class MalformedMessage(BarnabasError):  # noqa: N818 - its name says what is wrong
    """Bytes that are no message of pgoutput, version 1."""


class Begin(NamedTuple):
    """A transaction starts; `commit_lsn` is the position of its commit record."""

    commit_lsn: int
    commit_time_us: int
    """Since 1970."""
    transaction_id: int


class Commit(NamedTuple):
    """A transaction ends; the next one commits at `end_lsn` or later."""

    commit_lsn: int
    end_lsn: int
    commit_time_us: int


class Origin(NamedTuple):
    """The server on which the transaction was committed first, if it was replicated."""

    commit_lsn: int
    name: str


class Column(NamedTuple):
    """A column of a table."""

    name: str
    type_id: int
    type_modifier: int
    is_key: bool
    """Whether it is part of the replica identity."""


class Relation(NamedTuple):
    """A table as it is for the changes that follow."""

    relation_id: int
    schema: str
    name: str
    replica_identity: str
    """`d` default (the primary key), `i` an index, `f` full, `n` nothing."""
    columns: tuple[Column, ...]


class TypeName(NamedTuple):
    """The name of a type that is not built in."""

    type_id: int
    schema: str
    name: str


class Insert(NamedTuple):
    """A new row."""

    relation_id: int
    new: Row


class Update(NamedTuple):
    """A changed row. `old` is there if the replica identity is full, or if it has changed."""

    relation_id: int
    old: Row | None
    old_is_key: bool
    """Whether `old` has only the replica identity, and NULL elsewhere."""
    new: Row


class Delete(NamedTuple):
    """A deleted row."""

    relation_id: int
    old: Row
    old_is_key: bool


class Truncate(NamedTuple):
    """Tables that were emptied."""

    relation_ids: tuple[int, ...]
    cascade: bool
    restart_identity: bool


class LogicalMessage(NamedTuple):
    """What `pg_logical_emit_message` wrote; outside of a transaction if not `transactional`."""

    transactional: bool
    lsn: int
    prefix: str
    content: bytes


Message: TypeAlias = (
    Begin
    | Commit
    | Origin
    | Relation
    | TypeName
    | Insert
    | Update
    | Delete
    | Truncate
    | LogicalMessage
)


def decode(data: bytes) -> Message:
    """The message in these bytes; raises `MalformedMessage`."""
    if not data:
        raise MalformedMessage("an empty message of pgoutput")
    read = _READERS.get(data[0])
    if read is None:
        raise MalformedMessage(
            f"unknown message {data[:1]!r} of pgoutput; protocol version 1 is understood"
        )
    try:
        cursor = _Cursor(data)
        message = read(cursor)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise MalformedMessage(
            f"message {data[:1]!r} of pgoutput, {len(data)} bytes, is malformed: {error}"
        ) from None
    if cursor.at != len(data):
        raise MalformedMessage(
            f"message {data[:1]!r} of pgoutput has {len(data) - cursor.at} bytes too many"
        )
    return message


_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_UINT32 = struct.Struct(">I")
_UINT64 = struct.Struct(">Q")
_INT64 = struct.Struct(">q")

_NULL, _UNCHANGED, _TEXT, _BINARY = b"nutb"
_KEY, _OLD, _NEW = b"KON"


class _Cursor:
    """Reads fields one after the other."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 1

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self, layout: struct.Struct) -> int:
        (found,) = layout.unpack_from(self.data, self.at)
        self.at += layout.size
        return int(found)

    def text(self) -> str:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise MalformedMessage(f"message {self.data[:1]!r} of pgoutput: a string has no end")
        found = self.data[self.at : end].decode()
        self.at = end + 1
        return found

    def sized(self) -> bytes:
        size = self.number(_INT32)
        end = self.at + size
        if size < 0 or end > len(self.data):
            raise MalformedMessage(
                f"message {self.data[:1]!r} of pgoutput: a value of {size} bytes, and "
                f"{len(self.data) - self.at} are left"
            )
        found = self.data[self.at : end]
        self.at = end
        return found

    def time(self) -> int:
        return self.number(_INT64) + POSTGRES_EPOCH_US

    def row(self) -> Row:
        """The values of a row: in one loop, since most of the time is spent here."""
        count, data, at = self._count(), self.data, self.at
        values: list[Value] = []
        for _ in range(count):
            kind = data[at]
            at += 1
            if kind == _TEXT:
                start = at + 4
                at = start + _INT32.unpack_from(data, at)[0]
                if not start <= at <= len(data):
                    raise MalformedMessage(
                        f"message {data[:1]!r} of pgoutput: a value of {at - start} bytes, and "
                        f"{len(data) - start} are left"
                    )
                values.append(data[start:at].decode())
            elif kind == _NULL:
                values.append(None)
            elif kind == _UNCHANGED:
                values.append(UNCHANGED)
            elif kind == _BINARY:
                raise MalformedMessage("a value in binary format, which was not asked for")
            else:
                raise MalformedMessage(
                    f"unknown kind of value {bytes([kind])!r} in a row of pgoutput"
                )
        self.at = at
        return tuple(values)

    def _count(self) -> int:
        count = self.number(_INT16)
        if count < 0:
            raise MalformedMessage(f"message {self.data[:1]!r} of pgoutput: {count} columns")
        return count

    def columns(self) -> tuple[Column, ...]:
        return tuple([self._column() for _ in range(self._count())])

    def _column(self) -> Column:
        is_key = bool(self.byte() & 1)
        return Column(self.text(), self.number(_UINT32), self.number(_INT32), is_key)

    def tag(self, *expected: int) -> int:
        found = self.byte()
        if found not in expected:
            raise MalformedMessage(
                f"message {self.data[:1]!r} of pgoutput: unexpected {bytes([found])!r} before a row"
            )
        return found


def _begin(cursor: _Cursor) -> Begin:
    return Begin(cursor.number(_UINT64), cursor.time(), cursor.number(_UINT32))


def _commit(cursor: _Cursor) -> Commit:
    cursor.byte()  # flags, of which there are none yet
    return Commit(cursor.number(_UINT64), cursor.number(_UINT64), cursor.time())


def _origin(cursor: _Cursor) -> Origin:
    return Origin(cursor.number(_UINT64), cursor.text())


def _relation(cursor: _Cursor) -> Relation:
    relation_id, schema, name = cursor.number(_UINT32), cursor.text(), cursor.text()
    # An empty schema stands for the one of the system's own tables.
    return Relation(relation_id, schema or "pg_catalog", name, chr(cursor.byte()), cursor.columns())


def _type(cursor: _Cursor) -> TypeName:
    return TypeName(cursor.number(_UINT32), cursor.text() or "pg_catalog", cursor.text())


def _insert(cursor: _Cursor) -> Insert:
    relation_id = cursor.number(_UINT32)
    cursor.tag(_NEW)
    return Insert(relation_id, cursor.row())


def _update(cursor: _Cursor) -> Update:
    relation_id = cursor.number(_UINT32)
    tag = cursor.tag(_KEY, _OLD, _NEW)
    old = None
    if tag != _NEW:
        old = cursor.row()
        cursor.tag(_NEW)
    return Update(relation_id, old, tag == _KEY, cursor.row())


def _delete(cursor: _Cursor) -> Delete:
    relation_id = cursor.number(_UINT32)
    tag = cursor.tag(_KEY, _OLD)
    return Delete(relation_id, cursor.row(), tag == _KEY)


def _truncate(cursor: _Cursor) -> Truncate:
    count, flags = cursor.number(_INT32), cursor.byte()
    if not 0 <= count <= len(cursor.data):
        raise MalformedMessage(f"message b'T' of pgoutput: {count} tables")
    relation_ids = tuple([cursor.number(_UINT32) for _ in range(count)])
    return Truncate(relation_ids, bool(flags & 1), bool(flags & 2))


def _message(cursor: _Cursor) -> LogicalMessage:
    return LogicalMessage(
        bool(cursor.byte() & 1), cursor.number(_UINT64), cursor.text(), cursor.sized()
    )


_READERS: dict[int, Callable[[_Cursor], Message]] = {
    ord("B"): _begin,
    ord("C"): _commit,
    ord("O"): _origin,
    ord("R"): _relation,
    ord("Y"): _type,
    ord("I"): _insert,
    ord("U"): _update,
    ord("D"): _delete,
    ord("T"): _truncate,
    ord("M"): _message,
}
