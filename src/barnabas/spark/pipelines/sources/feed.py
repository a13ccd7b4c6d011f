"""What a test feeds to a source (`barnabas.spark.testing`)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from pyspark.sql.types import StructType


class Record(NamedTuple):
    """A record of a topic, for what rows can't express: deletes, headers, broken values."""

    value: bytes | None
    key: bytes | str | None = None
    timestamp: datetime | None = None
    headers: Sequence[tuple[str, bytes]] = ()
    partition: int = 0


Fed: TypeAlias = Mapping[str, Any] | Record | bytes | str
"""A row of a source, or a record or value of a topic."""


class Feed(Protocol):
    """Where a source in a test puts the rows that it is fed."""

    def add_records(self, topic: str, records: Sequence[Record]) -> None:
        """Append records to a topic of the test."""

    def add_rows(self, folder: Path, fields: StructType, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add a Parquet file to a folder, atomically."""
