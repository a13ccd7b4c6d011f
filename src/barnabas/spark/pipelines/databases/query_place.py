"""Where a query is run: a URL, and what it takes to get there."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from barnabas.spark.pipelines.pipeline_end import resolved_path

FILES = ("sqlite", "duckdb")
"""Databases that are a file: `sqlite:shop.db`, or `sqlite:///var/shop.db`."""
_TIMEOUT_S = 300


@dataclass(frozen=True)
class QueryPlace:
    """A database, by its URL."""

    url: str = field(repr=False)
    timeout_s: int = _TIMEOUT_S
    """How long the server may take for an answer, or for the next rows of one."""
    jars: tuple[str, ...] = ()
    """JARs of a JDBC driver, for URLs that begin with `jdbc:`."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def scheme(self) -> str:
        return self.url.partition(":")[0]

    @property
    def file(self) -> str:
        """The path, if the database is a file."""
        return self.url.partition(":")[2].removeprefix("//")

    def resolved(self, folder: Path) -> Self:
        """The same, with paths resolved against a folder."""
        url = self.url
        if self.scheme in FILES:
            url = f"{self.scheme}:{resolved_path(self.file, folder)}"
        jars = tuple(resolved_path(each, folder) for each in self.jars)
        return type(self)(url, self.timeout_s, jars, self.user, self.password)
