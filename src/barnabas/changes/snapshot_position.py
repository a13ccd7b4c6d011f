"""How far a snapshot has been read: tables one after the other, in chunks by primary key."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from barnabas.errors import InvalidArgument


class SnapshotPosition(NamedTuple):
    """What is still to be read of a snapshot."""

    name: str | None
    """That of the exported snapshot, which is gone once the process that took it is."""
    time_us: int
    tables: tuple[str, ...]
    """As the database quotes them; never empty."""
    after: tuple[str, ...] | None
    """The key of the last row that was read of the first table."""


def snapshot_position_of(saved: Mapping[str, Any]) -> SnapshotPosition:
    """From what was saved; a `KeyError`, `TypeError` or `ValueError` if it is none."""
    after = saved["after"]
    snapshot = SnapshotPosition(
        saved["name"],
        int(saved["time_us"]),
        tuple(saved["tables"]),
        None if after is None else tuple(after),
    )
    if not snapshot.tables:
        raise ValueError("a snapshot without tables")
    return snapshot


def not_a_position(saved: Mapping[str, Any], error: Exception) -> InvalidArgument:
    """What is wrong with a position that can't be read."""
    return InvalidArgument(
        f"{dict(saved)!r} is not the position of a stream of changes ({error}): was the "
        "checkpoint written by another source?"
    )


def chunks(
    start: SnapshotPosition | None, end: SnapshotPosition | None
) -> Iterator[SnapshotPosition]:
    """The parts of tables between two positions: each with its first table and start."""
    at = start
    while at is not None and at != end:
        yield at
        if end is not None and at.tables == end.tables:
            return
        left = at.tables[1:]
        at = at._replace(tables=left, after=None) if left else None


def chunk_end(at: SnapshotPosition, end: SnapshotPosition | None) -> tuple[str, ...] | None:
    """The last key of a part; None for all the rest of its table."""
    if end is None or end.tables != at.tables:
        return None
    return end.after
