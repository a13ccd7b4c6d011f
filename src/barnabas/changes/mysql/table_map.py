"""The event that describes a table before its rows: TABLE_MAP.

    table id (6 bytes), flags (2), database and table (length, name, 0), number of columns,
    a byte for the type of each, their metadata, a bit for each that may be NULL,
    and, as far as `binlog_row_metadata` says: fields of a type, a length and that many bytes

Names of columns, the primary key, and labels of ENUM and SET are there with
`binlog_row_metadata=FULL` alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from barnabas.changes.mysql.column_type import LogType
from barnabas.errors import BarnabasError

_SIGNEDNESS, _DEFAULT_CHARSET, _COLUMN_CHARSET, _COLUMN_NAME = 1, 2, 3, 4
_SET_LABELS, _ENUM_LABELS, _PRIMARY_KEY, _PRIMARY_KEY_PREFIXES = 5, 6, 8, 9

_NUMERIC: Final = frozenset(
    {
        LogType.TINY,
        LogType.SHORT,
        LogType.INT24,
        LogType.LONG,
        LogType.LONGLONG,
        LogType.FLOAT,
        LogType.DOUBLE,
        LogType.NEWDECIMAL,
    }
)
_CHARACTER: Final = frozenset({LogType.STRING, LogType.VAR_STRING, LogType.VARCHAR, LogType.BLOB})
_ONE_BYTE: Final = frozenset(
    {
        LogType.FLOAT,
        LogType.DOUBLE,
        LogType.BLOB,
        LogType.GEOMETRY,
        LogType.JSON,
        LogType.TIME2,
        LogType.DATETIME2,
        LogType.TIMESTAMP2,
    }
)
_TWO_BYTES: Final = frozenset(
    {
        LogType.VARCHAR,
        LogType.BIT,
        LogType.NEWDECIMAL,
        LogType.STRING,
        LogType.VAR_STRING,
        LogType.ENUM,
        LogType.SET,
    }
)


class MalformedEvent(BarnabasError):  # noqa: N818 - its name says what is wrong
    """Bytes that are no event of the binary log."""


@dataclass
class LoggedColumn:
    """What the log says of a column; None where it does not say."""

    kind: LogType
    meta: int
    is_nullable: bool
    name: str | None = None
    is_unsigned: bool | None = None
    collation: int | None = None
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class TableMap:
    """A table."""

    table_id: int
    database: str
    table: str
    columns: tuple[LoggedColumn, ...]
    key: tuple[int, ...] | None
    """Places of the columns of the primary key; None if the log does not say."""

    @property
    def has_names(self) -> bool:
        return bool(self.columns) and self.columns[0].name is not None


def table_id_of(body: bytes) -> int:
    """The table that an event is about."""
    return int.from_bytes(body[:6], "little")


def table_map_of(body: bytes, *, is_mariadb: bool) -> TableMap:
    """From the bytes after the header."""
    try:
        return _parsed(body, is_mariadb)
    except (IndexError, ValueError) as error:
        raise MalformedEvent(f"an event that describes a table is malformed: {error}") from None


def _parsed(body: bytes, is_mariadb: bool) -> TableMap:
    size = body[8]
    database = body[9 : 9 + size].decode()
    at = 10 + size
    size = body[at]
    table = body[at + 1 : at + 1 + size].decode()
    count, at = length_of(body, at + 2 + size)
    types = body[at : at + count]
    size, at = length_of(body, at + count)
    metas = body[at : at + size]
    at += size
    nullable = body[at : at + (count + 7) // 8]
    at += len(nullable)
    columns = []
    place = 0
    for number, of in enumerate(types):
        try:
            kind = LogType(of)
        except ValueError:
            raise MalformedEvent(
                f"column {number + 1} of {database}.{table} has the type {of} in the log, which is "
                "not supported: leave the table out with table.exclude.list"
            ) from None
        width = 1 if kind in _ONE_BYTE else 2 if kind in _TWO_BYTES else 0
        meta = int.from_bytes(metas[place : place + width], "little")
        place += width
        if kind == LogType.STRING:  # which stands for ENUM and SET as well
            real = meta & 0xFF
            kind = LogType(real) if real in (LogType.ENUM, LogType.SET) else kind
        columns.append(LoggedColumn(kind, meta, bool(nullable[number >> 3] >> (number & 7) & 1)))
    # MariaDB counts a geometry among the columns with a character set.
    character = _CHARACTER | {LogType.GEOMETRY} if is_mariadb else _CHARACTER
    key = _described(body, at, columns, character)
    return TableMap(table_id_of(body), database, table, tuple(columns), key)


def _described(
    body: bytes, at: int, columns: Sequence[LoggedColumn], character: frozenset[LogType]
) -> tuple[int, ...] | None:
    """Fill in what the optional fields say; the primary key is the result."""
    key: tuple[int, ...] | None = None
    while at < len(body):
        field = body[at]
        size, at = length_of(body, at + 1)
        data = body[at : at + size]
        at += size
        if field == _SIGNEDNESS:
            for number, column in enumerate(_of(columns, _NUMERIC)):
                column.is_unsigned = bool(data[number >> 3] >> (7 - (number & 7)) & 1)
        elif field == _DEFAULT_CHARSET:
            numbers = list(_numbers(data))
            others = dict(zip(numbers[1::2], numbers[2::2], strict=True))
            for number, column in enumerate(_of(columns, character)):
                column.collation = others.get(number, numbers[0])
        elif field == _COLUMN_CHARSET:
            for column, number in zip(_of(columns, character), _numbers(data), strict=True):
                column.collation = number
        elif field == _COLUMN_NAME:
            for column, name in zip(columns, _texts(data), strict=True):
                column.name = name
        elif field in (_SET_LABELS, _ENUM_LABELS):
            kind = LogType.SET if field == _SET_LABELS else LogType.ENUM
            for column, labels in zip(_of(columns, {kind}), _lists(data), strict=True):
                column.labels = labels
        elif field == _PRIMARY_KEY:
            key = tuple(_numbers(data))
        elif field == _PRIMARY_KEY_PREFIXES:
            key = tuple(list(_numbers(data))[::2])
    # A table without a primary key has no such field, even if all others are there.
    return () if key is None and columns and columns[0].name is not None else key


def _of(
    columns: Sequence[LoggedColumn], kinds: frozenset[LogType] | set[LogType]
) -> Iterator[LoggedColumn]:
    return (each for each in columns if each.kind in kinds)


def length_of(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    first = data[at]
    if first < 0xFB:
        return first, at + 1
    width = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first] if first in (0xFC, 0xFD, 0xFE) else 0
    if not width:
        raise MalformedEvent(f"{first} does not start a length")
    return int.from_bytes(data[at + 1 : at + 1 + width], "little"), at + 1 + width


def _numbers(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        number, at = length_of(data, at)
        yield number


def _text(data: bytes, at: int) -> tuple[str, int]:
    size, at = length_of(data, at)
    return data[at : at + size].decode("utf-8", "replace"), at + size


def _texts(data: bytes) -> Iterator[str]:
    at = 0
    while at < len(data):
        text, at = _text(data, at)
        yield text


def _lists(data: bytes) -> Iterator[tuple[str, ...]]:
    at = 0
    while at < len(data):
        count, at = length_of(data, at)
        found = []
        for _ in range(count):
            text, at = _text(data, at)
            found.append(text)
        yield tuple(found)
