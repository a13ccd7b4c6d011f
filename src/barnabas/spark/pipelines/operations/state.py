"""Looking into the state of a pipeline: what Spark has in its checkpoint, as rows.

Spark keeps state for every operator that needs some: a table of groups for counts and windows, the
rows of either side for a join, variables and timers for `transformWithState`. What is read is the
state after the last finished batch, from files that are never changed, so a pipeline that runs is
not disturbed.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructField, StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.definition.pipeline import PipelineError
from barnabas.spark.pipelines.errors.failure import reason_of

_JOIN = "symmetricHashJoin"
_WITH_VARIABLES = "transformWithState"
_NAMES = {
    "stateStoreSave": "groups",
    "sessionWindowStateStoreSaveExec": "sessions",
    "dedupe": "seen",
    "dedupeWithinWatermark": "seen",
    "globalLimit": "limit",
}
_TIMERS = "timers"
_EXPIRES_MS = "expiration_timestamp_ms"
_PARTITION = "partition_id"


@dataclass(frozen=True)
class StateTable:
    """A part of a pipeline's state that is read as one table."""

    name: str
    operator: str
    """Spark's name of what keeps it."""
    batch: int
    """The last batch that has changed it."""
    options: Mapping[str, str] = field(default_factory=dict)


def state_tables(spark: SparkSession, checkpoint: str) -> list[StateTable]:
    """What a pipeline keeps; nothing if it has no state."""
    try:
        operators = spark.read.format("state-metadata").load(checkpoint).collect()
    except PySparkException as error:
        raise PipelineError(f"{checkpoint}: {reason_of(error)}") from error
    found: dict[int, list[StateTable]] = {}
    for each in operators:
        if each.operatorId not in found:
            found[each.operatorId] = _tables_of(each)
    several = len(found) > 1
    return [
        StateTable(f"{number}.{each.name}", each.operator, each.batch, each.options)
        if several
        else each
        for number in sorted(found)
        for each in found[number]
    ]


def read_state(spark: SparkSession, checkpoint: str, name: str | None = None) -> DataFrame:
    """The rows of a table of state, each with the columns of its key and of its value.

    The name may be left out where there is one only. `state_tables` has the names.
    """
    tables = state_tables(spark, checkpoint)
    if not tables:
        raise PipelineError(f"there is no state in {checkpoint}")
    chosen = [each for each in tables if name in (None, each.name)]
    if len(chosen) != 1:
        known = ", ".join(each.name for each in tables)
        wrong = "say which state" if name is None else f"there is no state {name!r}"
        raise InvalidArgument(f"{wrong}: there is {known}")
    reader = spark.read.format("statestore").options(**chosen[0].options)
    try:
        return _flat(reader.load(checkpoint), is_join=chosen[0].operator == _JOIN)
    except PySparkException as error:
        raise PipelineError(f"{checkpoint}: {reason_of(error)}") from error


def _tables_of(operator: Any) -> list[StateTable]:
    name, number = operator.operatorName, {"operatorId": str(operator.operatorId)}
    batch = operator.maxBatchId

    def table(called: str, **options: str) -> StateTable:
        return StateTable(called, name, batch, {**number, **options})

    if name == _JOIN:
        return [table(side, joinSide=side) for side in ("left", "right")]
    if name.startswith(_WITH_VARIABLES):
        properties = json.loads(operator.operatorProperties or "{}")
        names = [each["stateName"] for each in properties.get("stateVariables", [])]
        tables = [table(each, stateVarName=each) for each in names if not each.startswith("$")]
        if any(each.startswith("$") for each in names):
            tables.append(table(_TIMERS, readRegisteredTimers="true"))
        return tables
    return [table(_NAMES.get(name, "state"))]


def _flat(rows: DataFrame, *, is_join: bool) -> DataFrame:
    """A column for each part of key and value, and none for what is Spark's own affair."""
    columns: list[Column] = []
    taken: Counter[str] = Counter()

    def add(name: str, column: Column, of: str) -> None:
        taken[name] += 1
        columns.append(column.alias(name if taken[name] == 1 else f"{of}_{name}"))

    for each in rows.schema.fields:
        # Rows that wait for a partner have in them what they are joined by.
        if each.name == _PARTITION or (is_join and each.name == "key"):
            continue
        if each.name == _EXPIRES_MS:
            add("expires", F.timestamp_millis(each.name), each.name)
        elif isinstance(each.dataType, StructType):
            # Sums that make up an average, say, may have the same names.
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
