"""Which state a pipeline keeps, by the metadata in its checkpoint.

    CHECKPOINT/state/OPERATOR/_metadata/metadata    "v1", and JSON
    CHECKPOINT/state/OPERATOR/_metadata/v2/BATCH    "v2", and JSON, of transformWithState

Spark can read them too (`state-metadata`), by a query that takes as long as reading the state. That
is left for checkpoints which are not on this machine.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.errors.failure import reason_of
from barnabas.spark.pipelines.errors.pipeline_error import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOIN = "symmetricHashJoin"

WITH_VARIABLES = "transformWithState"
_NAMES = {
    "stateStoreSave": "groups",
    "sessionWindowStateStoreSaveExec": "sessions",
    "dedupe": "seen",
    "dedupeWithinWatermark": "seen",
    "globalLimit": "limit",
}
_TIMERS = "timers"


@dataclass(frozen=True)
class StateTable:
    """A part of a pipeline's state that is read as one table."""

    name: str
    operator: str
    """Spark's name for the operator that keeps it."""
    batch: int
    """The last finished batch."""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Operator:
    number: int
    name: str
    batch: int
    properties: Mapping[str, Any]


def state_tables(spark: "SparkSession | None", checkpoint: str) -> list[StateTable]:
    """The state tables of a pipeline; empty if it has no state.

    A session is needed only for a checkpoint that is not on this machine.
    """
    folder = local_path(checkpoint)
    if folder is not None:
        operators = list(_operators(folder))
    elif spark is not None:
        operators = _operators_by_spark(spark, checkpoint)
    else:
        raise InvalidArgument(f"{checkpoint} is not on this machine: reading it needs Spark")
    several = len(operators) > 1
    return [
        replace(table, name=f"{each.number}.{table.name}") if several else table
        for each in operators
        for table in _tables_of(each)
    ]


def table_named(tables: list[StateTable], checkpoint: str, name: str | None) -> StateTable:
    """The table of a name, which may be left out where there is only one."""
    if not tables:
        raise PipelineError(f"no state in {checkpoint}")
    chosen = [each for each in tables if name in (None, each.name)]
    if len(chosen) != 1:
        known = ", ".join(each.name for each in tables)
        wrong = "name a state" if name is None else f"unknown state {name!r}"
        raise InvalidArgument(f"{wrong}; use {known}")
    return chosen[0]


def local_path(checkpoint: str) -> Path | None:
    """The folder of a checkpoint on this machine."""
    path = checkpoint.removeprefix("file://")
    return None if "://" in path else Path(path)


def _operators(checkpoint: Path) -> Iterator[_Operator]:
    batches = (each.name for each in checkpoint.glob("commits/*") if each.name.isdecimal())
    last_batch = max(map(int, batches), default=-1)
    numbers = (each.name for each in checkpoint.glob("state/*") if each.name.isdecimal())
    for number in sorted(numbers, key=int):
        metadata = checkpoint / "state" / number / "_metadata"
        by_batch = [each for each in metadata.glob("v2/*") if each.name.isdecimal()]
        file = max(by_batch, key=lambda each: int(each.name), default=metadata / "metadata")
        try:
            _version, text = file.read_text("utf-8").split("\n", 1)
        except FileNotFoundError:
            continue  # the first batch has not finished yet
        found = json.loads(text)
        yield _Operator(
            int(number),
            found["operatorInfo"]["operatorName"],
            last_batch,
            json.loads(found.get("operatorPropertiesJson") or "{}"),
        )


def _operators_by_spark(spark: "SparkSession", checkpoint: str) -> list[_Operator]:
    from pyspark.errors import PySparkException

    try:
        rows = spark.read.format("state-metadata").load(checkpoint).collect()
    except PySparkException as error:
        raise PipelineError(f"{checkpoint}: {reason_of(error)}") from error
    found = {
        each.operatorId: _Operator(
            each.operatorId,
            each.operatorName,
            each.maxBatchId,
            json.loads(each.operatorProperties or "{}"),
        )
        for each in rows
    }
    return [found[number] for number in sorted(found)]


def _tables_of(operator: _Operator) -> list[StateTable]:
    def table(called: str, **options: str) -> StateTable:
        where = {"operatorId": str(operator.number), **options}
        return StateTable(called, operator.name, operator.batch, where)

    if operator.name == JOIN:
        return [table(side, joinSide=side) for side in ("left", "right")]
    if operator.name.startswith(WITH_VARIABLES):
        names = [each["stateName"] for each in operator.properties.get("stateVariables", [])]
        tables = [table(each, stateVarName=each) for each in names if not each.startswith("$")]
        if any(each.startswith("$") for each in names):
            tables.append(table(_TIMERS, readRegisteredTimers="true"))
        return tables
    return [table(_NAMES.get(operator.name, "state"))]
