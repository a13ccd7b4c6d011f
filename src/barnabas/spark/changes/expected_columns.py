"""The columns that a pipeline reads of a table, and what happens if the table lacks one.

A renamed column would otherwise be NULL in all rows from then on, and nobody would notice.
"""

from collections.abc import Callable, Collection, Sequence

from barnabas.changes.errors import ChangesError
from barnabas.changes.table_shape import TableShape


class ExpectedColumns:
    """Refuses changes of a table without one of these columns.

    Changes from before a column was added lack it too: they pass if the table has it by now.
    """

    def __init__(
        self,
        names: Sequence[str],
        columns_now: Callable[[str, str], Collection[str] | None],
    ) -> None:
        self._names = tuple(names)
        self._columns_now = columns_now
        """The columns of a schema's table; None if the table is gone."""
        self._checked: dict[int, TableShape] = {}
        """By identity, which lasts as long as the shape is kept here."""

    def check(self, table: TableShape) -> None:
        """Raise `ChangesError` if a column is neither in a change of the table nor in the table."""
        if id(table) in self._checked:
            return
        had = [each.name for each in table.columns]
        missing = [each for each in self._names if each not in had]
        now = self._columns_now(table.schema, table.name) if missing else None
        gone = [each for each in missing if now is not None and each not in now]
        if gone:
            raise ChangesError(
                f"table {table.full_name} has no column {' and no column '.join(gone)}; it has "
                f"{', '.join(had)}. If it was renamed, read both names and set "
                "missing_columns=null, for NULL where there is none; otherwise correct the schema"
            )
        self._checked[id(table)] = table
