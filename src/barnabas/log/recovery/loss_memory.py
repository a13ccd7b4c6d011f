"""What a recovery has found to be lost, written to `log.state` before the node acts upon it.

The files that tell of a loss do not last. The recovery cuts out damage and removes old indexes and
snapshots; and after a loss of power, a gap may be nothing but appends that were never synced. So a
loss is on stable storage before its evidence goes, and before the log is used. If there is no
usable `log.state`, one is written that has only the losses: everything else stays unknown.
"""

from barnabas.log.lost_ranges import LostRanges
from barnabas.log.state import LogState, Losses, write_losses, write_state
from barnabas.log.storage import Disk


class LossMemory:
    """The losses that `log.state` tells of, and those that were added to them."""

    def __init__(self, disk: Disk, directory: str, state: LogState | None, earlier: Losses) -> None:
        self._disk = disk
        self._directory = directory
        self._state = state
        self._written = earlier
        self._earlier = LostRanges(earlier.lost_ranges)

    @property
    def lost_ranges(self) -> LostRanges:
        """A copy of the ranges that earlier starts have found."""
        return LostRanges(self._earlier)

    @property
    def expected_end(self) -> int:
        """Where the log ended before it lost its end; 0 if that is not known to be lost."""
        return self._written.expected_end

    @property
    def suspect_from(self) -> int | None:
        """See `LogSuspects`; only the end of the doubt removes it."""
        return self._written.suspect_from

    def covers(self, start: int, end: int) -> bool:
        """Whether earlier starts have found that all between these offsets is lost."""
        lost = self._earlier.at(start)
        return lost is not None and end <= lost.end

    def keep(self, lost: LostRanges, expected_end: int = 0) -> None:
        """Write losses to stable storage, unless they are there. Raises OSError."""
        written = self._written
        found = written._replace(
            lost_ranges=tuple(lost), expected_end=max(expected_end, written.expected_end)
        )
        if found == written or not (lost or found.expected_end):
            return
        if self._state is None:
            write_losses(self._disk, self._directory, found)
        else:
            self._state = self._state._replace(**found._asdict())
            write_state(self._disk, self._directory, self._state, sync=True)
        self._written = found
