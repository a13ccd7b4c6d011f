"""A connector: the class that somebody writes who wants to read or write one more system.

Reading is by position. A position is a JSON object that says how far something was read, such as
`{"row": 17}`; Spark keeps it in the checkpoint. A batch is what lies between two positions, and
after a failure the same two are read again: `read` has to give the same rows as before.

A connector is sent to Spark's workers with pickle. It holds what describes the system (a path, a
URL) and opens connections when they are needed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

import pyarrow as pa
from pyspark.sql.types import StructType

from barnabas.errors import InvalidArgument

Position: TypeAlias = Mapping[str, Any]
"""How far something was read, as a JSON object."""

ReadRows: TypeAlias = Iterable[Mapping[str, Any] | Sequence[Any] | pa.RecordBatch]
"""Rows by name, rows in the order of the schema, or Arrow batches of it."""


@dataclass(frozen=True)
class WrittenBatch:
    """A micro-batch that a connector writes: the same one has the same identity when it repeats."""

    query: str
    """The query's id, which lasts as long as its checkpoint."""
    number: int
    partition: int = 0
    """Which part of the batch: parts are written at the same time, by different tasks."""

    @property
    def id(self) -> str:
        return f"{self.query}-{self.number}-{self.partition}"


class Connector:
    """Reads a system (`schema`, `latest`, `read`), or writes to one (`write`), or both.

    The docstring of the module says what positions are and where the object lives.
    """

    def describe(self) -> str:
        """What it is, in a few words, for lists and errors."""
        return type(self).__name__

    def resolved(self, folder: Path) -> Self:
        """The same, with relative paths resolved against the folder of its definition."""
        del folder
        return self

    # -- reading ----------------------------------------------------------------------------------

    def schema(self) -> str | StructType:
        """The columns of the rows that `read` gives, in Spark's DDL."""
        raise InvalidArgument(f"{self.describe()} has no schema: it can't be read")

    def initial(self) -> Position:
        """Where a new pipeline begins."""
        return {}

    def latest(self, start: Position) -> Position:
        """Where the next batch ends: `start` if nothing is new. Bound it, so that batches fit."""
        del start
        raise InvalidArgument(f"{self.describe()} has no method latest: it can't be read")

    def bound(self, start: Position) -> None:
        """From now on, let `latest` not go beyond what is there now: `--once` ends with that."""

    def read(self, start: Position, end: Position) -> ReadRows:
        """The rows between two positions, in a worker."""
        del start, end
        raise InvalidArgument(f"{self.describe()} has no method read")

    def split(self, start: Position, end: Position) -> Sequence[tuple[Position, Position]]:
        """Parts of a batch that tasks may read at the same time."""
        return [(start, end)]

    def committed(self, position: Position) -> None:
        """All before this position was processed, and won't be read again."""

    def close(self) -> None:
        """The query has ended. A process that is killed does not call it."""

    # -- writing ----------------------------------------------------------------------------------

    def write(self, rows: Iterator[dict[str, Any]], batch: WrittenBatch) -> None:
        """Write rows of a batch, in a worker. After a failure, the same batch comes again."""
        del rows, batch
        raise InvalidArgument(f"{self.describe()} has no method write: it can't be written to")
