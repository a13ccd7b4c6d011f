"""What a database says of its tables and types."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.changes.errors import ChangesError
from barnabas.changes.postgres.pgoutput import Column, Relation
from barnabas.changes.postgres.type_catalog import TypeRow
from barnabas.changes.table_filter import TableFilter

if TYPE_CHECKING:
    from psycopg import Connection


class Table(NamedTuple):
    """A table that is read."""

    quoted_name: str
    schema: str
    name: str
    number: int
    is_partitioned: bool
    replica_identity: str
    primary_key: tuple[str, ...]
    key_types: tuple[str, ...]
    """As SQL writes them."""
    key_schemas: tuple[str, ...]
    """Quoted schemas of the types of its key, which have the operators that compare keys."""

    @property
    def says_which_row(self) -> bool:
        """Whether updates and deletes name their row, without which PostgreSQL refuses them."""
        if self.replica_identity == "d":
            return bool(self.primary_key)
        return self.replica_identity in ("f", "i")


_PRIMARY_KEY = """
    SELECT coalesce(array_agg(a.attname::text ORDER BY k.position), '{}')
    FROM pg_catalog.pg_index i, unnest(i.indkey) WITH ORDINALITY k(number, position),
         pg_catalog.pg_attribute a
    WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid AND a.attnum = k.number
"""


_KEY_SCHEMAS = """
    SELECT coalesce(array_agg(DISTINCT y.typnamespace::regnamespace::text), '{}')
    FROM pg_catalog.pg_index i, unnest(i.indkey) k(number), pg_catalog.pg_attribute a,
         pg_catalog.pg_type y
    WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid AND a.attnum = k.number
          AND y.oid = a.atttypid
"""

_KEY_TYPES = """
    SELECT coalesce(
        array_agg(format_type(a.atttypid, a.atttypmod) ORDER BY k.position), '{}')
    FROM pg_catalog.pg_index i, unnest(i.indkey) WITH ORDINALITY k(number, position),
         pg_catalog.pg_attribute a
    WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid AND a.attnum = k.number
"""

_TABLES = f"""
    SELECT format('%I.%I', n.nspname, c.relname), n.nspname::text, c.relname::text, c.oid::bigint,
           c.relkind = 'p', c.relreplident::text, ({_PRIMARY_KEY}), ({_KEY_TYPES}),
           ({_KEY_SCHEMAS})
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p'
          AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    ORDER BY 2, 3
"""  # noqa: S608 - of constants


def tables_of(connection: "Connection[Any]", chosen: TableFilter) -> list[Table]:
    """The tables that are chosen, by name. A partitioned table counts as one."""
    found = [Table._make([*row[:6], *map(tuple, row[6:])]) for row in connection.execute(_TABLES)]
    return [each for each in found if chosen.has_table(each.schema, each.name)]


def table_named(
    connection: "Connection[Any]", chosen: TableFilter, quoted_name: str
) -> Table | None:
    """One of the chosen tables; None if it is not there, or not chosen any more."""
    found = tables_of(connection, chosen)
    return next((each for each in found if each.quoted_name == quoted_name), None)


def check_tables(tables: Sequence[Table], chosen: TableFilter) -> None:
    """Refuse to read nothing, and tables whose updates a publication would make impossible."""
    if not tables:
        shown = ", ".join(each.pattern for each in chosen.tables) or "(not set)"
        raise ChangesError(
            f"no table is chosen; table.include.list is {shown}: it takes regular expressions for "
            "schema.table, such as public.orders"
        )
    nameless = [each.quoted_name for each in tables if not each.says_which_row]
    if nameless:
        first = nameless[0]
        raise ChangesError(
            f"{', '.join(nameless)} without a primary key: PostgreSQL refuses updates and deletes "
            "of a published table that can't name the row. Add a primary key, or ALTER TABLE "
            f"{first} REPLICA IDENTITY FULL, or leave it out (table.exclude.list)"
        )


def primary_key_of(connection: "Connection[Any]", relation_id: int) -> tuple[str, ...]:
    """The columns of a table's primary key."""
    row = connection.execute(
        f"SELECT ({_PRIMARY_KEY}) FROM pg_catalog.pg_class c WHERE c.oid = %s",  # noqa: S608
        (relation_id,),
    ).fetchone()
    return () if row is None else tuple(row[0])


def relation_of(connection: "Connection[Any]", table: Table) -> Relation:
    """A table as pgoutput would describe it: without generated columns."""
    rows = connection.execute(
        "SELECT attname::text, atttypid::bigint, atttypmod FROM pg_catalog.pg_attribute "
        "WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped AND attgenerated = '' "
        "ORDER BY attnum",
        (table.number,),
    ).fetchall()
    columns = tuple(
        Column(name, type_id, modifier, name in table.primary_key)
        for name, type_id, modifier in rows
    )
    return Relation(table.number, table.schema, table.name, table.replica_identity, columns)


def type_rows(connection: "Connection[Any]", numbers: Iterable[int]) -> list[TypeRow]:
    """Types by their numbers, as far as there are such."""
    rows = connection.execute(
        # Only what `typsubscript` says is an array is one: a point has elements too.
        "SELECT oid::bigint, typname::text, typtype::text, "
        "CASE WHEN typsubscript = 'pg_catalog.array_subscript_handler'::regproc "
        "THEN typelem::bigint ELSE 0 END, typbasetype::bigint, typtypmod "
        "FROM pg_catalog.pg_type WHERE oid = ANY (%s)",
        (list(numbers),),
    ).fetchall()
    return [TypeRow(*row) for row in rows]
