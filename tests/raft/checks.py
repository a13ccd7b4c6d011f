"""What must hold at every moment of a simulation, whatever happens to the replicas.

The checker sees what each replica writes, applies and answers, and holds it against everything
that any of them has ever done.
"""

from collections import Counter
from typing import NamedTuple
from zlib import crc32

from barnabas.raft import Entry, Raft, ReplicaKey, Snapshot, VoterSet


class Violation(AssertionError):
    pass


class Stuck(AssertionError):
    """Nothing is wrong, but nothing goes on either."""


class ReadStarted(NamedTuple):
    """What was committed, anywhere, when a read was asked for."""

    committed_end: int


class Checker:
    def __init__(self) -> None:
        self.leaders: dict[int, ReplicaKey] = {}
        self.committed: list[Entry] = []
        self.committed_end = 0
        self.digests = {0: 0}
        """Of the state after each committed entry, by its end offset."""
        self._at: dict[int, Entry] = {}
        self._written: dict[tuple[int, int], tuple[Entry, int]] = {}
        self.reads = 0
        self.happened: Counter[str] = Counter()
        """What the run has seen of what seldom happens."""

    def wrote(self, entry: Entry, previous_epoch: int) -> None:
        """Log matching: an epoch and an offset name one entry, and one log before it."""
        known = self._written.setdefault((entry.epoch, entry.base_offset), (entry, previous_epoch))
        if known != (entry, previous_epoch):
            raise Violation(f"log matching: {entry} after {previous_epoch}, but {known} elsewhere")

    def leads(self, key: ReplicaKey, raft: Raft) -> None:
        """One leader in an epoch, and one that has every entry committed before."""
        known = self.leaders.get(raft.epoch)
        if known is None:
            self.leaders[raft.epoch] = key
            self.happened["elections"] += 1
            self._check_completeness(key, raft)
        elif known != key:
            raise Violation(f"two leaders in epoch {raft.epoch}: {known} and {key}")

    def _check_completeness(self, key: ReplicaKey, raft: Raft) -> None:
        start = raft.log_start_offset
        earlier = [e for e in self.committed if e.epoch < raft.epoch and e.base_offset >= start]
        if earlier:
            end = earlier[-1].end_offset
            if raft._state.log.between(start, end) != earlier or raft.log_end_offset < end:
                raise Violation(f"leader {key} of epoch {raft.epoch} lacks committed entries")

    def applied(self, key: ReplicaKey, entry: Entry, digest: int) -> int:
        """State-machine safety: all replicas apply the same entries; returns the new digest."""
        if entry.base_offset == self.committed_end:
            self.committed.append(entry)
            self.happened["commits"] += 1
            self.happened["changes of voters"] += isinstance(entry.body, VoterSet)
            self._at[entry.base_offset] = entry
            self.committed_end = entry.end_offset
            self.digests[entry.end_offset] = crc32(repr(entry).encode(), digest)
        elif self._at.get(entry.base_offset) != entry:
            other = self._at.get(entry.base_offset)
            raise Violation(f"{key} applied {entry}, but another applied {other}")
        return self.digests[entry.end_offset]

    def restored(self, key: ReplicaKey, snapshot: Snapshot, digest: int) -> None:
        end_offset = snapshot.snapshot_id.end_offset
        if self.digests.get(end_offset) != digest:
            raise Violation(f"{key} restored a state at {end_offset} that never was")

    def read_begins(self) -> ReadStarted:
        return ReadStarted(self.committed_end)

    def read_ends(self, key: ReplicaKey, started: ReadStarted, applied_end: int) -> None:
        self.reads += 1
        self.happened["reads"] += 1
        if applied_end < started.committed_end:
            raise Violation(
                f"{key} answered a read from offset {applied_end}, but "
                f"{started.committed_end} was committed when it was asked"
            )
