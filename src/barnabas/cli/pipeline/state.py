"""Prints the state of a pipeline from the files of its checkpoint.

A separate Spark, which takes seconds to start, reads it only where that is needed: for conditions
that are more than comparisons, for the variables of `transformWithState`, and for checkpoints on
other file systems or in forms that `state_files` does not know.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from barnabas.cli.base.command import CommandError, UsageError
from barnabas.cli.base.output import print_json, print_table, say
from barnabas.spark.pipelines import RunFolder, state_tables
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.operations.state_tables import local_path, table_named
from barnabas.spark.pipelines.state_files.condition import matching
from barnabas.spark.pipelines.state_files.state_rows import read_state_rows
from barnabas.spark.pipelines.state_files.unreadable import UnreadableState
from barnabas.spark.sessions.jvm_options import SHORT_LIVED

if TYPE_CHECKING:
    from pyspark.sql import Row

# Starting Spark takes most of the time. A query of a few rows ends before the JVM's second compiler
# or Spark's code generation pays off.
_SHORT_LIVED = {
    "spark.ui.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": SHORT_LIVED,
}

_Rows: TypeAlias = tuple[list[str], list[list[Any]]]


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
    columns, found = _rows_without_spark(options) or _rows_by_spark(options)
    shown = found[: options.limit]
    if options.as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in shown])
    else:
        print_table(columns, [tuple(_cell(each) for each in row) for row in shown])
    if len(found) > options.limit:
        say(f"more than {options.limit} rows: raise --limit, or filter with --where")


def _rows_without_spark(options: StateOptions) -> _Rows | None:
    """Columns and rows, at most one more than the limit; None if only Spark can read them."""
    checkpoint = _checkpoint(options)
    folder = local_path(checkpoint)
    if folder is None:
        return None
    table = table_named(state_tables(None, checkpoint), checkpoint, options.table)
    try:
        found = read_state_rows(folder, table)
        wanted = found.rows
        if options.where is not None:
            wanted = matching(wanted, found.columns, options.where)
        rows = list(islice(wanted, options.limit + 1))
    except UnreadableState as error:
        say(f"only Spark can read this state: {error}")
        return None
    return found.columns, [[plain(each) for each in row] for row in rows]


def _rows_by_spark(options: StateOptions) -> _Rows:
    from pyspark.errors import PySparkException

    from barnabas.cli.pipeline.spark import SparkOptions, start_spark
    from barnabas.spark.pipelines.operations.state import read_state

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
            rows = read_state(spark, _checkpoint(options), options.table)
            if options.where is not None:
                rows = rows.where(options.where)
            found = rows.limit(options.limit + 1).collect()
        except PySparkException as error:
            raise CommandError(f"pipeline {options.name}: {reason_of(error)}") from error
        finally:
            spark.stop()
    return rows.columns, [[plain(each) for each in row] for row in found]


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


def plain(value: Any) -> Any:
    """A value as JSON has it: bytes as text, times in UTC."""
    match value:
        case tuple():  # a Row
            return plain(cast("Row", value).asDict())
        case Mapping():
            return {str(plain(name)): plain(each) for name, each in value.items()}
        case list():
            return [plain(each) for each in value]
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
