"""Events of the binary log, from bytes.

    header  time (4 bytes), type (1), server (4), size (4), end in the file (4), flags (2)
    body    depends on the type

A transaction is an event with its GTID (or a BEGIN), events that describe tables, rows, and an XID
event or a COMMIT. Rows of one table and of one kind share an event, of about 8 kB.
"""

import struct
import zlib
from typing import Final, NamedTuple

from barnabas.changes.mysql.table_map import MalformedEvent, length_of

HEADER_BYTES: Final = 19

QUERY, ROTATE, FORMAT, XID, TABLE_MAP = 2, 4, 15, 16, 19
GTID, ANONYMOUS_GTID, XA_PREPARE, PARTIAL_UPDATE, PAYLOAD, TAGGED_GTID = 33, 34, 38, 39, 40, 42
MARIADB_GTID, QUERY_COMPRESSED = 162, 165
_INSERTS, _UPDATES, _DELETES = {23, 30, 166, 169}, {24, 31, 167, 170}, {25, 32, 168, 171}
ROWS: Final = {
    **dict.fromkeys(_INSERTS, "c"),
    **dict.fromkeys(_UPDATES, "u"),
    **dict.fromkeys(_DELETES, "d"),
}
_SECOND_VERSION: Final = {30, 31, 32, 169, 170, 171}
_COMPRESSED: Final = frozenset(range(165, 172))
_STANDALONE: Final = 1


class BinlogEvent(NamedTuple):
    """An event, with its place in the log."""

    kind: int
    time_s: int
    server_id: int
    file: str
    start: int
    """Where it starts in the file."""
    end: int
    body: bytes


class Gtid(NamedTuple):
    """The start of a transaction."""

    text: str | None
    number: int
    is_standalone: bool
    """Whether it is a single statement, without a COMMIT."""


class Query(NamedTuple):
    """A statement, as BEGIN or a change of a table's definition."""

    thread_id: int
    database: str
    text: str


class Rows(NamedTuple):
    """Rows of a table, still as bytes."""

    table_id: int
    op: str
    data: bytes
    before: int
    """Which columns are there, as bits: before the change, or of its only row."""
    after: int
    width: int
    """Columns of the table."""


def gtid_of(event: BinlogEvent) -> Gtid:
    """From an event that starts a transaction."""
    body = event.body
    if event.kind == MARIADB_GTID:
        number, domain, flags = struct.unpack_from("<QIB", body)
        text = f"{domain}-{event.server_id}-{number}"
        return Gtid(text, number, bool(flags & _STANDALONE))
    if event.kind == GTID:
        source = body[1:17].hex()
        number = int.from_bytes(body[17:25], "little")
        parts = (source[:8], source[8:12], source[12:16], source[16:20], source[20:])
        return Gtid(f"{'-'.join(parts)}:{number}", number, False)
    return Gtid(None, event.start, False)


def query_of(event: BinlogEvent) -> Query:
    """From an event with a statement."""
    body = event.body
    thread, _, size, _, variables = struct.unpack_from("<IIBHH", body)
    at = 13 + variables
    database = body[at : at + size].decode("utf-8", "replace")
    text = body[at + size + 1 :]
    if event.kind == QUERY_COMPRESSED:
        text = _inflated(text)
    return Query(thread, database, text.decode("utf-8", "replace").strip())


def rows_of_event(event: BinlogEvent) -> Rows:
    """From an event with rows."""
    body, kind = event.body, event.kind
    try:
        at = 8
        if kind in _SECOND_VERSION:
            at += int.from_bytes(body[8:10], "little")
        count, at = length_of(body, at)
        width = (count + 7) // 8
        before = after = int.from_bytes(body[at : at + width], "little")
        at += width
        if ROWS[kind] == "u":
            after = int.from_bytes(body[at : at + width], "little")
            at += width
        data = _inflated(body[at:]) if kind in _COMPRESSED else body[at:]
    except IndexError:
        raise MalformedEvent(f"an event with rows is cut off, at {event.start}") from None
    return Rows(int.from_bytes(body[:6], "little"), ROWS[kind], data, before, after, count)


def _inflated(data: bytes) -> bytes:
    """What MariaDB compressed (`log_bin_compress`): a byte with the size of the length, and it."""
    return zlib.decompress(data[1 + (data[0] & 7) :])


def ends_transaction(event: BinlogEvent) -> bool:
    """Whether another transaction may start after it."""
    if event.kind in (XID, XA_PREPARE):
        return True
    if event.kind not in (QUERY, QUERY_COMPRESSED):
        return False
    word = query_of(event).text[:12].upper()
    return word in ("COMMIT", "ROLLBACK") or not word.startswith(
        ("BEGIN", "SAVEPOINT", "ROLLBACK TO")
    )
