"""Changes as columns: records in Debezium's envelope, or rows with what happened to them."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, TypeAlias, get_args

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas.changes.events import Change
from barnabas.errors import InvalidArgument
from barnabas.spark.changes.databases import ChangeDatabase
from barnabas.spark.changes.expected_columns import ExpectedColumns

ChangeFormat = Literal["debezium", "rows"]
FORMATS: Final[tuple[str, ...]] = get_args(ChangeFormat)

_Columns: TypeAlias = tuple[Any, ...]

_BATCH_ROWS = 5_000
_BATCH_CHARACTERS = 4_000_000
"""How many changes are held at a time, so that a transaction of any size can be read."""

ENVELOPE = StructType(
    [
        StructField("topic", StringType()),
        StructField("key", StringType()),
        StructField("value", StringType()),
    ]
)
CHANGE = StructType(
    [
        StructField("op", StringType()),
        StructField("schema", StringType()),
        StructField("table", StringType()),
        StructField("key", StringType()),
        StructField("time", TimestampType()),
        StructField("lsn", LongType()),
        StructField("transaction_id", LongType()),
        StructField("order", LongType()),
        StructField("snapshot", BooleanType()),
        StructField("unavailable", ArrayType(StringType())),
    ]
)
"""Metadata of a change, in addition to the row."""

PLACE = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
    ]
)
"""Where a change is, for error messages about rows and records."""

ROWS = StructType([StructField("value", StringType()), *PLACE.fields, *CHANGE.fields])

_ENVELOPE_ARROW = pa.schema([(name, pa.string()) for name in ENVELOPE.names])
_ROWS_ARROW = pa.schema(
    [
        ("value", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("op", pa.string()),
        ("schema", pa.string()),
        ("table", pa.string()),
        ("key", pa.string()),
        ("time", pa.timestamp("us", tz="UTC")),
        ("lsn", pa.int64()),
        ("transaction_id", pa.int64()),
        ("order", pa.int64()),
        ("snapshot", pa.bool_()),
        ("unavailable", pa.list_(pa.string())),
    ]
)


def schema_of(name: str) -> StructType:
    """The columns of a format."""
    if name not in FORMATS:
        raise InvalidArgument(f"unknown format {name!r} for changes; use {' or '.join(FORMATS)}")
    return ENVELOPE if name == "debezium" else ROWS


def batches_of(
    events: Iterable[Any],
    name: str,
    database: ChangeDatabase,
    expected: ExpectedColumns | None = None,
) -> Iterator[pa.RecordBatch]:
    """Events as Arrow batches of the format; rows have the expected columns."""
    if name == "debezium":
        return _batches(database.records(events), _ENVELOPE_ARROW)
    prefix = database.topic_prefix
    changes = (each for each in events if isinstance(each, Change) and each.op != "t")
    return _batches((_row(each, prefix, expected) for each in changes), _ROWS_ARROW)


def _row(change: Change, prefix: str, expected: ExpectedColumns | None) -> _Columns:
    table, row, transaction = change.table, change.row, change.transaction
    assert row is not None
    if expected is not None:
        expected.check(table)
    return (
        table.row_json(row),
        f"{prefix}.{table.full_name}",
        0,
        change.lsn,
        change.op,
        table.schema,
        table.name,
        table.key_json(row),
        change.time_us,
        change.lsn,
        None if transaction is None else transaction.transaction_id,
        change.total_order,
        transaction is None,
        table.unavailable(row),
    )


def _batches(rows: Iterable[_Columns], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    kept: list[_Columns] = []
    size = 0
    at_value = schema.get_field_index("value")
    for row in rows:
        kept.append(row)
        size += len(row[at_value] or "")
        if len(kept) >= _BATCH_ROWS or size >= _BATCH_CHARACTERS:
            yield _batch(kept, schema)
            kept, size = [], 0
    if kept:
        yield _batch(kept, schema)


def _batch(rows: list[_Columns], schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        pa.array(values, field.type)
        for values, field in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
