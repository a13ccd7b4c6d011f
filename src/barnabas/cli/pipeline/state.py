"""Prints the state of a pipeline, which a separate Spark reads from its checkpoint."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Row

from barnabas.cli.base.command import CommandError, UsageError
from barnabas.cli.base.output import print_json, print_table, say
from barnabas.cli.pipeline.spark import SparkOptions, start_spark
from barnabas.spark.pipelines import RunFolder, read_state, state_tables
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.operations.state_tables import local_path, table_named

# Starting Spark takes most of the time. A query of some rows is over before compiling it, by the
# JVM's second compiler or by Spark's code generation, has paid off.
_SHORT_LIVED = {
    "spark.ui.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@dataclass(frozen=True)
class StateOptions:
    """Options of the command line."""

    path: Path
    name: str
    table: str | None
    where: str | None
    limit: int
    checkpoints: str | None
    as_json: bool
    verbose: bool


def print_state(options: StateOptions) -> None:
    """Print its rows, as a table or as JSON."""
    checkpoint = _checkpoint(options)
    if local_path(checkpoint) is not None:  # a wrong name is found before Spark starts
        table_named(state_tables(None, checkpoint), checkpoint, options.table)
    spark_options = SparkOptions(
        options.path,
        "state",
        checkpoints=options.checkpoints,
        master="local[2]",
        conf=_SHORT_LIVED,
        verbose=options.verbose,
    )
    spark = start_spark(spark_options)
    with spark_options.errors_in_file():
        try:
            rows = read_state(spark, checkpoint, options.table)
            if options.where is not None:
                rows = rows.where(options.where)
            found = rows.limit(options.limit + 1).collect()
            columns = rows.columns
        except PySparkException as error:
            raise CommandError(f"pipeline {options.name}: {reason_of(error)}") from error
        finally:
            spark.stop()
    shown = [_plain(row) for row in found[: options.limit]]
    if options.as_json:
        print_json(shown)
    else:
        print_table(columns, [tuple(_cell(each) for each in row.values()) for row in shown])
    if len(found) > options.limit:
        say(f"more than {options.limit} rows: raise --limit, or filter with --where")


def _checkpoint(options: StateOptions) -> str:
    if not options.path.exists():
        raise UsageError(f"{options.path} does not exist")
    folder = RunFolder.of(options.path, options.checkpoints)
    if folder.has_checkpoint(options.name) is False:
        known = ", ".join(folder.names()) or "none"
        raise CommandError(
            f"no checkpoint of {options.name} in {folder.folder}: it has not run, or it writes to "
            f"the console and keeps none. Pipelines that have run: {known}"
        )
    return folder.checkpoint_of(options.name)


def _cell(value: Any) -> str | int | None:
    if value is None or (isinstance(value, int | str) and not isinstance(value, bool)):
        return value
    return json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """A value as JSON has it: bytes as text, times in UTC."""
    match value:
        case Row():
            return {name: _plain(each) for name, each in value.asDict().items()}
        case Mapping():
            return {str(_plain(name)): _plain(each) for name, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case bytes() | bytearray():
            return value.decode(errors="backslashreplace")
        case datetime():
            return value.astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
        case Decimal():
            return float(value)
        case _:
            return value
