"""The shape of a table, from its columns."""

from collections.abc import Sequence

from barnabas.changes.json_values import quoted
from barnabas.changes.mysql.table_layout import CatalogColumn
from barnabas.changes.mysql.values import Representation, converter
from barnabas.changes.table_filter import TableFilter
from barnabas.changes.table_shape import ShapedColumn, TableShape


def shape_of(
    database: str,
    name: str,
    columns: Sequence[CatalogColumn],
    key: Sequence[str],
    tables: TableFilter,
    representation: Representation,
) -> TableShape:
    """The shape of a table with these columns."""
    shaped = [
        ShapedColumn(
            at,
            each.name,
            f"{quoted(each.name)}:",
            each.type.name,
            converter(each.type, representation),
            "null",  # nothing is left out of the log
        )
        for at, each in enumerate(columns)
    ]
    by_name = {each.name: each for each in shaped}
    return TableShape(
        database,
        name,
        tuple(
            each
            for each in shaped
            if each.name in key or tables.has_column(database, name, each.name)
        ),
        tuple(by_name[each] for each in key),
        leaves_out_unavailable=True,
    )
