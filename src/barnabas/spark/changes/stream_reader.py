"""Micro-batches of changes: Spark's offsets are positions in the database's log.

Spark keeps one reader in a separate process for as long as a query runs, and asks it where each
micro-batch ends; tasks use copies of it. The changes of a batch are read by one task: they come
from one log, in order.

Spark asks for the next batch after it has recorded that the last one is done. The slot is advanced
at that time, so a batch that has to be repeated is still available. Where there is nothing new, the
reader waits a moment: a look at the log is far cheaper than another question from Spark.
"""

import json
import os
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)

from barnabas.spark.changes.change_columns import batches_of
from barnabas.spark.changes.databases import ChangeDatabase, ChangeLog, Position, database_of
from barnabas.spark.changes.expected_columns import ExpectedColumns
from barnabas.spark.cluster.worker_memory import freeze_loaded_objects
from barnabas.spark.source.idle_stream import IdleStream

FORMAT_OPTION = "changes.format"
LIMIT_OPTION = "changes.max_per_batch"
DATABASE_OPTION = "changes.database"
COLUMNS_OPTION = "changes.columns"
"""The columns that each row has to have, as JSON."""
OWN_OPTIONS = frozenset({COLUMNS_OPTION, DATABASE_OPTION, FORMAT_OPTION, LIMIT_OPTION})

_WAIT_S = 0.14
_LOOK_S = 0.02

Json = dict[str, Any]


class ChangesPartition(InputPartition):
    """The changes between two positions."""

    def __init__(self, start: Json, end: Json) -> None:
        super().__init__(None)
        self.start = start
        self.end = end


class ChangesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Finds where micro-batches end, and reads them."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options)
        self._format = options.get(FORMAT_OPTION, "debezium")
        self._limit = int(options[LIMIT_OPTION]) if LIMIT_OPTION in options else None
        self._database = _database_of(options)
        self._initial: Position | None = None
        self._latest: Position | None = None
        self._is_bounded = False
        self._last: Position | None = None
        self._stream = IdleStream()

    # -- offsets --------------------------------------------------------------------------------

    def initialOffset(self) -> Json:  # noqa: N802 - Spark's
        # Spark asks twice, to plan the first batch and to run it: the answer has to be the same.
        if self._initial is None:
            self._initial = self._changes().initial()
        return self._initial.json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's
        self._is_bounded = True
        self._last = None

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:  # noqa: ARG002, N802 - Spark's
        position = self._database.position(start)
        changes = self._changes()
        changes.commit(position)
        if self._is_bounded and self._last is None:
            self._last = changes.end(position)
        end = changes.latest(position, self._limit)
        if self._last is None:
            end = self._awaited(position, end)
        elif end.snapshot is None and end.lsn > self._last.lsn:
            end = end.up_to(max(self._last, position, key=lambda each: each.lsn))
        self._latest = end
        return end.json()

    def _awaited(self, start: Position, end: Position) -> Position:
        """The end, or a later one if it is where the batch starts and something is written."""
        changes = self._changes()
        deadline = time.monotonic() + (_WAIT_S if self._stream.is_idle else 0.0)
        while end == start and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
            if changes.has_log_after(start):
                end = changes.latest(start, self._limit)
        self._stream.answered()
        return end

    def reportLatestOffset(self) -> Json | None:  # noqa: N802 - Spark's
        return None if self._latest is None else self._latest.json()

    def commit(self, end: Json) -> None:
        """Do nothing: Spark calls it late, and not after the last batch. See `latestOffset`."""

    def stop(self) -> None:
        close(self._options)

    # -- reading --------------------------------------------------------------------------------

    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        return [] if start == end else [ChangesPartition(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ChangesPartition)
        freeze_loaded_objects()
        events = self._changes().read(
            self._database.position(partition.start), self._database.position(partition.end)
        )
        try:
            yield from batches_of(events, self._format, self._database, self._expected())
        except BaseException:
            close(self._options)
            raise

    def _expected(self) -> ExpectedColumns | None:
        names = self._options.get(COLUMNS_OPTION)
        return None if names is None else ExpectedColumns(json.loads(names), self._columns_now)

    def _columns_now(self, schema: str, table: str) -> Collection[str] | None:
        changes = self._database.open()  # the connection of this process is in the middle of a read
        try:
            return changes.columns_now(schema, table)
        finally:
            changes.close()

    def _changes(self) -> ChangeLog:
        key = _key(self._options)
        if key not in _open:
            _open[key] = self._database.open()
        return _open[key]


def _database_of(options: Mapping[str, str]) -> ChangeDatabase:
    """The database that a source's options are for."""
    return database_of(
        options.get(DATABASE_OPTION, "postgres"),
        {name: value for name, value in options.items() if name not in OWN_OPTIONS},
        is_plain=options.get(FORMAT_OPTION) == "rows",
    )


def close(options: Mapping[str, str]) -> None:
    """Close the connections of this process."""
    changes = _open.pop(_key(options), None)
    if changes is not None:
        changes.close()


def _key(options: Mapping[str, str]) -> tuple[int, frozenset[tuple[str, str]]]:
    return os.getpid(), frozenset(options.items())


_open: dict[tuple[int, frozenset[tuple[str, str]]], ChangeLog] = {}
"""Per process: Spark reuses its workers, and connecting takes longer than a small batch."""
