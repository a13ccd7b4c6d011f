"""How far a stream of changes has been read, as it is saved.

    {"file": "mysql-bin.000003", "pos": 4711}

is where the log is read from: it is between two transactions. During a snapshot, there is also
what is left of it (`barnabas.changes.snapshot_position`), and the log follows once it is read.
During an incremental snapshot the log goes on meanwhile (`barnabas.changes.incremental`).
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from barnabas.changes.incremental import IncrementalPosition, incremental_position_of
from barnabas.changes.snapshot_position import (
    SnapshotPosition,
    not_a_position,
    snapshot_position_of,
)

_FILE_BITS: Final = 40
"""A file is shorter than 2^40 bytes."""


class BinlogPosition(NamedTuple):
    """A position; `lsn` orders those of the same server."""

    file: str
    pos: int
    snapshot: SnapshotPosition | None = None
    incremental: IncrementalPosition | None = None
    signals: tuple[str, ...] = ()

    @property
    def lsn(self) -> int:
        return number_of(self.file, self.pos)

    def up_to(self, other: "BinlogPosition") -> "BinlogPosition":
        """The same, with the log read up to where another one has it."""
        return self._replace(file=other.file, pos=other.pos)

    def json(self) -> dict[str, Any]:
        """What is saved."""
        saved: dict[str, Any] = {"file": self.file, "pos": self.pos}
        if self.snapshot is not None:
            saved["snapshot"] = self.snapshot._asdict()
        if self.incremental is not None:
            saved["incremental"] = self.incremental._asdict()
        if self.signals:
            saved["signals"] = self.signals
        return saved


def number_of(file: str, pos: int) -> int:
    """A place in the log as a number: later places have greater ones."""
    return int(file.rpartition(".")[2]) << _FILE_BITS | pos


def binlog_position_of(saved: Mapping[str, Any]) -> BinlogPosition:
    """From what was saved."""
    try:
        found, again = saved.get("snapshot"), saved.get("incremental")
        position = BinlogPosition(
            str(saved["file"]),
            int(saved["pos"]),
            None if found is None else snapshot_position_of(found),
            None if again is None else incremental_position_of(again, int),
            tuple(saved.get("signals", ())),
        )
        _ = position.lsn
    except (KeyError, TypeError, ValueError) as error:
        raise not_a_position(saved, error) from None
    return position
