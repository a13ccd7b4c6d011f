"""Messages of pgoutput as bytes, written by the book: the other half of what is tested."""

import struct
from collections.abc import Sequence

from barnabas.changes.postgres import pgoutput as p


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def row(values: Sequence[p.Value]) -> bytes:
    return struct.pack(">h", len(values)) + b"".join(map(_value, values))


def _value(value: p.Value) -> bytes:
    if value is None:
        return b"n"
    if value is p.UNCHANGED:
        return b"u"
    assert isinstance(value, str)
    data = value.encode()
    return b"t" + struct.pack(">i", len(data)) + data


def encode(message: p.Message) -> bytes:
    match message:
        case p.Begin(lsn, time, number):
            return b"B" + struct.pack(">QqI", lsn, time - p.POSTGRES_EPOCH_US, number)
        case p.Commit(lsn, end, time):
            return b"C\0" + struct.pack(">QQq", lsn, end, time - p.POSTGRES_EPOCH_US)
        case p.Origin(lsn, name):
            return b"O" + struct.pack(">Q", lsn) + text(name)
        case p.Relation(number, schema, name, identity, columns):
            head = struct.pack(">I", number) + text(schema) + text(name) + identity.encode()
            return b"R" + head + struct.pack(">h", len(columns)) + b"".join(map(_column, columns))
        case p.TypeName(number, schema, name):
            return b"Y" + struct.pack(">I", number) + text(schema) + text(name)
        case p.Insert(number, new):
            return b"I" + struct.pack(">I", number) + b"N" + row(new)
        case p.Update(number, old, old_is_key, new):
            before = b"" if old is None else (b"K" if old_is_key else b"O") + row(old)
            return b"U" + struct.pack(">I", number) + before + b"N" + row(new)
        case p.Delete(number, old, old_is_key):
            return b"D" + struct.pack(">I", number) + (b"K" if old_is_key else b"O") + row(old)
        case p.Truncate(numbers, cascade, restart):
            flags = cascade | restart << 1
            return b"T" + struct.pack(f">iB{len(numbers)}I", len(numbers), flags, *numbers)
        case p.LogicalMessage(transactional, lsn, prefix, content):
            head = struct.pack(">BQ", transactional, lsn) + text(prefix)
            return b"M" + head + struct.pack(">i", len(content)) + content


def _column(column: p.Column) -> bytes:
    return (
        bytes([column.is_key])
        + text(column.name)
        + struct.pack(">Ii", column.type_id, column.type_modifier)
    )
