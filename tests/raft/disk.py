"""A disk that forgets what was not synced: a crash leaves a prefix of the writes since."""

from collections.abc import Sequence

from barnabas.raft import ElectionState, Entry, Recovered, Snapshot, Truncate, Write


class Disk:
    def __init__(self) -> None:
        self.election = ElectionState()
        self.snapshot: Snapshot | None = None
        self.entries: list[Entry] = []
        self.unsynced: list[Write] = []

    def write(self, writes: Sequence[Write]) -> None:
        self.unsynced += writes

    def sync(self, sequence: int) -> None:
        """All writes up to `sequence` are durable."""
        count = 0
        for write in self.unsynced:
            if write.sequence > sequence:
                break
            self._store(write)
            count += 1
        del self.unsynced[:count]

    def crash(self, surviving: int) -> None:
        """So many of the unsynced writes happen to have reached the disk."""
        for write in self.unsynced[:surviving]:
            self._store(write)
        self.unsynced.clear()

    def _store(self, write: Write) -> None:
        match write.change:
            case ElectionState() as election:
                self.election = election
            case Entry() as entry:
                self.entries.append(entry)
            case Truncate(end_offset):
                while self.entries and self.entries[-1].end_offset > end_offset:
                    self.entries.pop()
            case Snapshot() as snapshot:
                self.snapshot = snapshot
                end_offset = snapshot.snapshot_id.end_offset
                self.entries = [e for e in self.entries if e.end_offset > end_offset]

    def recover(self) -> Recovered:
        return Recovered(self.election, self.snapshot, tuple(self.entries))
