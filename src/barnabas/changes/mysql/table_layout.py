"""How the rows of a table are in the log: which decoder for which column."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from barnabas.changes.mysql.binlog_events import Rows
from barnabas.changes.mysql.column_type import IN_LOG, ColumnType, LogType
from barnabas.changes.mysql.json_document import json_decoder
from barnabas.changes.mysql.row_values import ADDRESSES, Decoder, address_decoder, decoder
from barnabas.changes.mysql.table_map import LoggedColumn, MalformedEvent, TableMap
from barnabas.changes.rows import Row, Value

_BINARY_COLLATION = 63

Images: TypeAlias = tuple[Row | None, Row | None]
"""A row before a change and after it."""


@dataclass(frozen=True)
class CatalogColumn:
    """A column as the database has it now."""

    name: str
    type: ColumnType


@dataclass(frozen=True)
class TableLayout:
    """The columns of a table at the time of an event, and how their values are read."""

    columns: tuple[CatalogColumn, ...]
    key: tuple[str, ...]
    decoders: tuple[Decoder, ...]

    def images(self, rows: Rows) -> Iterator[Images]:
        """The rows of an event."""
        if rows.width != len(self.decoders):
            raise MalformedEvent(
                f"rows of {rows.width} columns, of a table that has {len(self.decoders)}"
            )
        every = (1 << rows.width) - 1
        if rows.before != every or rows.after != every:
            raise MalformedEvent(
                "the log has some columns of a row only: SET GLOBAL binlog_row_image = FULL, and "
                "start again with a new snapshot"
            )
        data, at = rows.data, 0
        try:
            while at < len(data):
                first, at = self._row(data, at)
                if rows.op == "u":
                    second, at = self._row(data, at)
                    yield first, second
                else:
                    yield (None, first) if rows.op == "c" else (first, None)
        except IndexError as error:
            raise MalformedEvent(f"a row in the log is cut off: {error}") from None

    def about(self, rows: Rows) -> int:
        """About how many rows an event has, from the size of its first."""
        if not rows.data:
            return 0
        _, size = self._row(rows.data, 0)
        return max(1, len(rows.data) // (size * (2 if rows.op == "u" else 1)))

    def _row(self, data: bytes, at: int) -> tuple[Row, int]:
        decoders = self.decoders
        width = (len(decoders) + 7) // 8
        nulls = int.from_bytes(data[at : at + width], "little")
        at += width
        values: list[Value] = []
        for decode in decoders:
            if nulls & 1:
                values.append(None)
            else:
                value, at = decode(data, at)
                values.append(value)
            nulls >>= 1
        if at > len(data):
            raise MalformedEvent("a row in the log is cut off")
        return tuple(values), at


def layout_of(
    described: TableMap,
    now: Mapping[str, CatalogColumn],
    key_now: tuple[str, ...],
    charsets: Mapping[int, str],
) -> TableLayout | None:
    """The layout for an event; None if neither the log nor the catalog says what the columns are.

    The log has names and keys with `binlog_row_metadata=FULL`. Without, they are those of the
    catalog as it is now, if its columns have the types that the log has.
    """
    logged = described.columns
    names = [each.name for each in logged]
    if not described.has_names:
        if len(now) != len(logged):
            return None
        names = list(now)
    columns, decoders = [], []
    for name, each in zip(names, logged, strict=True):
        assert name is not None
        known = now.get(name)
        if known is not None and not _fits(each, known.type):
            known = None
        if known is None and not described.has_names:
            return None
        of = _type(each, None if known is None else known.type, charsets)
        columns.append(CatalogColumn(name, of))
        decoders.append(_decoder(each, of))
    key = tuple(str(names[at]) for at in described.key) if described.key is not None else key_now
    return TableLayout(tuple(columns), key, tuple(decoders))


def _fits(logged: LoggedColumn, of: ColumnType) -> bool:
    if of.name not in IN_LOG[logged.kind]:
        return False
    is_binary = logged.collation == _BINARY_COLLATION
    return logged.collation is None or of.name in ADDRESSES or is_binary == (of.charset is None)


def _type(
    logged: LoggedColumn, known: ColumnType | None, charsets: Mapping[int, str]
) -> ColumnType:
    """What the log says counts, and the catalog where it says nothing."""
    kind, meta = logged.kind, logged.meta
    charset = None if known is None else known.charset
    if logged.collation is not None and logged.collation != _BINARY_COLLATION:
        charset = charsets.get(logged.collation, charset or "utf8mb4")
    is_unsigned = logged.is_unsigned
    if is_unsigned is None:
        is_unsigned = known is not None and known.is_unsigned
    scale = length = 0
    if kind == LogType.NEWDECIMAL:
        scale = meta >> 8
    elif kind in (LogType.TIME2, LogType.DATETIME2, LogType.TIMESTAMP2):
        scale = meta
    elif kind == LogType.BIT:
        length = (meta >> 8) * 8 + (meta & 0xFF)
    elif kind == LogType.STRING:
        length = meta >> 8 | ((meta & 0x30) ^ 0x30) << 4
    labels = logged.labels or (() if known is None else known.labels)
    name = _name(kind, charset) if known is None else known.name
    return ColumnType(name, is_unsigned, logged.is_nullable, scale, length, charset, labels)


def _name(kind: LogType, charset: str | None) -> str:
    if kind in (LogType.VARCHAR, LogType.VAR_STRING):
        return "varbinary" if charset is None else "varchar"
    if kind == LogType.STRING:
        return "binary" if charset is None else "char"
    if kind == LogType.BLOB:
        return "blob" if charset is None else "text"
    if kind == LogType.GEOMETRY:
        return "geometry"
    return next(iter(IN_LOG[kind]))


def _decoder(logged: LoggedColumn, of: ColumnType) -> Decoder:
    if logged.kind == LogType.JSON:
        return json_decoder(logged.meta)
    if of.name in ADDRESSES:
        return address_decoder(of.name)
    return decoder(
        logged.kind,
        logged.meta,
        is_unsigned=of.is_unsigned,
        charset=of.charset,
        labels=of.labels,
    )
