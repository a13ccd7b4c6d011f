"""A table as its rows are written: which columns, which of them are the key, and how as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.changes.json_values import Converter
from barnabas.changes.rows import UNCHANGED, Row, Value
from barnabas.errors import BarnabasError


class UnreadableValue(BarnabasError):  # noqa: N818 - its name says what is wrong
    """The text of a value is not what its type writes."""


@dataclass(frozen=True)
class ShapedColumn:
    """A column that is read."""

    at: int
    """Its place in the rows that the database sends."""
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
