"""The shape of a table, from what PostgreSQL says of it."""

import json
from base64 import b64encode
from collections.abc import Sequence

from barnabas.changes.json_values import quoted
from barnabas.changes.postgres.pgoutput import Relation
from barnabas.changes.postgres.type_catalog import PostgresType, TypeCatalog
from barnabas.changes.postgres.values import Representation, converter
from barnabas.changes.table_filter import TableFilter
from barnabas.changes.table_shape import ShapedColumn, TableShape


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
