"""Files that are added to a folder of an object store, as a connector that reads by position.

A position has the time of the newest object that was read, and the names of those that are almost
as new: `{"newest": seconds, "recent": {name: seconds}, "files": [[name, size, seconds]]}`. `files`
are the objects of the batch that ends there, so that it can be read again.

Stores give an object the time when its upload began, and their clocks have whole seconds. So an
object may appear with an earlier time than one that was read before: names are kept for `late_s`,
and an object with a time before that is taken as read.

Rows have one more column than their file, `FOLDERS`: the columns that folders named `key=value`
stand for, as texts.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import MapType, StringType, StructField, StructType

from barnabas.errors import DataLost
from barnabas.object_store import ObjectStore, StoredObject
from barnabas.spark.connector.connector import Connector, Position
from barnabas.spark.connector.row_batches import RowError

VALUE, FOLDERS = "value", "barnabas_folders"
LINES = StructType([StructField(VALUE, StringType())])
"""The column of text files."""

_EVERY_S = 1.0
_PARTS = 16
_LINES = 5_000
_TEXTS = MapType(StringType(), StringType())
_NULL = "__HIVE_DEFAULT_PARTITION__"
"""What Spark and Hive name a folder of rows without a value."""


@dataclass
class ObjectFiles(Connector):
    """Lines of text files, in a column `value`; or the columns of Parquet files."""

    store: ObjectStore
    fields: str | StructType
    """The columns of the rows, `FOLDERS` aside."""
    format: str
    max_files: int = 1_000
    late_s: int = 3_600
    glob: str = "*"
    header: bool = False
    """Whether the first line of each file is left out."""
    columns: tuple[str, ...] = ()
    """Names of the columns that lines become, of which folders may give some."""
    separator: str = ","
    """Between the values of a line of CSV."""
    _listed_at: float | None = field(default=None, init=False)
    _bounded: list[StoredObject] | None = field(default=None, init=False)

    def describe(self) -> str:
        return f"{self.format} files in {self.store.description}"

    def schema(self) -> str | StructType:
        fields = self.fields
        if not isinstance(fields, StructType):
            return fields
        return StructType([*fields.fields, StructField(FOLDERS, _TEXTS)])

    # -- positions --------------------------------------------------------------------------------

    def initial(self) -> Position:
        return {"newest": 0, "recent": {}, "files": []}

    def bound(self, start: Position) -> None:
        del start
        self._bounded = self._listed()

    def latest(self, start: Position) -> Position:
        if self._bounded is None:
            now = time.monotonic()
            if self._listed_at is not None and now - self._listed_at < _EVERY_S:
                return start
            self._listed_at = now
        listed = self._listed() if self._bounded is None else self._bounded
        recent: dict[str, int] = start["recent"]
        late = start["newest"] - self.late_s
        new = [each for each in listed if each.time > late and recent.get(each.name) != each.time]
        chosen = sorted(new, key=lambda each: (each.time, each.name))[: self.max_files]
        if not chosen:
            return start
        if len(new) > len(chosen):
            self._listed_at = None  # there is more to read at once
        newest = max(start["newest"], chosen[-1].time)
        known = {**recent, **{each.name: each.time for each in chosen}}
        return {
            "newest": newest,
            "recent": {name: at for name, at in known.items() if at > newest - self.late_s},
            "files": [list(each) for each in chosen],
        }

    def _listed(self) -> list[StoredObject]:
        return [each for each in self.store.list() if self._is_read(each)]

    def _is_read(self, found: StoredObject) -> bool:
        parts = found.name.split("/")
        hidden = any(_is_hidden(each) for each in parts)
        return found.size > 0 and not hidden and fnmatchcase(parts[-1], self.glob)

    def split(self, start: Position, end: Position) -> Sequence[tuple[Position, Position]]:
        files = end["files"]
        parts = [files[at::_PARTS] for at in range(min(_PARTS, len(files)))]
        return [(start, {"files": each}) for each in parts]

    # -- reading ----------------------------------------------------------------------------------

    def read(self, start: Position, end: Position) -> Iterator[pa.RecordBatch]:
        del start
        assert isinstance(self.fields, StructType)
        schema = to_arrow_schema(self.fields, timezone="UTC")
        for each in end["files"]:
            self._check(StoredObject(*each))
            name = each[0]
            folders = folder_values(name)
            is_parquet = self.format == "parquet"
            batches = (
                self._columns(name, schema) if is_parquet else self._lines(name, schema, folders)
            )
            for batch in batches:
                yield _with_folders(batch, folders)

    def _check(self, wanted: StoredObject) -> None:
        """Raise if it is not the object that was listed: the batch would have other rows."""
        found = self.store.info(wanted.name)
        if found is None or (found.size, found.time) != (wanted.size, wanted.time):
            what = "is gone" if found is None else "was overwritten"
            raise DataLost(
                f"{self.store.description}/{wanted.name} {what} before it was read to its end: "
                "restore it, or start over (`barnabas pipeline reset`)"
            )

    def _lines(
        self, name: str, schema: pa.Schema, folders: dict[str, str | None]
    ) -> Iterator[pa.RecordBatch]:
        ending = self._missing_values(name, folders) if self.format == "csv" else ""
        with self.store.opened(name) as stream:
            lines = _lines_of(stream)
            if self.header:
                next(lines, None)
            kept = (each for each in lines if self.format == "text" or each.strip())
            while some := [each + ending for each in islice(kept, _LINES)]:
                yield pa.RecordBatch.from_arrays([pa.array(some, pa.string())], schema=schema)

    def _missing_values(self, name: str, folders: dict[str, str | None]) -> str:
        """What makes a line of CSV complete: the values that the folders have, not the file."""
        given = [each.lower() in folders for each in self.columns]
        if sorted(given) != given:
            first = self.columns[given.index(True)]
            raise RowError(
                f"column {first} of {name} is that of a folder: name such columns last in the "
                "schema, since a file of CSV has its columns in order"
            )
        return self.separator * sum(given)

    def _columns(self, name: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self.store.opened_file(name) as file:
            for batch in parquet.ParquetFile(file).iter_batches():
                columns = [_column(batch, each, name) for each in schema]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def folder_values(name: str) -> dict[str, str | None]:
    """The columns that folders named `key=value` stand for, by name in lower case."""
    pairs = [each.partition("=") for each in name.split("/")[:-1]]
    return {
        unquote(key).lower(): None if value == _NULL else unquote(value)
        for key, mark, value in pairs
        if key and mark
    }


def _with_folders(batch: pa.RecordBatch, folders: dict[str, str | None]) -> pa.RecordBatch:
    of_arrow = pa.map_(pa.string(), pa.string())
    count = batch.num_rows
    values = pa.repeat(pa.scalar([*folders.items()], of_arrow), count)
    return batch.append_column(FOLDERS, values if folders else pa.nulls(count, of_arrow))


def _is_hidden(part: str) -> bool:
    """Whether Spark, too, passes over files and folders of this name."""
    return part.startswith(".") or (part.startswith("_") and "=" not in part)


def _column(batch: pa.RecordBatch, wanted: pa.Field, name: str) -> pa.Array:
    if wanted.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, wanted.type)
    try:
        return batch.column(wanted.name).cast(wanted.type)
    except pa.ArrowException as error:
        raise RowError(f"column {wanted.name} of {name}: {error}") from error


def _lines_of(stream: Any) -> Iterator[str]:
    """Lines without their ends; bytes that are not UTF-8 become U+FFFD, as Spark has it."""
    rest = b""
    while chunk := stream.read(1 << 20):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r").decode(errors="replace")
    if rest:
        yield rest.removesuffix(b"\r").decode(errors="replace")
