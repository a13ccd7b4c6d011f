"""Rows of a source with its rules applied; errors name the source."""

from pyspark.sql import DataFrame

from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.errors.source_errors import part_of_source
from barnabas.spark.pipelines.expectations.checked_rows import DeadLetterFilter, checked
from barnabas.spark.pipelines.sources.source import Source


def with_expectations(
    rows: DataFrame,
    source: Source,
    environment: Environment,
    dead_letters: DeadLetterFilter | None = None,
) -> DataFrame:
    """The rows that may go on.

    Rules are applied before the watermark: a time that a rule refuses does not move it.
    """
    with part_of_source("expect"):
        return checked(rows, source.expectations, environment.source or "source", dead_letters)
