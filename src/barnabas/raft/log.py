"""The log in memory: the entries since the latest snapshot, and who votes according to it.

Memory is bounded by how often the caller takes snapshots; the log of a cluster's metadata is
small. Where it starts is the end of the snapshot, or 0.

Invariants: entries follow each other without a gap; epochs never fall; the snapshot's epoch is
not above the first entry's. The voters of the last `VoterSet` entry count from when it is in the
log, committed or not, and go when it is truncated.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from barnabas.raft.entry import Entry, OffsetAndEpoch, Snapshot
from barnabas.raft.voters import VoterSet


class BrokenInvariant(AssertionError):  # noqa: N818 - reads as the fact it states
    """Something that can never happen has happened: the replica must stop."""


class RaftLog:
    __slots__ = ("_entries", "_voters", "end_offset", "snapshot", "start_offset")

    def __init__(
        self, snapshot: Snapshot | None, entries: Iterable[Entry], bootstrap_voters: VoterSet
    ) -> None:
        """`bootstrap_voters` vote until the log says otherwise."""
        self._entries: list[Entry] = []
        self.snapshot = snapshot
        self.start_offset = snapshot.snapshot_id.end_offset if snapshot else 0
        self.end_offset = self.start_offset
        self._voters = [(-1, snapshot.voters if snapshot else bootstrap_voters)]
        for entry in entries:
            if entry.end_offset > self.start_offset:
                self.append(entry)

    # -- points --------------------------------------------------------------------------------

    @property
    def last_epoch(self) -> int:
        return self._entries[-1].epoch if self._entries else self._start_epoch

    @property
    def _start_epoch(self) -> int:
        return self.snapshot.snapshot_id.epoch if self.snapshot else 0

    def has(self, end_offset: int, epoch: int) -> bool:
        """Whether an entry of `epoch` ends at `end_offset` (or the snapshot, or nothing at 0)."""
        if end_offset == self.start_offset:
            return epoch == self._start_epoch
        found = self._index_of_end(end_offset)
        return found is not None and self._entries[found].epoch == epoch

    def end_of_epoch(self, epoch: int) -> OffsetAndEpoch | None:
        """Where the largest epoch up to `epoch` ends; None when that is before the start."""
        found = bisect_right(self._entries, epoch, key=lambda entry: entry.epoch) - 1
        if found >= 0:
            return OffsetAndEpoch(self._entries[found].end_offset, self._entries[found].epoch)
        if self._start_epoch <= epoch:
            return OffsetAndEpoch(self.start_offset, self._start_epoch)
        return None

    def end_up_to(self, offset: int) -> int:
        """Where the last entry ends that ends no later than `offset`."""
        found = self._index_of(offset) - 1
        if found >= 0 and self._entries[found].end_offset > offset:
            found -= 1
        return self._entries[found].end_offset if found >= 0 else self.start_offset

    def epoch_at(self, end_offset: int) -> int:
        """The epoch of the entry that ends there."""
        if end_offset == self.start_offset:
            return self._start_epoch
        found = self._index_of_end(end_offset)
        if found is None:
            raise BrokenInvariant(f"no entry ends at {end_offset}")
        return self._entries[found].epoch

    def _index_of_end(self, end_offset: int) -> int | None:
        found = bisect_left(self._entries, end_offset, key=lambda entry: entry.base_offset) - 1
        if found >= 0 and self._entries[found].end_offset == end_offset:
            return found
        return None

    # -- entries -------------------------------------------------------------------------------

    def read(self, from_offset: int, max_bytes: int) -> tuple[Entry, ...]:
        """Entries from there on, as many as fit into `max_bytes`, at least one if there is one."""
        first = last = self._index_of(from_offset)
        left = max_bytes
        while last < len(self._entries) and (last == first or self._entries[last].size <= left):
            left -= self._entries[last].size
            last += 1
        return tuple(self._entries[first:last])

    def between(self, from_offset: int, end_offset: int) -> list[Entry]:
        return self._entries[self._index_of(from_offset) : self._index_of(end_offset)]

    def _index_of(self, base_offset: int) -> int:
        return bisect_left(self._entries, base_offset, key=lambda entry: entry.base_offset)

    # -- voters --------------------------------------------------------------------------------

    @property
    def voters(self) -> VoterSet:
        return self._voters[-1][1]

    @property
    def voters_offset(self) -> int:
        """Where the present voters are written; -1 when it is in the snapshot or nowhere."""
        return self._voters[-1][0]

    @property
    def are_voters_unwritten(self) -> bool:
        """Whether only those that the cluster began with know who votes."""
        return self.voters_offset < 0 and self.snapshot is None

    def voters_at(self, end_offset: int) -> VoterSet:
        """Who votes according to everything before `end_offset`."""
        return next(voters for at, voters in reversed(self._voters) if at < end_offset)

    # -- changes -------------------------------------------------------------------------------

    def append(self, entry: Entry) -> None:
        if entry.base_offset != self.end_offset or entry.epoch < self.last_epoch:
            raise BrokenInvariant(f"{entry} does not follow offset {self.end_offset}")
        self._entries.append(entry)
        self.end_offset = entry.end_offset
        if isinstance(entry.body, VoterSet):
            self._voters.append((entry.base_offset, entry.body))

    def truncate(self, end_offset: int) -> None:
        """Drop every entry from `end_offset` on."""
        if end_offset < self.start_offset:
            raise BrokenInvariant(f"{end_offset} is before the snapshot at {self.start_offset}")
        del self._entries[self._index_of(end_offset) :]
        if self._entries and self._entries[-1].end_offset != end_offset:
            raise BrokenInvariant(f"{end_offset} is inside an entry")
        self.end_offset = end_offset
        while self._voters[-1][0] >= end_offset:
            self._voters.pop()

    def drop_before(self, snapshot: Snapshot) -> None:
        """`snapshot` is of this log, and stands in for the entries before its end."""
        end_offset = snapshot.snapshot_id.end_offset
        later = [(at, voters) for at, voters in self._voters if at >= end_offset]
        self._voters = [(-1, snapshot.voters), *later]
        del self._entries[: self._index_of(end_offset)]
        self.snapshot = snapshot
        self.start_offset = end_offset

    def replace(self, snapshot: Snapshot) -> None:
        """`snapshot` is a leader's, and stands in for the whole log."""
        self._entries.clear()
        self._voters = [(-1, snapshot.voters)]
        self.snapshot = snapshot
        self.start_offset = self.end_offset = snapshot.snapshot_id.end_offset
