"""A connector: the class to write in order to read from, or write to, another system.

Connectors read by position. A position is a JSON object that records the progress, such as
`{"row": 17}`; Spark keeps it in the checkpoint. A batch is the rows between two positions. After a
failure the same batch is read again, and `read` has to return the same rows as before.

A connector is sent to Spark's workers with pickle. It holds a description of the system (a path, a
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
"""The progress of reading, as a JSON object."""

ReadRows: TypeAlias = Iterable[Mapping[str, Any] | Sequence[Any] | pa.RecordBatch]
"""Rows by name, rows in the order of the schema, or Arrow batches of it."""


@dataclass(frozen=True)
class WrittenBatch:
    """A micro-batch that a connector writes. A repeated batch has the same identity."""

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

    The module's docstring explains positions, and where the object runs.
    """

    def describe(self) -> str:
        """A short description, for lists and errors."""
        return type(self).__name__

    def resolved(self, folder: Path) -> Self:
        """The same, with relative paths resolved against the folder of its definition."""
        del folder
        return self

    # -- reading ----------------------------------------------------------------------------------

    def schema(self) -> str | StructType:
        """The columns of the rows that `read` returns, in Spark's DDL."""
        raise InvalidArgument(f"{self.describe()} has no schema: it can't be read")

    def initial(self) -> Position:
        """The position at which a new pipeline starts."""
        return {}

    def latest(self, start: Position) -> Position:
        """The end of the next batch; `start` if there is nothing new. Limit the size of batches."""
        del start
        raise InvalidArgument(f"{self.describe()} has no method latest: it can't be read")

    def bound(self, start: Position) -> None:
        """Keep `latest` from going beyond the current end from now on: `--once` ends there."""

    def read(self, start: Position, end: Position) -> ReadRows:
        """The rows between two positions, in a worker."""
        del start, end
        raise InvalidArgument(f"{self.describe()} has no method read")

    def split(self, start: Position, end: Position) -> Sequence[tuple[Position, Position]]:
        """Parts of a batch that tasks may read at the same time."""
        return [(start, end)]

    def committed(self, position: Position) -> None:
        """Everything before this position was processed, and will not be read again."""

    def close(self) -> None:
        """The query has ended. A process that is killed does not call it."""

    # -- writing ----------------------------------------------------------------------------------

    def write(self, rows: Iterator[dict[str, Any]], batch: WrittenBatch) -> None:
        """Write rows of a batch, in a worker. After a failure, the same batch is written again."""
        del rows, batch
        raise InvalidArgument(f"{self.describe()} has no method write: it can't be written to")
