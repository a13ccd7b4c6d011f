"""Records of a topic as rows: which columns a row has, by the schema of the values."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructField, StructType

from barnabas.spark.decoding.registered_schemas import REGISTRY
from barnabas.spark.pipelines.errors.source_errors import SourceError, part_of_source
from barnabas.spark.pipelines.formats.ddl import mistake_in
from barnabas.spark.pipelines.formats.json_values import JsonValues
from barnabas.spark.pipelines.formats.value_format import FormatName, ValueFormat
from barnabas.spark.pipelines.formats.values import value_format
from barnabas.spark.pipelines.pipeline_end import resolved_path
from barnabas.spark.pipelines.sources.feed import Fed, Record
from barnabas.spark.pipelines.traces.trace_column import trace_column
from barnabas.spark.source.record_decoding import PREFIX, RecordDecoding, Undecodable
from barnabas.spark.source.schema import schema_of

ALL_COLUMNS = schema_of(headers=True)
PLACE = ("topic", "partition", "offset")

_AVRO_TEXT = ("{", '"')


def columns_of_records(wanted: Sequence[str]) -> StructType:
    """The schema of these columns of a record."""
    return StructType([each for each in ALL_COLUMNS.fields if each.name in set(wanted)])


def values_of(name: FormatName, schema: str | StructType) -> ValueFormat:
    """The format of the values; errors name the schema as their place."""
    with part_of_source("schema"):
        values = value_format(name, schema)
        _ = values.fields  # Spark parses it now, and its errors don't say what it parsed
        return values


def kept_columns(key: str | None, record: Sequence[str], *, traces: bool = False) -> list[Column]:
    """Columns of a record that are kept in addition to those of its value."""
    kept = [] if key is None else [key_text().alias(key)]
    if record:
        kept.append(F.struct(*record).alias("record"))
    return [*kept, trace_column(F.col("headers"))] if traces else kept


def key_text(column: str = "key") -> Column:
    """The key of a record, as a string."""
    return F.col(column).cast("string")


def record_decoding(
    values: ValueFormat,
    key: str | None,
    record: Sequence[str],
    undecodable: Undecodable,
    spark: SparkSession,
) -> RecordDecoding:
    """How records become rows: the columns to keep, and what happens to undecodable ones."""
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    wanted = (*(() if key is None else ("key",)), *record)
    return RecordDecoding(values.decoding(zone), tuple(dict.fromkeys(wanted)), undecodable)


def shaped(
    rows: DataFrame,
    decoding: RecordDecoding,
    key: str | None,
    record: Sequence[str],
    carried: Sequence[str] = (),
    *,
    traces: bool = False,
) -> DataFrame:
    """Rows of a reader with the columns that a source promises.

    Carried columns of the record keep the names that the reader gives them.
    """
    known = set(rows.columns)
    of_record = {
        name: _column(PREFIX + name, ALL_COLUMNS[name], known) for name in ALL_COLUMNS.names
    }
    kept = [] if key is None else [of_record["key"].cast("string").alias(key)]
    if record:
        parts = [of_record[name].alias(name) for name in record]
        kept.append(F.struct(*parts).alias("record"))
    of_value = [_column(each.name, each, known) for each in decoding.values.fields.fields]
    kept += [of_record[name].alias(PREFIX + name) for name in carried]
    if traces:
        kept.append(trace_column(of_record["headers"]))
    return rows.select(*kept, *of_value)


def _column(name: str, field: StructField, known: Collection[str]) -> Column:
    """A column of a reader's rows; one that the reader leaves out raises an error if it is used."""
    if name in known:
        quoted = name.replace("`", "``")
        return F.col(f"`{quoted}`")
    unused = F.raise_error(F.lit(f"{name} was not used when the query was planned"))
    return unused.cast(field.dataType).alias(name)


def schema_problems(name: str, schema: str | StructType | None) -> Iterator[SourceError]:
    """Find errors in a schema without Spark."""
    if isinstance(schema, str) and schema != REGISTRY and name not in ("avro", "protobuf"):
        found = mistake_in(schema)
        if found is not None:
            yield SourceError("schema", found)


def resolved_schema(name: FormatName, schema: str | StructType, folder: Path) -> str | StructType:
    """A schema, with the path of an Avro or Protobuf schema resolved against a folder."""
    if schema == REGISTRY:
        return schema
    if name == "protobuf" and isinstance(schema, str):
        path, _, message = schema.rpartition(":")
        return f"{resolved_path(path, folder)}:{message}" if path else schema
    if name == "avro" and isinstance(schema, str) and not schema.lstrip().startswith(_AVRO_TEXT):
        return resolved_path(schema, folder)
    return schema


def fed_record(
    fed: Fed, values: ValueFormat | None, source_key: str | None, key: str | None
) -> Record:
    """What a test feeds to a topic, as a record that decodes to it."""
    if isinstance(fed, Record):
        return fed
    if isinstance(fed, bytes | str):
        return Record(fed.encode() if isinstance(fed, str) else fed)
    row: dict[str, Any] = dict(fed)
    of_key = row.pop(source_key, None) if source_key is not None else None
    if key is not None:
        of_key = row[key]
    encoded = (values or JsonValues("")).encode(row)
    return Record(encoded, None if of_key is None else str(of_key))
