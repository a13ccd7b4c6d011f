"""Rows of the state that a pipeline keeps in its checkpoint.

Spark keeps state for every operator that needs some: a table of groups for counts and windows, the
rows of either side for a join, variables and timers for `transformWithState`. What is read is the
state after the last finished batch, from files that never change, so a pipeline that runs is not
disturbed.
"""

from collections import Counter

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructField, StructType

from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.errors.pipeline_error import PipelineError
from barnabas.spark.pipelines.operations.state_tables import JOIN, state_tables, table_named

_EXPIRES_MS = "expiration_timestamp_ms"
_PARTITION = "partition_id"


def read_state(spark: SparkSession, checkpoint: str, name: str | None = None) -> DataFrame:
    """The rows of a state table, each with the columns of its key and its value.

    The name is optional if there is only one table. `state_tables` returns the names.
    """
    table = table_named(state_tables(spark, checkpoint), checkpoint, name)
    reader = spark.read.format("statestore").options(**table.options)
    try:
        return _flat(reader.load(checkpoint), is_join=table.operator == JOIN)
    except PySparkException as error:
        raise PipelineError(f"{checkpoint}: {reason_of(error)}") from error


def _flat(rows: DataFrame, *, is_join: bool) -> DataFrame:
    """A column for each part of key and value, without those that only Spark needs."""
    columns: list[Column] = []
    taken: Counter[str] = Counter()

    def add(name: str, column: Column, of: str) -> None:
        taken[name] += 1
        columns.append(column.alias(name if taken[name] == 1 else f"{of}_{name}"))

    for each in rows.schema.fields:
        # Rows that wait for a match contain the columns that they are joined by.
        if each.name == _PARTITION or (is_join and each.name == "key"):
            continue
        if each.name == _EXPIRES_MS:
            add("expires", F.timestamp_millis(each.name), each.name)
        elif isinstance(each.dataType, StructType):
            # The sums of an average, for example, may have the same names.
            numbered = StructType(
                [
                    StructField(str(at), field.dataType)
                    for at, field in enumerate(each.dataType.fields)
                ]
            )
            whole = F.col(each.name).cast(numbered)
            for at, name in enumerate(each.dataType.names):
                add(name, whole.getField(str(at)), each.name)
        else:
            add(each.name, F.col(each.name), each.name)
    return rows.select(*columns)
