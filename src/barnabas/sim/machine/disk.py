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
"""

from collections.abc import Callable
from random import Random

from barnabas.sim.machine.inode import Directory


class SimulatedDisk:
    """What a machine keeps, whichever processes come and go."""

    def __init__(self, random: Random, now_ms: Callable[[], int]) -> None:
        self.random = random
        self.now_ms = now_ms
        self.root = Directory()
        self.is_full = False
        self.locked: set[str] = set()
        self.on_write: Callable[[str, bytes], None] = lambda _path, _data: None
        """Told of everything that is written, except for what a failed write leaves behind."""
        self.on_change: Callable[[str], None] = lambda _path: None
        """Told of files that are overwritten, cut, renamed or removed: by a process, not by a
        fault."""

    def lose_power(self) -> None:
        self.locked.clear()
        self.root.lose_power(self.random)

    def wipe(self) -> None:
        self.locked.clear()
        self.root = Directory()
