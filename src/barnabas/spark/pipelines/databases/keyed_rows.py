"""Rows of a batch as a table takes them: one for each key, and whether it deletes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructField

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.databases.dialect import is_nested
from barnabas.spark.pipelines.deleted_column import DELETED
from barnabas.spark.pipelines.postgres.connection import DatabaseError
from barnabas.spark.pipelines.written_columns import written_columns

Convert = Callable[[StructField], Column]
"""The column of a field, as the table takes it."""

NAME, VALUE = "barnabas_name", "barnabas_value"
"""Columns of rows for stores of names and values."""


@dataclass(frozen=True)
class KeyedRows:
    """Which rows of a batch count, by their keys."""

    key: tuple[str, ...] = ()
    latest_by: str | None = None
    delete_when: str | None = None

    def __post_init__(self) -> None:
        for name in ("latest_by", "delete_when"):
            if not self.key and getattr(self, name) is not None:
                raise InvalidArgument(f"{name} needs a key: name its columns, as key=id")

    def fields(self, rows: DataFrame) -> list[StructField]:
        """The columns that are written."""
        fields = written_columns(rows)
        names = [each.name for each in fields]
        for name in self.key:
            if name not in names:
                raise InvalidArgument(
                    f"no column {name!r} for the key; the rows have {', '.join(names)}"
                )
        return fields

    def prepared(self, rows: DataFrame, convert: Convert | None = None) -> DataFrame:
        """One row for each key, its columns as `convert` makes them; by default nested is JSON."""
        convert = convert or as_written
        columns = [convert(each).alias(each.name) for each in self.fields(rows)]
        if self.delete_when is not None:
            deleted = F.coalesce(F.expr(self.delete_when), F.lit(False))
            columns.append(deleted.alias(DELETED))
        if self.latest_by is None:
            return rows.select(*columns)
        key = [F.col(f"`{name}`") for name in self.key]
        by = F.struct(F.expr(self.latest_by))  # in a struct, NULL comes before all others
        latest = rows.groupBy(*key).agg(F.max_by(F.struct(*columns), by).alias("row"))
        return latest.select("row.*")

    def named(self, rows: DataFrame, value: Column, prefix: str, separator: str) -> DataFrame:
        """A name and a value for each key, for stores of such; the name is NULL if a part is."""
        parts: list[Column] = [F.lit(prefix)]
        for index, name in enumerate(self.key):
            parts += [F.lit(separator)] if index else []
            part = F.col(f"`{name}`").cast("string")
            if len(self.key) > 1:  # or ("a:b", "c") would be ("a", "b:c")
                for special in ("\\", separator):
                    part = F.replace(part, F.lit(special), F.lit(f"\\{special}"))
            parts.append(part)
        columns = [F.concat(*parts).alias(NAME), value.alias(VALUE)]
        if self.delete_when is not None:
            deleted = F.coalesce(F.expr(self.delete_when), F.lit(False))
            columns.append(deleted.alias(DELETED))
        if self.latest_by is None:
            return rows.select(*columns)
        by = F.struct(F.expr(self.latest_by))
        latest = rows.groupBy(F.concat(*parts)).agg(F.max_by(F.struct(*columns), by).alias("row"))
        return latest.select("row.*")

    def check_named(self, names: Iterable[str | None]) -> None:
        """Raise if a row has no key, or several have the same."""
        key, seen = ", ".join(self.key), set()
        for name in names:
            if name is None:
                raise DatabaseError(
                    f"{key} is NULL: a row without its key can't be written; leave such rows out, "
                    f"as with WHERE {self.key[0]} IS NOT NULL"
                )
            if name in seen:
                raise DatabaseError(
                    f"a batch has several rows with the same ({key}): say which one is the last, "
                    'as latest_by="record.offset" or the time of a change'
                )
            seen.add(name)


def as_written(field: StructField) -> Column:
    """A column; what is nested is JSON."""
    column = F.col(f"`{field.name}`")
    if is_nested(field.dataType):
        return F.to_json(column, {"ignoreNullFields": "false"})
    return column


def keys_given(key: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns of a key, as an argument names them."""
    return (key,) if isinstance(key, str) else tuple(key or ())
