"""A disk in memory that loses, at a power failure, what was not synced.

A machine has one `SimulatedDisk`; each process on it works through a `ProcessDisk`, which is the
`Disk` that the log asks for. When a process is killed, everything it wrote stays: the page cache
belongs to the machine. When the power fails,

- a file keeps what it held at its last `sync`; of the writes since, each one survives or not, whole
  or in part (in blocks), maybe with a flipped bit, and in any combination: the system writes back
  pages in the order it likes;
- a directory keeps its names (files made, renamed, removed) as of its last `sync_directory`, and of
  the changes since some first part, as a file system with a journal does.

A full disk fails writes that make a file longer, after a part of the bytes. A process may be killed
in the middle of any operation: before it, after it, or half way through a write.

Operations of chosen kinds may also fail with EIO for chosen files (`DiskErrors`). After a failed
sync of a file, what it was to write may never reach the disk, although the next sync succeeds.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from random import Random

from barnabas.sim.machine.inode import Directory


class Operation(Enum):
    """What may fail with EIO."""

    READ = "read"
    WRITE = "write"
    """And everything else that changes what is there: truncate, rename, unlink."""
    CREATE = "create"
    SYNC = "sync"


@dataclass(eq=False)
class DiskErrors:
    """Operations that fail: on the files whose path begins with `prefix`."""

    prefix: str
    operations: frozenset[Operation]
    random: Random
    left: int | None = None
    """After so many failures all is well again; None: never by itself."""


class SimulatedDisk:
    """What a machine keeps, whichever processes come and go."""

    def __init__(self, random: Random, now_ms: Callable[[], int]) -> None:
        self.random = random
        self.now_ms = now_ms
        self.root = Directory()
        self.is_full = False
        self.locked: set[str] = set()
        self.errors: list[DiskErrors] = []
        self.is_inspected = False
        """Whether checks read through the broker: meanwhile nothing fails."""
        self.on_write: Callable[[str, bytes], None] = lambda _path, _data: None
        """Told of everything that is written, except for what a failed write leaves behind."""
        self.on_change: Callable[[str], None] = lambda _path: None
        """Told of files that are overwritten, cut, renamed or removed: by a process, not by a
        fault."""

    def error(self, operation: Operation, path: str) -> DiskErrors | None:
        """Why this operation fails; None if it does not. It counts as a failure."""
        for errors in self.errors:
            if self.is_inspected or operation not in errors.operations or errors.left == 0:
                continue
            if f"{path}/".startswith(errors.prefix):
                if errors.left is not None:
                    errors.left -= 1
                return errors
        return None

    @contextmanager
    def inspected(self) -> Iterator[None]:
        """Checks read through the broker: meanwhile nothing fails."""
        before, self.is_inspected = self.is_inspected, True
        try:
            yield
        finally:
            self.is_inspected = before

    def lose_power(self) -> None:
        self.locked.clear()
        self.root.lose_power(self.random)

    def wipe(self) -> None:
        self.locked.clear()
        self.root = Directory()
