"""`format("kafka")` for jobs that were written for Spark's own Kafka source.

Spark reserves that name for its own source, and refuses a Python source of that name even where its
own is not installed. So PySpark's readers and writers of the session use another name instead.
SQL's `USING kafka` and other languages are not covered.
"""

from functools import wraps
from typing import Any

from pyspark.sql import DataFrameReader, DataFrameWriter, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

TAKEN = "kafka"
INSTEAD = "barnabas_kafka"

_MEANS_US = "spark.barnabas.kafka"
_CLASSES: tuple[type[Any], ...] = (
    DataFrameReader,
    DataFrameWriter,
    DataStreamReader,
    DataStreamWriter,
)
_translating: set[type[Any]] = set()


def answer_to_kafka(spark: SparkSession) -> None:
    """Use `INSTEAD` for the format `kafka` in this session."""
    spark.conf.set(_MEANS_US, "true")
    for each in _CLASSES:
        if each not in _translating:
            _translating.add(each)
            _translate_names(each)


def _translate_names(reader_or_writer: type[Any]) -> None:
    original = reader_or_writer.format

    @wraps(original)
    def format(self: Any, source: str) -> Any:  # noqa: A001 - its name in Spark
        means_us = source.lower() == TAKEN and self._spark.conf.get(_MEANS_US, "false") == "true"
        return original(self, INSTEAD if means_us else source)

    reader_or_writer.format = format
