"""What a workload is: a topic of JSON events, and queries on them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame

Transform = Callable[..., DataFrame]
Row = dict[str, object]


def _unchanged(rows: list[Row]) -> list[Row]:
    return rows


@dataclass(frozen=True)
class Query:
    """A function of DataFrames, by the names of the workload's topics."""

    name: str
    title: str
    transform: Transform
    output_mode: Literal["append", "update"] = "append"
    inputs: tuple[str, ...] = ("events",)
    final: Callable[[list[Row]], list[Row]] = _unchanged
    """Makes comparable what a stream and a batch write at different times of day."""
    cpu_ratio: float = 0.8
    """The CPU that it may take at most, compared with Spark's own connector."""


@dataclass(frozen=True)
class Table:
    """A compacted topic whose last row of a key counts."""

    schema: str
    key: str
    rows: Callable[[], pa.Table]


@dataclass(frozen=True)
class Workload:
    """Events, and what is asked of them."""

    name: str
    schema: str
    """Spark's DDL."""
    watermark: tuple[str, str]
    tables: Callable[[int, int], Iterator[pa.Table]]
    """Records by the number of events and of partitions."""
    queries: tuple[Query, ...]
    closing: str
    """What every row of events has in it that only move the watermark; others do not."""
    joined: Mapping[str, Table] = field(default_factory=dict)
    """Tables that streams are joined with, by name."""
