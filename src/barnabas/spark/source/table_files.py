"""Stores the records of a table's partition in files, so that the next read needs only newer ones.

    FOLDER/TOPIC-PARTITION-ID/START-END.arrow     the newest record of each key, of [START, END)

Files that follow each other, from offset 0 on, are a chain. A task reads the chain and then the log
from its end on, and adds a file of what it read. A chain of `_LONGEST` files becomes one. No file
is ever changed: files are renamed into place, and a task that runs twice writes the same.

A chain is not used, and all is read again, if the topic was created again (its id is in the name),
if the log has lost records behind the chain's end, or if the chain was last complete so long ago
that compaction may have removed tombstones since (delete.retention.ms): the time of the last file
says when that was.
"""

import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from barnabas.client.consumer.range_reader import RecordRange
from barnabas.records.columns.schema import OFFSET
from barnabas.wire.primitives import ZERO_UUID

_NAME = re.compile(r"(\d{20})-(\d{20})\.arrow$")
_LONGEST = 16


@dataclass(frozen=True)
class Chain:
    """Files that hold the newest records of each key up to `end`."""

    files: tuple[str, ...]
    end: int


NO_CHAIN = Chain((), 0)


def folder_of(root: str, wanted: RecordRange) -> Path | None:
    """Where the files of a partition are; None if it is not known which topic this is."""
    if wanted.topic_id == ZERO_UUID:
        return None
    topic, partition = wanted.partition
    return Path(root) / f"{topic}-{partition}-{wanted.topic_id.hex()}"


def find_chain(root: str, wanted: RecordRange, retention_ms: int) -> Chain:
    """The longest chain that can be used for a log that has `wanted`."""
    folder = folder_of(root, wanted)
    if folder is None or not folder.is_dir():
        return NO_CHAIN
    by_start: dict[int, list[tuple[int, str]]] = {}
    for each in folder.iterdir():
        if found := _NAME.match(each.name):
            by_start.setdefault(int(found[1]), []).append((int(found[2]), each.name))
    at, files = 0, []
    while at in by_start:
        usable = [named for named in by_start[at] if named[0] <= wanted.end]
        if not usable:
            break
        end, name = max(usable)
        files.append(str(folder / name))
        at = end
    if not files or at < wanted.start or _age_ms(files[-1]) >= retention_ms:
        return NO_CHAIN
    return Chain(tuple(files), at)


def confirm(chain: Chain, now: float) -> None:
    """The chain is complete now: tombstones up to its end are in it."""
    with suppress(FileNotFoundError):
        os.utime(chain.files[-1], (now, now))


def read_files(chain: Chain, columns: list[str], start: int) -> list[pa.Table] | None:
    """What a chain has of a log that begins at `start`; None if it can't be used.

    Then its files were merged meanwhile, a power failure has left one of them empty, or an older
    version has written them. What is damaged is removed, so that the next read writes it again.
    """
    tables = []
    for path in chain.files:
        try:
            table = _read_file(path).select(columns)
            tables.append(table.filter(pc.field(OFFSET) >= start) if start else table)
        except FileNotFoundError:
            return None
        except (pa.ArrowInvalid, KeyError):
            Path(path).unlink(missing_ok=True)
            return None
    return tables


def _read_file(path: str) -> pa.Table:
    with pa.memory_map(path) as source:
        return pa.ipc.open_file(source).read_all()


def add_file(
    root: str, wanted: RecordRange, chain: Chain, tables: list[pa.Table], planned_at: float
) -> None:
    """Keep what was read behind the chain's end, all of it; `planned_at` is when it ended there."""
    folder = folder_of(root, wanted)
    if folder is None or not tables:
        return
    start = chain.end
    if len(chain.files) + 1 >= _LONGEST:
        tables = [*map(_read_file, chain.files), *tables]
        start = 0
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{start:020d}-{wanted.end:020d}.arrow"
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    newest = _newest(pa.concat_tables(tables))
    with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, newest.schema) as writer:
        writer.write_table(newest)
    os.utime(temporary, (planned_at, planned_at))
    temporary.replace(path)
    if start == 0:
        _remove_before(folder, chain)


def _newest(table: pa.Table) -> pa.Table:
    """The last row of each key; rows are in the order of their offsets."""
    rows = pa.table({"key": table.column("key"), "row": pa.array(range(table.num_rows))})
    last = rows.group_by("key").aggregate([("row", "max")]).column("row_max")
    return table.take(last)


def _remove_before(folder: Path, chain: Chain) -> None:
    """Remove merged files; a task that still reads one falls back to the log."""
    merged = sorted(each for each in folder.iterdir() if _NAME.match(each.name))
    whole = [each for each in merged if each.name.startswith("0" * 20)]
    for each in whole[:-2]:
        each.unlink(missing_ok=True)
    for name in chain.files:
        if not Path(name).name.startswith("0" * 20):
            Path(name).unlink(missing_ok=True)


def _age_ms(path: str) -> float:
    return (time.time() - Path(path).stat().st_mtime) * 1000
