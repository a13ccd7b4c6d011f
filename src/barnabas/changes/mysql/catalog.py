"""What the database says of its tables."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from barnabas.changes.errors import ChangesError
from barnabas.changes.mysql.column_type import BYTES, ColumnType
from barnabas.changes.mysql.connection import Connection, rows
from barnabas.changes.mysql.server_checks import is_mariadb
from barnabas.changes.mysql.table_layout import CatalogColumn
from barnabas.changes.table_filter import TableFilter

_LABEL: Final = re.compile(r"'((?:[^']|'')*)'")
_LENGTH: Final = re.compile(r"\((\d+)\)")
_NOT_CUT: Final = frozenset({"enum", "set", "float", "double", "bit"})
"""Types of keys whose texts do not compare as the values."""


@dataclass(frozen=True)
class CatalogTable:
    """A table as it is now."""

    database: str
    name: str
    columns: tuple[CatalogColumn, ...]
    key: tuple[str, ...]

    @property
    def quoted_name(self) -> str:
        return f"{quoted_name(self.database)}.{quoted_name(self.name)}"

    @property
    def cut_by(self) -> tuple[CatalogColumn, ...]:
        """The columns by which it is read in chunks; none if it is read at once."""
        by_name = {each.name: each for each in self.columns}
        found = tuple(by_name[name] for name in self.key)
        return () if any(each.type.name in _NOT_CUT for each in found) else found


def quoted_name(name: str) -> str:
    """A name as it stands in a statement."""
    return "`" + name.replace("`", "``") + "`"


def tables_of(connection: Connection, chosen: TableFilter) -> list[CatalogTable]:
    """The tables that are read."""
    found = rows(
        connection,
        "SELECT table_schema, table_name FROM information_schema.tables "
        "WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY 1, 2",
    )
    names = [(str(database), str(name)) for database, name in found]
    tables = [
        table_of(connection, database, name)
        for database, name in names
        if chosen.has_table(database, name)
    ]
    return [each for each in tables if each is not None]


def check_tables(found: Iterable[CatalogTable], chosen: TableFilter) -> None:
    """Each name that is asked for has to match a table."""
    names = [f"{each.database}.{each.name}" for each in found]
    for pattern in chosen.tables:
        if not any(pattern.fullmatch(name) for name in names):
            raise ChangesError(
                f"table.include.list: no table matches {pattern.pattern!r}; names are "
                "database.table, and the user needs SELECT on the table to see it"
            )
    if not names:
        raise ChangesError("no table matches: set table.include.list or database.include.list")


def table_of(connection: Connection, database: str, name: str) -> CatalogTable | None:
    """A table, or None if there is none."""
    columns = rows(
        connection,
        "SELECT column_name, data_type, column_type, is_nullable, character_set_name, "
        "numeric_scale, datetime_precision FROM information_schema.columns "
        "WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
        (database, name),
    )
    if not columns:
        return None
    key = rows(
        connection,
        "SELECT column_name FROM information_schema.statistics WHERE table_schema = %s "
        "AND table_name = %s AND index_name = 'PRIMARY' ORDER BY seq_in_index",
        (database, name),
    )
    return CatalogTable(
        database,
        name,
        tuple(_column(*each) for each in columns),
        tuple(str(row[0]) for row in key),
    )


def charsets_of(connection: Connection) -> dict[int, str]:
    """Character sets by the numbers of collations."""
    view = "collation_character_set_applicability" if is_mariadb(connection) else "collations"
    found = rows(
        connection,
        f"SELECT id, character_set_name FROM information_schema.{view} WHERE id IS NOT NULL",  # noqa: S608 - ours
    )
    return {int(number): str(charset) for number, charset in found}


def _column(
    name: str,
    data_type: str,
    column_type: Any,
    is_nullable: str,
    charset: str | None,
    scale: str | None,
    precision: str | None,
) -> CatalogColumn:
    data_type = str(data_type).lower()
    whole = column_type.decode() if isinstance(column_type, bytes) else str(column_type)
    length = _LENGTH.search(whole) if data_type in ("bit", "binary") else None
    labels = tuple(each.replace("''", "'") for each in _LABEL.findall(whole))
    return CatalogColumn(
        str(name),
        ColumnType(
            data_type,
            " unsigned" in whole or "zerofill" in whole,
            is_nullable == "YES",
            int((scale if data_type == "decimal" else precision) or 0),
            int(length[1]) if length else 0,
            None if data_type in BYTES else charset,
            labels if data_type in ("enum", "set") else (),
        ),
    )
