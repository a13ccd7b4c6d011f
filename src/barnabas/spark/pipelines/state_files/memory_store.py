"""Keys and values of one partition of Spark's own state store, which is in memory while it runs.

    VERSION.snapshot     all keys and values
    VERSION.delta        what has changed since the version before

Both are written as a changelog is. A version is a snapshot and the deltas after it.
"""

from collections.abc import Iterator
from pathlib import Path

from barnabas.spark.pipelines.state_files.changelog import read_changelog
from barnabas.spark.pipelines.state_files.state_store import content_of, newest_version


def read_memory_partition(folder: Path, version: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values at a version, by key."""
    snapshot = newest_version(folder, ".snapshot", version)
    files = [folder / f"{snapshot}.snapshot"] if snapshot else []
    files += [folder / f"{number}.delta" for number in range(snapshot + 1, version + 1)]
    found: dict[bytes, bytes] = {}
    for file in files:
        for key, value in read_changelog(content_of(file)):
            if value is None:
                found.pop(key, None)
            else:
                found[key] = value
    for key in sorted(found):
        yield key, found[key]
