"""Rows of a source with its rules applied; errors name the source.

Where the records of rows that fail a rule become dead letters, each row carries the columns of its
record until the rules are applied. Their names start with `PREFIX`, as a value may have columns of
the same names.
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


def with_expectations(
    rows: DataFrame, source: Source, environment: Environment, target: LetterTarget | None = None
) -> DataFrame:
    """The rows that pass, without the columns of their records.

    Rules are applied before the watermark: a time that a rule refuses does not move it.
    """

    def send(found: DataFrame, reason: Column) -> DataFrame:
        assert target is not None
        return without_dead(found, reason, target, carried_record(found))

    carried = [f"`{name}`" for name in rows.columns if name.startswith(PREFIX)]
    with part_of_source("expect"):
        own = [name for name in rows.columns if not name.startswith(PREFIX)]
        found = checked(rows, source.expectations, environment.source or "source", own, send)
    return found.drop(*(each.strip("`") for each in carried)) if carried else found


def carried_columns(columns: Iterable[str]) -> list[Column]:
    """Columns of the record, under the names that a row carries them under."""
    return [F.col(name).alias(f"{PREFIX}{name}") for name in columns]


def carried_record(rows: DataFrame) -> Mapping[str, Column]:
    """The record that each row carries, column by column."""
    return {
        name: F.col(f"`{PREFIX}{name}`") for name in COLUMNS if f"{PREFIX}{name}" in rows.columns
    }
