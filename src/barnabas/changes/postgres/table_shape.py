"""A table as its rows are written: which columns, which of them are the key, and how as JSON."""

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.changes.postgres.pgoutput import UNCHANGED, Relation, Row, Value
from barnabas.changes.postgres.table_filter import TableFilter
from barnabas.changes.postgres.type_catalog import PostgresType, TypeCatalog
from barnabas.changes.postgres.values import Converter, Representation, converter, quoted
from barnabas.errors import BarnabasError


class UnreadableValue(BarnabasError):  # noqa: N818 - its name says what is wrong
    """The text of a value is not what its type writes."""


@dataclass(frozen=True)
class ShapedColumn:
    """A column that is read."""

    at: int
    """Its place in the rows that PostgreSQL sends."""
    name: str
    label: str
    """Its name in JSON, with the colon."""
    type_name: str
    convert: Converter
    unavailable: str
    """JSON for a value that was not sent."""


@dataclass(frozen=True)
class TableShape:
    """How the rows of a table are written."""

    schema: str
    name: str
    columns: tuple[ShapedColumn, ...]
    key: tuple[ShapedColumn, ...]
    """Empty if the table has neither a primary key nor a replica identity."""
    leaves_out_unavailable: bool
    """Whether values that were not sent are left out, or written as a placeholder."""

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}"

    def row_json(self, row: Row) -> str:
        """A row as a JSON object."""
        return self._json(self.columns, row)

    def key_json(self, row: Row) -> str | None:
        """The key of a row as a JSON object."""
        return self._json(self.key, row) if self.key else None

    def key_values(self, row: Row) -> tuple[Value, ...]:
        return tuple(row[each.at] for each in self.key)

    def unavailable(self, row: Row) -> list[str]:
        """Columns whose values were not sent."""
        return [each.name for each in self.columns if row[each.at] is UNCHANGED]

    def _json(self, columns: Sequence[ShapedColumn], row: Row) -> str:
        parts = []
        for each in columns:
            value = row[each.at]
            if value is None:
                parts.append(f"{each.label}null")
            elif value is UNCHANGED:
                if not self.leaves_out_unavailable:
                    parts.append(f"{each.label}{each.unavailable}")
            else:
                try:
                    parts.append(f"{each.label}{each.convert(value)}")
                except (ValueError, ArithmeticError) as error:
                    raise UnreadableValue(
                        f"table {self.full_name}, column {each.name} of type {each.type_name}: "
                        f"{error}; leave it out with column.exclude.list, and report this"
                    ) from error
        return f"{{{','.join(parts)}}}"


def shape_of(
    relation: Relation,
    primary_key: Sequence[str],
    types: TypeCatalog,
    tables: TableFilter,
    representation: Representation,
    unavailable_value: str,
) -> TableShape:
    """The shape of a table; `primary_key` counts where the replica identity names no key."""
    key_names = [each.name for each in relation.columns if each.is_key]
    if relation.replica_identity not in ("d", "i") or not key_names:
        key_names = list(primary_key)
    plain = representation.decimal == "plain"
    columns = []
    for at, column in enumerate(relation.columns):
        of = types.find(column.type_id)
        columns.append(
            ShapedColumn(
                at,
                column.name,
                f"{quoted(column.name)}:",
                of.name,
                converter(of, column.type_modifier, representation),
                _placeholder(of, unavailable_value, representation),
            )
        )
    by_name = {each.name: each for each in columns}
    return TableShape(
        relation.schema,
        relation.name,
        tuple(
            each
            for each in columns
            if each.name in key_names
            or tables.has_column(relation.schema, relation.name, each.name)
        ),
        tuple(by_name[name] for name in key_names)
        if all(name in by_name for name in key_names)
        else (),
        plain,
    )


def _placeholder(of: PostgresType, text: str, representation: Representation) -> str:
    """What stands for a value that was not sent, of the same JSON type as the value."""
    if of.kind == "domain" and of.of is not None:
        return _placeholder(of.of, text, representation)
    if of.kind == "array":
        if of.of is not None and of.of.name in ("int2", "int4", "int8"):
            return json.dumps(list(text.encode()), separators=(",", ":"))
        return f"[{quoted(text)}]"
    if of.name == "bytea":
        if representation.binary == "hex":
            return quoted(text.encode().hex())
        return quoted(b64encode(text.encode()).decode())
    if of.name == "hstore" and representation.hstore == "map":
        return json.dumps({text: text})
    return quoted(text)
