"""What Spark has to say of a source says which source, and which part of it."""

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from barnabas.spark.pipelines import (
    PipelineError,
    from_files,
    from_table,
    from_topic,
    pipeline,
    to_console,
)
from barnabas.spark.pipelines.errors.source_errors import part_of_source, source_named
from barnabas.spark.pipelines.sources.source import Source
from barnabas.spark.testing import running

TWO = "id BIGINT, paid TIMESTAMP"
NO_COMMA = "id BIGINT shop STRING"


def test_an_error_says_what_it_is_about() -> None:
    with (
        pytest.raises(PipelineError, match=r"^pipeline p: schema of source orders: no good$"),
        source_named("orders", "p"),
        part_of_source("schema"),
    ):
        raise AnalysisException("no good")


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (from_topic("t", NO_COMMA), "schema of source orders: .* at or near 'shop'"),
        (from_table("t", NO_COMMA), "schema of source orders: .* at or near 'shop'"),
        (from_files("t", NO_COMMA), "schema of source orders: .* at or near 'shop'"),
        (from_topic("t", '{"type": "x"}', format="avro"), "schema of source orders: the Avro"),
        (from_topic("t", TWO, watermark="payd 5 minutes"), "watermark of source orders: .*payd"),
        (from_files("t", TWO, watermark="id 5 minutes"), "watermark of source orders: .*BIGINT"),
    ],
)
def test_a_source_that_spark_refuses(spark: SparkSession, source: Source, complaint: str) -> None:
    @pipeline(sources={"orders": source}, sink=to_console())
    def p(orders: DataFrame) -> DataFrame:
        return orders

    with pytest.raises(PipelineError, match=complaint), running(p, spark=spark):
        pass
