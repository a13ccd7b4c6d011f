"""Writes on their way to the disk, and messages that wait for them.

Two things are known about durability. `election_sequence` is the write of the present epoch and
vote: no message leaves before it is durable. `durable_end_offset` is how much of the present log
is durable: a leader counts only that for itself, and a follower fetches, which
acknowledges, only when it is all of the log.
"""

from collections import deque

from barnabas.raft.entry import Entry, Snapshot
from barnabas.raft.messages import Envelope
from barnabas.raft.ready import ElectionState, Truncate, Write


class Writes:
    __slots__ = (
        "_held",
        "_last_sequence",
        "_unsynced",
        "_untaken",
        "durable_end_offset",
        "durable_sequence",
        "election_sequence",
        "log_sequence",
    )

    def __init__(self, durable_end_offset: int) -> None:
        self._last_sequence = 0
        self._untaken: list[Write] = []
        self._unsynced: deque[tuple[int, int]] = deque()
        """Of each write of the log: its sequence, and where the durable log ends with it."""
        self._held: deque[tuple[int, Envelope]] = deque()
        """Messages and the write each waits for, both in the order in which they came."""
        self.durable_sequence = 0
        self.durable_end_offset = durable_end_offset
        self.election_sequence = 0
        self.log_sequence = 0

    @property
    def is_log_durable(self) -> bool:
        return self.log_sequence <= self.durable_sequence

    @property
    def is_election_durable(self) -> bool:
        return self.election_sequence <= self.durable_sequence

    def elected(self, election: ElectionState) -> None:
        self.election_sequence = self._write(election)

    def appended(self, entry: Entry) -> None:
        self._write_log(entry, entry.end_offset)

    def truncated(self, end_offset: int) -> None:
        self._limit(end_offset)
        self._write_log(Truncate(end_offset), end_offset)

    def snapshot_taken(self, snapshot: Snapshot) -> None:
        self._write(snapshot)

    def snapshot_installed(self, snapshot: Snapshot, log_end_offset: int) -> None:
        """The log is to be replaced by `snapshot`: until that is durable, nothing of it is.

        What the old log has behind the snapshot goes first. A crash in between leaves a log that
        has lost only entries that were never committed.
        """
        end_offset = snapshot.snapshot_id.end_offset
        if log_end_offset > end_offset:
            self._write(Truncate(end_offset))
        self._limit(-1)
        self._write_log(snapshot, end_offset)

    def _limit(self, end_offset: int) -> None:
        """Writes to the log before the truncation count only up to there."""
        self.durable_end_offset = min(self.durable_end_offset, end_offset)
        self._unsynced = deque((seq, min(end, end_offset)) for seq, end in self._unsynced)

    def _write_log(self, change: Truncate | Snapshot | Entry, end_offset: int) -> None:
        self.log_sequence = self._write(change)
        self._unsynced.append((self.log_sequence, end_offset))

    def _write(self, change: ElectionState | Truncate | Snapshot | Entry) -> int:
        self._last_sequence += 1
        self._untaken.append(Write(self._last_sequence, change))
        return self._last_sequence

    def take(self) -> list[Write]:
        taken, self._untaken = self._untaken, []
        return taken

    def persisted(self, sequence: int) -> None:
        taken = self._untaken[0].sequence - 1 if self._untaken else self._last_sequence
        if sequence > taken:
            raise ValueError(f"write {sequence} is durable, but only {taken} were handed out")
        self.durable_sequence = max(self.durable_sequence, sequence)
        while self._unsynced and self._unsynced[0][0] <= self.durable_sequence:
            self.durable_end_offset = self._unsynced.popleft()[1]

    def hold(self, envelope: Envelope) -> None:
        """Send once the epoch and the vote, as they are now, are durable."""
        self._held.append((self.election_sequence, envelope))

    def release(self) -> list[Envelope]:
        """The messages that may go."""
        released = []
        while self._held and self._held[0][0] <= self.durable_sequence:
            released.append(self._held.popleft()[1])
        return released
