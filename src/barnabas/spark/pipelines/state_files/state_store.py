"""Keys and values of one partition of a state store of RocksDB.

    VERSION.zip          a snapshot: `metadata` names its sorted tables in SSTs/
    VERSION.changelog    what has changed since the version before

A version is a snapshot and the changelogs after it. The files of a version never change, so a
pipeline may run meanwhile; it keeps those of a hundred versions.
"""

import heapq
import json
import zipfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from barnabas.spark.pipelines.state_files.changelog import read_changelog
from barnabas.spark.pipelines.state_files.sorted_table import Entry, read_sorted_table
from barnabas.spark.pipelines.state_files.unreadable import UnreadableState

_NEWER_THAN_ANY = -(1 << 63)


def read_partition(folder: Path, version: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values at a version, by key. Sorted tables are read as far as they are needed."""
    snapshot = newest_version(folder, ".zip", version)
    changed: dict[bytes, bytes | None] = {}
    for number in range(snapshot + 1, version + 1):
        changed.update(read_changelog(content_of(folder / f"{number}.changelog")))
    tables = [read_sorted_table(content_of(each)) for each in _sorted_tables(folder, snapshot)]
    changes = (Entry(key, _NEWER_THAN_ANY, changed[key]) for key in sorted(changed))
    entries = heapq.merge(changes, *tables, key=lambda each: each[:2])
    for key, of_key in groupby(entries, key=lambda each: each.key):
        newest = next(of_key).value
        if newest is not None:
            yield key, newest


def newest_version(folder: Path, suffix: str, version: int) -> int:
    """The version of the last snapshot up to a version; 0 stands for an empty store."""
    names = (each.stem for each in folder.glob(f"*{suffix}") if each.stem.isdecimal())
    return max((number for number in map(int, names) if number <= version), default=0)


def _sorted_tables(folder: Path, snapshot: int) -> list[Path]:
    if snapshot == 0:
        return []
    with zipfile.ZipFile(folder / f"{snapshot}.zip") as files:
        version, text = files.read("metadata").decode().split("\n", 1)
        has_log = any(each.file_size and each.filename.endswith(".log") for each in files.filelist)
    found = json.loads(text)
    if version != "v1" or has_log or found.get("columnFamilyMapping"):
        raise UnreadableState(f"{folder}: a snapshot with more than sorted tables")
    return [folder / "SSTs" / each["dfsSstFileName"] for each in found["sstFiles"]]


def content_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise UnreadableState(f"{file} is missing") from None
