"""Values are decoded as Spark's `from_json` decodes them: the same rows, and the same reasons.

`record_decoder` has the plan that does it in the JVM. Times that are the same instant are the same;
everything is compared as text, for Python has not all times, and no NaN that equals itself.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas.spark.decoding.decoding import Decoding
from barnabas.spark.decoding.json_decoder import JsonDecoder
from barnabas.spark.pipelines.formats.json_values import JsonValues
from barnabas.spark.pipelines.formats.record_decoder import decoded, undecodable
from tests.spark.decoding.random_json import RandomJson, corner_cases, corner_schema

NUMBER = "number of the value"
Found = dict[int, Any]


def comparable(column: Column, of_type: DataType) -> Column:
    match of_type:
        case TimestampType():
            return F.unix_micros(column)
        case DateType():
            return F.unix_date(column)
        case BinaryType():
            return F.hex(column)
        case DoubleType() | FloatType() | DecimalType():
            return column.cast("string")
    return column


def texts(rows: DataFrame, schema: StructType) -> Found:
    columns = [comparable(F.col(each.name), each.dataType).alias(each.name) for each in schema]
    whole = F.to_json(F.struct(*columns), {"ignoreNullFields": "false"})
    return {row[0]: json.loads(row[1]) for row in rows.select(f"`{NUMBER}`", whole).collect()}


def by_spark(
    spark: SparkSession, schema: StructType, values: list[bytes | None], folder: Path
) -> tuple[Found, Found]:
    columns = {NUMBER: pa.array(range(len(values)), pa.int32()), "value": pa.array(values)}
    pq.write_table(pa.table(columns), folder / "values.parquet")
    records = spark.read.parquet(str(folder / "values.parquet"))
    formatted = JsonValues(schema)
    rows = decoded(records, formatted, [F.col(f"`{NUMBER}`")], skip=True)
    bad = undecodable(records, formatted).select(f"`{NUMBER}`", "reason").collect()
    return texts(rows, schema), {row[0]: row[1] for row in bad}


def by_us(
    spark: SparkSession, schema: StructType, values: list[bytes | None], zone: str, folder: Path
) -> tuple[Found, Found]:
    found = JsonDecoder(Decoding("json", schema, time_zone=zone)).decode(
        pa.array(values, pa.binary())
    )
    alive = sorted(set(range(len(values))) - set(found.dead))
    columns = dict(zip(schema.names, found.columns, strict=True))
    pq.write_table(
        pa.table({NUMBER: pa.array(alive, pa.int32()), **columns}), folder / "rows.parquet"
    )
    nullable = [StructField(each.name, each.dataType) for each in schema]
    as_read = StructType([StructField(NUMBER, IntegerType()), *nullable])
    rows = spark.read.schema(as_read).parquet(str(folder / "rows.parquet"))
    return texts(rows, schema), dict(zip(found.dead, found.reasons, strict=True))


def differences(
    spark: SparkSession, schema: StructType, values: list[bytes | None], zone: str, folder: Path
) -> list[Any]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        rows, reasons = by_spark(spark, schema, values, folder)
        our_rows, our_reasons = by_us(spark, schema, values, zone, folder)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    return [
        (value, rows.get(n), reasons.get(n), our_rows.get(n), our_reasons.get(n))
        for n, value in enumerate(values)
        if (rows.get(n), reasons.get(n)) != (our_rows.get(n), our_reasons.get(n))
    ]


def test_corner_cases_are_decided_as_by_from_json(spark: SparkSession, tmp_path: Path) -> None:
    # Jackson passes over control characters in base64, which are wrong in any other string.
    values = [each for each in corner_cases() if each is None or not each.startswith(b'{"x": "\1')]
    assert differences(spark, corner_schema(), values, "America/New_York", tmp_path) == []


@pytest.mark.parametrize("seed", range(6))
def test_random_values_are_decided_as_by_from_json(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    made = RandomJson(seed)
    schema = made.schema()
    values = [made.value(schema) for _ in range(300)]
    assert differences(spark, schema, values, "Europe/Paris", tmp_path) == []
