"""Kinds of files that a table may have: how Spark names them, and how many rows they have."""

from dataclasses import dataclass
from pathlib import Path

from pyarrow import parquet


@dataclass(frozen=True)
class FileKind:
    """A format of Spark's."""

    format: str

    def files(self, folder: Path) -> list[Path]:
        """The files that Spark has written for its rows."""
        suffix = f".{self.format}"
        return sorted(
            each
            for each in folder.rglob("*")
            if suffix in each.suffixes and not each.name.startswith((".", "_"))
        )

    def ending(self, file: Path) -> str:
        """How the file is named in the table: with what it is compressed, for text."""
        if self.format == "parquet":
            return ".parquet"
        return "".join(file.suffixes[file.suffixes.index(f".{self.format}") :])

    def count(self, file: Path) -> int | None:
        """How many rows a file has; None if only reading it would tell."""
        if self.format == "parquet":
            return int(parquet.read_metadata(file).num_rows)
        return None if file.stat().st_size else 0


PARQUET = FileKind("parquet")
FORMATS = ("json", "csv", "parquet")
