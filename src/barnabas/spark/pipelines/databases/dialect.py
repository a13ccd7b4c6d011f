"""What differs from one database to another: names, types, statements, drivers."""

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
)

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.databases.session import Session


@dataclass(frozen=True)
class Target:
    """A table, the columns that are written, and those of them that are its key."""

    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(each for each in self.columns if each not in self.key)


class Dialect(ABC):
    """A kind of database."""

    name: ClassVar[str]
    driver: ClassVar[str]
    """The module that connects."""
    extra: ClassVar[str | None] = None
    """The extra of Barnabas that has it."""
    begin: ClassVar[str] = "BEGIN"
    locking: ClassVar[str] = ""
    """Ends a query for a row that the transaction will change."""
    types: ClassVar[dict[type[DataType], str]]

    @abstractmethod
    def connect(self, place: str) -> Session:
        """Open a database; raises what `errors` names."""

    @property
    @abstractmethod
    def errors(self) -> tuple[type[Exception], ...]:
        """What its driver raises."""

    @abstractmethod
    def columns(self, session: Session, table: str) -> list[str]:
        """The columns of a table, none if there is no such table."""

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def table_name(self, table: str) -> str:
        return ".".join(self.quoted(each) for each in table.split("."))

    def check_driver(self) -> None:
        """Say what to install if it is missing."""
        if importlib.util.find_spec(self.driver) is None:
            raise InvalidArgument(
                f"{self.name} needs {self.driver}: pip install 'barnabas[{self.extra}]'"
            )

    def check_table(self, session: Session, target: Target) -> None:
        """Raise `InvalidArgument` if rows could not be merged into the table as promised."""
        del session, target

    def type_name(self, field: StructField, *, is_key: bool) -> str:
        """What a new column has for a type."""
        del is_key
        of_type = field.dataType
        name = self.types.get(type(of_type))
        if name is None:
            raise InvalidArgument(
                f"column {field.name} is of type {of_type.simpleString()}, which {self.name} does "
                "not have: cast it"
            )
        if isinstance(of_type, DecimalType):
            return name.format(of_type.precision, of_type.scale)
        return name

    def creation(self, table: str, fields: Sequence[StructField], key: Sequence[str]) -> str:
        """The statement that makes a table."""
        parts = [
            f"{self.quoted(each.name)} {self.type_name(each, is_key=each.name in key)}"
            for each in fields
        ]
        if key:
            parts.append(f"PRIMARY KEY ({self.listed(key)})")
        return f"CREATE TABLE IF NOT EXISTS {self.table_name(table)} ({', '.join(parts)})"

    def listed(self, names: Iterable[str]) -> str:
        return ", ".join(self.quoted(each) for each in names)

    # -- rows -------------------------------------------------------------------------------------

    mark: ClassVar[str] = "?"
    """Stands for a value in a statement."""

    def insertion(self, target: Target) -> str:
        """The statement that adds a row, or replaces the one with its key."""
        marks = ", ".join(self.mark for _ in target.columns)
        return self._insert(target, f"VALUES ({marks})")

    def put(self, session: Session, target: Target, rows: pa.Table) -> None:
        """Add rows, or replace those with their keys."""
        session.execute_many(self.insertion(target), self.values(rows))

    def remove(self, session: Session, target: Target, rows: pa.Table) -> None:
        """Delete the rows with these keys."""
        same = " AND ".join(f"{self.quoted(each)} = {self.mark}" for each in target.key)
        statement = f"DELETE FROM {self.table_name(target.table)} WHERE {same}"  # noqa: S608 - quoted
        session.execute_many(statement, self.values(rows.select(list(target.key))))

    def values(self, rows: pa.Table) -> Iterator[tuple[Any, ...]]:
        """Rows as the driver takes them."""
        return zip(*(self.column(each).to_pylist() for each in rows.columns), strict=True)

    def column(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """A column as the driver takes it."""
        return values

    def _insert(self, target: Target, what: str) -> str:
        table = self.table_name(target.table)
        statement = f"INSERT INTO {table} ({self.listed(target.columns)}) {what}"
        return f"{statement} {self._on_conflict(target)}" if target.key else statement

    def _on_conflict(self, target: Target) -> str:
        new = ", ".join(
            f"{self.quoted(each)} = excluded.{self.quoted(each)}" for each in target.others
        )
        does = f"UPDATE SET {new}" if new else "NOTHING"
        return f"ON CONFLICT ({self.listed(target.key)}) DO {does}"


def is_nested(of_type: DataType) -> bool:
    """Whether a column is written as JSON."""
    return isinstance(of_type, ArrayType | MapType | StructType)
