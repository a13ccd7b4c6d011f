"""Rows as Arrow batches of a schema: rows by name, by place, or batches already."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from barnabas.errors import BarnabasError
from barnabas.spark.connector.connector import ReadRows

_BATCH_ROWS = 5_000


class RowError(BarnabasError):
    """A row that a connector read does not fit its schema."""


def row_batches(rows: ReadRows, schema: StructType) -> Iterator[pa.RecordBatch]:
    """The rows, a few thousand at a time."""
    arrow = to_arrow_schema(schema, timezone="UTC")
    kept: list[tuple[Any, ...]] = []
    for row in rows:
        if isinstance(row, pa.RecordBatch):
            if kept:
                yield _batch(kept, arrow)
                kept = []
            yield row
            continue
        kept.append(_values(row, schema))
        if len(kept) >= _BATCH_ROWS:
            yield _batch(kept, arrow)
            kept = []
    if kept:
        yield _batch(kept, arrow)


def _values(row: Any, schema: StructType) -> tuple[Any, ...]:
    if isinstance(row, Mapping):
        unknown = [name for name in row if name not in schema.names]
        if unknown:
            raise RowError(f"column {unknown[0]!r} is not in the schema {schema.simpleString()}")
        return tuple(row.get(name) for name in schema.names)
    values = tuple(row)
    if len(values) != len(schema.names):
        raise RowError(f"a row has {len(values)} values, the schema {len(schema.names)} columns")
    return values


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for values, field in zip(zip(*rows, strict=True), schema, strict=True):
        try:
            columns.append(pa.array(values, field.type))
        except (pa.ArrowException, OverflowError) as error:
            raise RowError(f"column {field.name} is not {field.type}: {error}") from error
        if not field.nullable and columns[-1].null_count:
            raise RowError(f"column {field.name} is NOT NULL, and a row has no value for it")
    return pa.RecordBatch.from_arrays(columns, schema=schema)
