"""The start offset of each leader epoch; followers compare theirs with the leader's."""

from bisect import bisect_right
from collections.abc import Iterable

EpochStarts = Iterable[tuple[int, int]]
"""Pairs of (epoch, start offset), both growing."""


class LeaderEpochs:
    """Pairs of (epoch, start offset), both growing. Few: one per change of leader."""

    __slots__ = ("_epochs", "_starts")

    def __init__(self, entries: list[tuple[int, int]] | None = None) -> None:
        self._epochs = [epoch for epoch, _ in entries or ()]
        self._starts = [start for _, start in entries or ()]

    def entries(self) -> list[tuple[int, int]]:
        return list(zip(self._epochs, self._starts, strict=True))

    @property
    def latest(self) -> int:
        return self._epochs[-1] if self._epochs else -1

    def assign(self, epoch: int, start_offset: int) -> None:
        """`epoch` begins at `start_offset`; an epoch known already changes nothing.

        A leader assigns its epoch before it appends anything: a follower that has more of an older
        epoch than the leader could not learn where that one ends otherwise.
        """
        if epoch < 0 or (self._epochs and epoch <= self._epochs[-1]):
            return
        while self._starts and self._starts[-1] >= start_offset:
            self._epochs.pop()
            self._starts.pop()
        self._epochs.append(epoch)
        self._starts.append(start_offset)

    def assign_behind_gap(
        self, known: EpochStarts, gap_start: int, epoch: int, start_offset: int
    ) -> None:
        """A batch of `epoch` is at `start_offset`, and compaction has removed what was between
        `gap_start` and it.

        The epoch may have begun in the gap, and others too: `known` has pairs that tell. A later
        start would hide that another replica has diverged there.
        """
        for each, start in known:
            if self.latest < each <= epoch and gap_start <= start < start_offset:
                self.assign(each, start)
        self.assign(epoch, start_offset)

    def epoch_for(self, offset: int) -> int:
        found = bisect_right(self._starts, offset) - 1
        return self._epochs[found] if found >= 0 else -1

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest known epoch up to `epoch` and the offset where it ended; (-1, -1) if unknown.

        An epoch before the first known one ended where that one started.
        """
        if not self._epochs or epoch < 0 or epoch > self._epochs[-1]:
            return -1, -1
        following = bisect_right(self._epochs, epoch)
        end = self._starts[following] if following < len(self._starts) else log_end_offset
        return (self._epochs[following - 1] if following else epoch), end

    def start_above(self, epoch: int) -> int | None:
        """Where the first epoch later than `epoch` starts; None if there is none."""
        following = bisect_right(self._epochs, epoch)
        return self._starts[following] if following < len(self._starts) else None

    def truncate_from(self, offset: int) -> None:
        """Forget the epochs that start at or behind `offset`: the log was truncated there."""
        while self._starts and self._starts[-1] >= offset:
            self._epochs.pop()
            self._starts.pop()

    def truncate_before(self, offset: int) -> None:
        """Forget the epochs that ended before `offset`: the log now starts there."""
        found = bisect_right(self._starts, offset) - 1
        if found >= 0:
            del self._epochs[:found]
            del self._starts[:found]
