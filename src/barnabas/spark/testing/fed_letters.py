"""Dead letters of a test: files in a folder, one for each partition of a topic and task."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext

from barnabas.records.columns.schema import HEADER_TYPE
from barnabas.spark.dead_letters.dead_record import DeadRecord

_SCHEMA = pa.schema(
    [("key", pa.binary()), ("value", pa.binary()), ("headers", pa.list_(HEADER_TYPE))]
)


@dataclass(frozen=True)
class LetterFolder:
    """Replaces a dead-letter topic in a test."""

    folder: str
    group: str

    def open(self) -> "FiledLetters":
        context = TaskContext.get()
        assert context is not None
        return FiledLetters(self, int(context.getLocalProperty("streaming.sql.batchId") or 0))


class FiledLetters:
    """Writes the dead letters of a task; a repeated task writes the same files."""

    def __init__(self, target: LetterFolder, batch: int) -> None:
        self._target = target
        self._batch = batch
        self._taken: list[DeadRecord] = []

    def take(self, records: Iterable[DeadRecord]) -> None:
        self._taken += records

    def flush(self) -> None:
        for partition, of_it in groupby(self._taken, lambda each: each.partition):
            records = list(of_it)
            rows = [
                {
                    "key": each.key,
                    "value": each.value,
                    "headers": [{"key": k, "value": v} for k, v in each.letter_headers()],
                }
                for each in records
            ]
            name = f"{self._batch:08}-{quote(str(partition))}-{records[0].offset:012}"
            target = Path(self._target.folder) / f"{name}-{self._target.group}.parquet"
            target.parent.mkdir(parents=True, exist_ok=True)
            hidden = target.with_name(f".{target.name}")
            pq.write_table(pa.Table.from_pylist(rows, _SCHEMA), hidden)
            hidden.rename(target)
        self._taken.clear()


def letters_in(folder: Path) -> list[dict[str, Any]]:
    """All letters, in the order of their batches, with their headers as a dict."""
    found = []
    for file in sorted(folder.glob("[!.]*.parquet")):
        for row in pq.read_table(file, partitioning=None).to_pylist():
            headers = {each["key"]: each["value"] for each in row["headers"]}
            found.append({**row, "headers": headers})
    return found
