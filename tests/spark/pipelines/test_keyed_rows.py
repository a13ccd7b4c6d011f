"""Names of rows in stores of names and values."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from barnabas.spark.pipelines.databases.keyed_rows import NAME, KeyedRows


def test_different_keys_have_different_names(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [("a:b", "c"), ("a", "b:c"), ("a\\", "b:c"), ("a\\:b", "c")], "x STRING, y STRING"
    )
    named = KeyedRows(("x", "y")).named(rows, F.lit(""), "p:", ":")
    assert [row[NAME] for row in named.collect()] == [
        "p:a\\:b:c",
        "p:a:b\\:c",
        "p:a\\\\:b\\:c",
        "p:a\\\\\\:b:c",
    ]
    one = KeyedRows(("x",)).named(rows, F.lit(""), "p:", ":")
    assert one.collect()[0][NAME] == "p:a:b"
