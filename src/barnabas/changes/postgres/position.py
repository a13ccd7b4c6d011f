"""How far a stream of changes has been read, as it is saved.

    {"lsn": "0/1A2B3C8"}
    {"lsn": "0/1A2B3C8", "snapshot": {"name": "00000003-0000001B-1", "time_us": 1767225600000000,
     "tables": ["public.orders", "public.items"], "after": ["4711"]}}

`lsn` is where the log is read from: transactions that commit there or later are still to come.
During a snapshot, `tables` are still to be read, the first of them after the key `after`; the log
follows once there are none.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from barnabas.changes.postgres.lsn import format_lsn, parse_lsn
from barnabas.errors import InvalidArgument


class SnapshotPosition(NamedTuple):
    """What is still to be read of a snapshot."""

    name: str | None
    """That of the exported snapshot, which is gone once the process that took it is."""
    time_us: int
    tables: tuple[str, ...]
    """As PostgreSQL quotes them; never empty."""
    after: tuple[str, ...] | None
    """The key of the last row that was read of the first table."""


class ChangePosition(NamedTuple):
    """A position; positions of the same stream are in the order in which they were reached."""

    lsn: int
    snapshot: SnapshotPosition | None = None

    def json(self) -> dict[str, Any]:
        """What is saved."""
        saved: dict[str, Any] = {"lsn": format_lsn(self.lsn)}
        if self.snapshot is not None:
            saved["snapshot"] = self.snapshot._asdict()
        return saved


def position_of(saved: Mapping[str, Any]) -> ChangePosition:
    """From what was saved."""
    try:
        lsn = parse_lsn(saved["lsn"])
        found = saved.get("snapshot")
        if found is None:
            return ChangePosition(lsn)
        after = found["after"]
        snapshot = SnapshotPosition(
            found["name"],
            int(found["time_us"]),
            tuple(found["tables"]),
            None if after is None else tuple(after),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidArgument(
            f"{dict(saved)!r} is not the position of a stream of changes ({error}): was the "
            "checkpoint written by another source?"
        ) from None
    if not snapshot.tables:
        raise InvalidArgument(f"{dict(saved)!r} is the position of a snapshot without tables")
    return ChangePosition(lsn, snapshot)
