"""How far a stream of changes has been read, as it is saved.

    {"lsn": "0/1A2B3C8"}
    {"lsn": "0/1A2B3C8", "snapshot": {"name": "00000003-0000001B-1", "time_us": 1767225600000000,
     "tables": ["public.orders", "public.items"], "after": ["4711"]}}

`lsn` is where the log is read from: transactions that commit there or later are still to come.
During a snapshot, `tables` are still to be read, the first of them after the key `after`; the log
follows once there are none. During an incremental snapshot the log goes on meanwhile:

    {"lsn": "0/1A2B3C8", "incremental": {"lsn": "0/1A00000", "time_us": 1767225600000000,
     "tables": ["public.orders"], "after": null, "is_paused": false}, "signals": ["1"]}

`signals` are those that were followed up to here, and whose rows may still be there.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from barnabas.changes.incremental import IncrementalPosition, incremental_position_of
from barnabas.changes.postgres.lsn import format_lsn, parse_lsn
from barnabas.changes.snapshot_position import (
    SnapshotPosition,
    not_a_position,
    snapshot_position_of,
)


class ChangePosition(NamedTuple):
    """A position; positions of the same stream are in the order in which they were reached."""

    lsn: int
    snapshot: SnapshotPosition | None = None
    incremental: IncrementalPosition | None = None
    signals: tuple[str, ...] = ()

    def up_to(self, other: "ChangePosition") -> "ChangePosition":
        """The same, with the log read up to where another one has it."""
        return self._replace(lsn=other.lsn)

    def json(self) -> dict[str, Any]:
        """What is saved."""
        saved: dict[str, Any] = {"lsn": format_lsn(self.lsn)}
        if self.snapshot is not None:
            saved["snapshot"] = self.snapshot._asdict()
        if self.incremental is not None:
            rows_lsn = format_lsn(self.incremental.lsn)
            saved["incremental"] = {**self.incremental._asdict(), "lsn": rows_lsn}
        if self.signals:
            saved["signals"] = self.signals
        return saved


def position_of(saved: Mapping[str, Any]) -> ChangePosition:
    """From what was saved."""
    try:
        position = ChangePosition(
            parse_lsn(saved["lsn"]),
            None if saved.get("snapshot") is None else snapshot_position_of(saved["snapshot"]),
            None
            if saved.get("incremental") is None
            else incremental_position_of(saved["incremental"], parse_lsn),
            tuple(saved.get("signals", ())),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise not_a_position(saved, error) from None
    return position
