"""The owner of a Parquet table: one Spark query, identified by its checkpoint.

A query keeps its id as long as it keeps its checkpoint, wherever that is moved. The table records
both, so that an error can name the owner to another query with the same path.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from barnabas.spark.pipelines.writer import Writer, query_of


@dataclass(frozen=True)
class Owner:
    """The query that owns a table."""

    query: str
    writer: Writer | None = None
    """None for a query that was started by hand."""

    def is_former(self, writer: Writer | None) -> bool:
        """Whether it had the same checkpoint path, as after the checkpoint was deleted."""
        if self.writer is None:
            return True  # as far as is known
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


def owner_in(text: str) -> Owner:
    """The owner that `owner_text` wrote."""
    found = json.loads(text)
    writer = found["writer"]
    return Owner(found["query"], None if writer is None else Writer(**writer))


def owner_text(owner: Owner) -> str:
    """The owner as JSON."""
    return json.dumps(asdict(owner))


def read_owner(file: Path) -> Owner | None:
    """The owner that was written to a file."""
    try:
        return owner_in(file.read_text("utf-8"))
    except FileNotFoundError:
        return None


def write_owner(file: Path, owner: Owner) -> None:
    """Replace the file atomically."""
    new = file.with_suffix(".new")
    new.write_text(owner_text(owner), "utf-8")
    new.replace(file)
