"""Rows of a source with its rules applied; errors name the source.

Where records of rows that fail a rule become dead letters, the columns of the record stand beside
the row until its rules were applied.
"""

from collections.abc import Iterable, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from barnabas.spark.dead_letters.dead_record import COLUMNS
from barnabas.spark.dead_letters.letter_target import LetterTarget
from barnabas.spark.dead_letters.letter_udf import without_dead
from barnabas.spark.pipelines.environment import Environment
from barnabas.spark.pipelines.errors.source_errors import part_of_source
from barnabas.spark.pipelines.expectations.checked_rows import checked
from barnabas.spark.pipelines.sources.source import Source
from barnabas.spark.source.record_decoding import PREFIX

BESIDE = PREFIX
"""Begins the names of the record's columns: a value may have columns of the same names."""


def with_expectations(
    rows: DataFrame, source: Source, environment: Environment, target: LetterTarget | None = None
) -> DataFrame:
    """The rows that may go on, without the columns of their records.

    Rules are applied before the watermark: a time that a rule refuses does not move it.
    """

    def send(found: DataFrame, reason: Column) -> DataFrame:
        assert target is not None
        return without_dead(found, reason, target, record_beside(found))

    beside = [f"`{name}`" for name in rows.columns if name.startswith(BESIDE)]
    with part_of_source("expect"):
        own = [name for name in rows.columns if not name.startswith(BESIDE)]
        found = checked(rows, source.expectations, environment.source or "source", own, send)
    return found.drop(*(each.strip("`") for each in beside)) if beside else found


def beside_rows(columns: Iterable[str]) -> list[Column]:
    """Columns of the record, to stand beside the row."""
    return [F.col(name).alias(f"{BESIDE}{name}") for name in columns]


def record_beside(rows: DataFrame) -> Mapping[str, Column]:
    """The record that stands beside the row."""
    return {
        name: F.col(f"`{BESIDE}{name}`") for name in COLUMNS if f"{BESIDE}{name}" in rows.columns
    }
