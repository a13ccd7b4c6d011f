"""Files and directories that know what a power failure takes back: all since their last sync.

A sync of a file may fail as it does on Linux: some of the changes are then taken for written,
though they are not. They can be read, and a later sync succeeds without them; a power failure takes
them back. Only writing the same bytes again brings them to the disk.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import NamedTuple

BLOCK = 512
_DROPPED_SHARE = 0.8
"""Of the writes that a failed sync was to bring to the disk."""


class _Fate(Enum):
    """What a power failure does to a change."""

    CHANCE = "not synced: it survives or not"
    KEPT = "synced"
    DROPPED = "its sync has failed"


class _Write(NamedTuple):
    """A change since the last sync, with what it takes to undo it."""

    at: int
    data: bytes | None
    """None: the file was cut at `at`."""
    before: bytes
    """What stood there, or behind the cut."""
    fate: _Fate = _Fate.CHANCE


@dataclass(slots=True, eq=False)
class Inode:
    """The content of a file, whatever names it has."""

    data: bytearray = field(default_factory=bytearray)
    unsynced: list[_Write] = field(default_factory=list)
    modified_ms: int = 0

    def write(self, data: bytes, at: int) -> None:
        if at > len(self.data):
            self.write(bytes(at - len(self.data)), len(self.data))
        self.unsynced.append(_Write(at, data, bytes(self.data[at : at + len(data)])))
        self.data[at : at + len(data)] = data

    def truncate(self, size: int) -> None:
        if size > len(self.data):
            self.write(bytes(size - len(self.data)), len(self.data))
        elif size < len(self.data):
            self.unsynced.append(_Write(size, None, bytes(self.data[size:])))
            del self.data[size:]

    def sync(self) -> None:
        if self.has_dropped:
            self._settle(lambda _: _Fate.KEPT)
        else:
            self.unsynced.clear()

    @property
    def has_dropped(self) -> bool:
        """Whether some of the content is not on the disk, and no sync will write it."""
        return any(change.fate is _Fate.DROPPED for change in self.unsynced)

    def fail_sync(self, random: Random) -> None:
        """Most writes since the last sync are dropped; the file system has its own record of
        cuts."""

        def fate(change: _Write) -> _Fate:
            is_dropped = change.data is not None and random.random() < _DROPPED_SHARE
            return _Fate.DROPPED if is_dropped else _Fate.KEPT

        self._settle(fate)

    def _settle(self, fate: Callable[[_Write], _Fate]) -> None:
        self.unsynced = [
            change._replace(fate=fate(change)) if change.fate is _Fate.CHANCE else change
            for change in self.unsynced
        ]

    def lose_power(self, random: Random) -> None:
        changes = list(self.unsynced)
        for at, data, before, _ in reversed(changes):
            if data is None:
                self.data += before
            else:
                self.data[at : at + len(data)] = before
        self.unsynced.clear()
        survival = random.choice((0.0, 0.3, 0.7, 1.0))
        for at, data, _, fate in changes:
            if fate is _Fate.KEPT:
                if data is None:
                    del self.data[at:]
                else:
                    self._put(data, at)
            elif fate is _Fate.CHANCE and random.random() < survival:
                if data is None:
                    del self.data[at:]
                else:
                    self._tear(data, at, random)

    def _put(self, data: bytes, at: int) -> None:
        if at > len(self.data):
            self.data += bytes(at - len(self.data))
        self.data[at : at + len(data)] = data

    def _tear(self, data: bytes, at: int, random: Random) -> None:
        """Write whole blocks of it, or not; now and then with a flipped bit."""
        torn = random.random() < 0.3
        if at > len(self.data):
            self.data += bytes(at - len(self.data))
        done = 0
        while done < len(data):
            size = min(BLOCK - (at + done) % BLOCK, len(data) - done)
            if not torn or random.random() < 0.6:
                if at + done > len(self.data):
                    self.data += bytes(at + done - len(self.data))
                self.data[at + done : at + done + size] = data[done : done + size]
            done += size
        if data and random.random() < 0.1:
            position = at + random.randrange(len(data))
            if position < len(self.data):
                self.data[position] ^= 1 << random.randrange(8)


@dataclass(slots=True, eq=False)
class Directory:
    """Names, and how to take back what was done to them since the last sync."""

    entries: "dict[str, Inode | Directory]" = field(default_factory=dict)
    unsynced: list[Callable[[], None]] = field(default_factory=list)

    def put(self, name: str, entry: "Inode | Directory") -> None:
        before = self.entries.get(name)
        self.entries[name] = entry
        self.unsynced.append(lambda: self._restore(name, before))

    def take(self, name: str) -> None:
        before = self.entries.pop(name)
        self.unsynced.append(lambda: self._restore(name, before))

    def rename(self, old: str, new: str) -> None:
        """One step: after a power failure it has happened or not."""
        replaced = self.entries.get(new)
        moved = self.entries[new] = self.entries.pop(old)

        def undo() -> None:
            self._restore(new, replaced)
            self._restore(old, moved)

        self.unsynced.append(undo)

    def _restore(self, name: str, entry: "Inode | Directory | None") -> None:
        if entry is None:
            self.entries.pop(name, None)
        else:
            self.entries[name] = entry

    def sync(self) -> None:
        self.unsynced.clear()

    def lose_power(self, random: Random) -> None:
        lost = random.randint(0, len(self.unsynced))
        for undo in reversed(self.unsynced[len(self.unsynced) - lost :]):
            undo()
        self.unsynced.clear()
        for name in sorted(self.entries):
            self.entries[name].lose_power(random)
