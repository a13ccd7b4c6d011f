"""Where the epochs of a leader began, asked of it with OffsetForLeaderEpoch.

A follower learns its epochs from the batches that it fetches. Compaction removes batches, so behind
a gap an epoch may have begun before its first batch that is left, and epochs of which none is left
were there too. A replica that does not know them answers the followers that it leads one day with
too small an epoch: they would truncate what is committed.
"""

from collections.abc import Iterable

from barnabas.replication.divergence import EpochEnd

_ASKED_AT_ONCE = 200


class EpochHistory:
    """The epochs from `lowest`, the latest that the follower has, to `leader_epoch`."""

    def __init__(self, lowest: int, leader_epoch: int) -> None:
        self._lowest = max(0, lowest)
        self._leader_epoch = leader_epoch
        self._highest = leader_epoch - 1
        """To ask for next."""
        self._ends: dict[int, int] = {}

    @property
    def is_complete(self) -> bool:
        return self._highest < self._lowest

    def next_epochs(self) -> range:
        """The epochs to ask for, with one request; from the newest on."""
        return range(max(self._lowest, self._highest - _ASKED_AT_ONCE + 1), self._highest + 1)

    def answered(self, ends: Iterable[EpochEnd]) -> None:
        """The leader's answers: each the largest epoch up to the one asked for, and its end."""
        asked = self.next_epochs()
        known = {epoch: end_offset for epoch, end_offset in ends if epoch >= 0}
        self._ends |= known
        self._highest = min(asked.start, min(known, default=asked.start)) - 1

    def starts(self) -> list[tuple[int, int]]:
        """The epochs, and where they began. The first one began there or earlier."""
        starts = []
        start = 0
        for epoch, end_offset in sorted(self._ends.items()):
            starts.append((epoch, start))
            start = end_offset
        if starts or self._leader_epoch == 0:
            starts.append((self._leader_epoch, start))
        return starts
