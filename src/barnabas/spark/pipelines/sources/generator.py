"""Generated rows, for experiments, demonstrations and load tests."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument
from barnabas.spark.connector.connector import Connector, Position, ReadRows
from barnabas.spark.pipelines.expectations.expectation import Expectation, checked_rules
from barnabas.spark.pipelines.formats.json_values import JsonValues
from barnabas.spark.pipelines.sources.connector import ConnectorSource
from barnabas.spark.pipelines.sources.generated_columns import (
    DUE,
    NUMBER,
    GeneratedColumn,
    generated_columns,
)

_CHUNK_ROWS = 50_000
_TASK_ROWS = 25_000
_MOST_TASKS = 8


@dataclass
class RowNumbers(Connector):
    """Numbers of rows, and when each is due. A position is the next number, and when 0 was due."""

    rows_per_second: int
    count: int | None
    max_rows_per_batch: int
    _until_us: int | None = field(default=None, init=False)

    def describe(self) -> str:
        return f"generator of {self.rows_per_second or 'any number of'} rows a second"

    def schema(self) -> str:
        return f"{NUMBER} BIGINT, {DUE} TIMESTAMP"

    def initial(self) -> Position:
        return {"row": 0, "began_us": time.time_ns() // 1_000}

    def bound(self, start: Position) -> None:
        if not self.rows_per_second and self.count is None:
            self.count = int(start["row"]) + self.max_rows_per_batch  # else it would never end
        self._until_us = time.time_ns() // 1_000

    def latest(self, start: Position) -> Position:
        row, began_us = int(start["row"]), int(start["began_us"])
        end = row + self.max_rows_per_batch
        is_all_wanted = self._until_us is not None and self.count is not None
        if self.rows_per_second and not is_all_wanted:
            now_us = time.time_ns() // 1_000 if self._until_us is None else self._until_us
            due = 1 + max(now_us - began_us, 0) * self.rows_per_second // 1_000_000
            end = min(end, due)
        if self.count is not None:
            end = min(end, self.count)
        return {"row": max(row, end), "began_us": began_us}

    def split(self, start: Position, end: Position) -> Sequence[tuple[Position, Position]]:
        first, last = int(start["row"]), int(end["row"])
        tasks = max(1, min(_MOST_TASKS, (last - first) // _TASK_ROWS))
        cuts = [first + (last - first) * each // tasks for each in range(tasks + 1)]
        # A first batch that repeats has another start: when it began is what its end says.
        return [({**end, "row": low}, {**end, "row": high}) for low, high in pairwise(cuts)]

    def read(self, start: Position, end: Position) -> ReadRows:
        import numpy as np

        schema = pa.schema([(NUMBER, pa.int64()), (DUE, pa.timestamp("us", tz="UTC"))])
        for low in range(start["row"], end["row"], _CHUNK_ROWS):
            numbers = np.arange(low, min(low + _CHUNK_ROWS, end["row"]), dtype=np.int64)
            due = end["began_us"] + numbers * 1_000_000 // max(self.rows_per_second, 1)
            columns = [pa.array(numbers), pa.array(due).cast(schema.field(DUE).type)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


@dataclass(frozen=True)
class GeneratorSource(ConnectorSource):
    """Generated rows. See `from_generator`."""

    columns: tuple[GeneratedColumn, ...] = ()
    seed: int = 0

    def shaped(self, rows: DataFrame) -> DataFrame:
        return rows.select(*(each.values(self.seed) for each in self.columns))

    def fed_fields(self) -> StructType:
        return JsonValues(", ".join(f"`{each.name}` {each.type}" for each in self.columns)).fields


def from_generator(
    columns: str,
    *,
    rows_per_second: int = 10,
    count: int | None = None,
    seed: int = 0,
    max_rows_per_batch: int = 100_000,
    watermark: str | None = None,
    expect: Sequence[Expectation] = (),
) -> GeneratorSource:
    """Generated rows, the same ones whenever they are read with the same seed.

    - `columns`: a name, a type and a rule each: `"id BIGINT sequence, user STRING choice(a, b),
      amount DECIMAL(9, 2) uniform(1, 100), at TIMESTAMP now"`. Rules are `sequence(START, STEP)`,
      `choice(...)`, `uniform(LOW, HIGH)`, `normal(MEAN, DEVIATION)`, `text(LENGTH)`, `uuid`,
      `timestamps(START, STEP)` and `now`, the time at which the row is due.
    - `rows_per_second`: 0 for as fast as they can be processed.
    - `count`: total number of rows; with `--once`, all of them are due at once.
    - `seed`: determines the values.
    - `max_rows_per_batch`: maximum number of rows in a micro-batch.
    - `watermark`, `expect`: as with other sources.
    """
    for name, value, least in (
        ("rows_per_second", rows_per_second, 0),
        ("count", 1 if count is None else count, 0),
        ("max_rows_per_batch", max_rows_per_batch, 1),
    ):
        if value < least:
            raise InvalidArgument(f"{name} is {least} or more, not {value}")
    numbers = RowNumbers(rows_per_second, count, max_rows_per_batch)
    made = generated_columns(columns)
    return GeneratorSource(numbers, watermark, checked_rules(expect), made, seed)
