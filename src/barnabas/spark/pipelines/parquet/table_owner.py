"""To whom a Parquet table belongs: one query of Spark's, which is known by its checkpoint.

A query has the same id for as long as it has its checkpoint, wherever that is moved; the table
remembers both, so that others who come with the same path can be told whose it is.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from barnabas.spark.pipelines.writer import Writer, query_of


@dataclass(frozen=True)
class Owner:
    """The query that a table belongs to."""

    query: str
    writer: Writer | None = None
    """None for a query that was started by hand."""

    def is_former(self, writer: Writer | None) -> bool:
        """Whether it had the same checkpoint, as a run has whose checkpoint was deleted."""
        if self.writer is None:
            return True  # for all that is known
        return writer is not None and writer.checkpoint == self.writer.checkpoint

    def is_same(self, query: str | None, writer: Writer | None) -> bool:
        """Whether it is this query, perhaps with a checkpoint that was moved; not with a copy."""
        if self.query != query:
            return False
        if self.writer is None or self.is_former(writer):
            return True
        return query_of(self.writer.checkpoint) != query

    def describe(self) -> str:
        if self.writer is None:
            return f"the query {self.query}"
        return f"pipeline {self.writer.pipeline}, whose checkpoint is in {self.writer.checkpoint}"


def read_owner(file: Path) -> Owner | None:
    """The owner that was written to a file."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return None
    writer = found["writer"]
    return Owner(found["query"], None if writer is None else Writer(**writer))


def write_owner(file: Path, owner: Owner) -> None:
    """Replace the file in one step."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps(asdict(owner)), "utf-8")
    new.replace(file)
