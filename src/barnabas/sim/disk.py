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
from dataclasses import dataclass, field
from errno import EEXIST, ENOENT, ENOSPC, ENOTEMPTY
from random import Random
from typing import NamedTuple

from barnabas.log.errors import DirectoryLocked
from barnabas.log.storage import Buffer, Lock
from barnabas.sim.process import Killed

BLOCK = 512


class _Write(NamedTuple):
    """A change since the last sync, with what it takes to undo it."""

    at: int
    data: bytes | None
    """None: the file was cut at `at`."""
    before: bytes
    """What stood there, or behind the cut."""


@dataclass(slots=True, eq=False)
class Node:
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
        self.unsynced.clear()

    def lose_power(self, random: Random) -> None:
        changes = list(self.unsynced)
        for at, data, before in reversed(changes):
            if data is None:
                self.data += before
            else:
                self.data[at : at + len(data)] = before
        self.unsynced.clear()
        survival = random.choice((0.0, 0.3, 0.7, 1.0))
        for at, data, _ in changes:
            if random.random() < survival:
                if data is None:
                    del self.data[at:]
                else:
                    self._tear(data, at, random)

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

    entries: "dict[str, Node | Directory]" = field(default_factory=dict)
    unsynced: list[Callable[[], None]] = field(default_factory=list)

    def put(self, name: str, entry: "Node | Directory") -> None:
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

    def _restore(self, name: str, entry: "Node | Directory | None") -> None:
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

    def lose_power(self) -> None:
        self.locked.clear()
        self.root.lose_power(self.random)

    def wipe(self) -> None:
        self.locked.clear()
        self.root = Directory()


class ProcessDisk:
    """The disk as one process uses it; satisfies `Disk`. Once the process is dead, nothing works.

    `kill_at` is the number of changes after which the process dies in the middle of the next one.
    """

    def __init__(self, disk: SimulatedDisk, kill: Callable[[], None]) -> None:
        self.disk = disk
        self._kill = kill
        self._held: set[str] = set()
        self.is_dead = False
        self.kill_at: int | None = None

    def die(self) -> None:
        self.is_dead = True
        self.disk.locked -= self._held

    def step(self) -> bool:
        """Before each change. Raises `Killed`; returns whether to die half way through it."""
        if self.is_dead:
            raise Killed
        if self.kill_at is None:
            return False
        if self.kill_at > 0:
            self.kill_at -= 1
            return False
        if self.disk.random.random() < 0.5:
            return True
        self.die_now()
        return False

    def die_now(self) -> None:
        self._kill()
        raise Killed

    # -- names -------------------------------------------------------------------------------------

    def _find(self, path: str) -> Node | Directory | None:
        entry: Node | Directory | None = self.disk.root
        for name in path.strip("/").split("/"):
            if not isinstance(entry, Directory):
                return None
            entry = entry.entries.get(name)
        return entry

    def _directory(self, path: str) -> Directory:
        entry = self._find(path) if path.strip("/") else self.disk.root
        if not isinstance(entry, Directory):
            raise FileNotFoundError(ENOENT, "No such directory", path)
        return entry

    def _parent(self, path: str) -> tuple[Directory, str]:
        parent, _, name = path.rpartition("/")
        return self._directory(parent), name

    def _node(self, path: str) -> Node:
        entry = self._find(path)
        if not isinstance(entry, Node):
            raise FileNotFoundError(ENOENT, "No such file", path)
        return entry

    def open(self, path: str, *, create: bool = False) -> "SimulatedFile":
        if create and self._find(path) is None:
            if self.step():
                self.die_now()
            directory, name = self._parent(path)
            if self.disk.is_full:
                raise OSError(ENOSPC, "No space left on device", path)
            directory.put(name, Node(modified_ms=self.disk.now_ms()))
        return SimulatedFile(self, path, self._node(path))

    def read_file(self, path: str) -> bytes:
        if self.is_dead:
            raise Killed
        return bytes(self._node(path).data)

    def replace_file(
        self, path: str, data: bytes, *, sync: bool = False, private: bool = False
    ) -> None:
        del private
        draft = self.open(f"{path}.tmp", create=True)
        draft.truncate(0)
        draft.write(data, 0)
        if sync:
            draft.sync()
        self.rename(f"{path}.tmp", path)
        if sync:
            self.sync_directory(path.rpartition("/")[0])

    def list_files(self, directory: str) -> dict[str, int]:
        entries = self._directory(directory).entries
        return {name: len(one.data) for name, one in entries.items() if isinstance(one, Node)}

    def list_directories(self, directory: str) -> list[str]:
        entries = self._directory(directory).entries
        return [name for name, entry in entries.items() if isinstance(entry, Directory)]

    def make_directory(self, path: str) -> None:
        directory = self.disk.root
        for name in path.strip("/").split("/"):
            entry = directory.entries.get(name)
            if entry is None:
                self.step()
                entry = Directory()
                directory.put(name, entry)
            if not isinstance(entry, Directory):
                raise FileExistsError(EEXIST, "File exists", path)
            directory = entry

    def sync_directory(self, path: str) -> None:
        dying = self.step()
        self._directory(path).sync()
        if dying:
            self.die_now()

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def modified_ms(self, path: str) -> int:
        return self._node(path).modified_ms

    def rename(self, path: str, new_path: str) -> None:
        dying = self.step()
        directory, name = self._parent(path)
        if name not in directory.entries:
            raise FileNotFoundError(ENOENT, "No such file", path)
        new_directory, new_name = self._parent(new_path)
        if new_directory is directory:
            directory.rename(name, new_name)
        else:
            new_directory.put(new_name, directory.entries[name])
            directory.take(name)
        if dying:
            self.die_now()

    def unlink(self, path: str) -> None:
        dying = self.step()
        if isinstance(self._find(path), Node):
            directory, name = self._parent(path)
            directory.take(name)
        if dying:
            self.die_now()

    def remove_directory(self, path: str) -> None:
        self.step()
        entry = self._find(path)
        if isinstance(entry, Directory):
            if entry.entries:
                raise OSError(ENOTEMPTY, "Directory not empty", path)
            directory, name = self._parent(path)
            directory.take(name)

    def lock(self, directory: str) -> Lock:
        if directory in self.disk.locked:
            raise DirectoryLocked(directory, "1")
        self.disk.locked.add(directory)
        self._held.add(directory)
        return _Lock(self, directory)

    def unlock(self, directory: str) -> None:
        if not self.is_dead:
            self.disk.locked.discard(directory)
            self._held.discard(directory)


class _Lock(NamedTuple):
    disk: ProcessDisk
    directory: str

    def release(self) -> None:
        self.disk.unlock(self.directory)


class SimulatedFile:
    """An open file; satisfies `File`."""

    __slots__ = ("_disk", "_node", "_path")

    def __init__(self, disk: ProcessDisk, path: str, node: Node) -> None:
        self._disk = disk
        self._path = path
        self._node = node

    def read(self, size: int, at: int) -> bytes:
        if self._disk.is_dead:
            raise Killed
        return bytes(self._node.data[at : at + size])

    def write(self, data: Buffer, at: int) -> None:
        process = self._disk
        dying = process.step()
        disk, node = process.disk, self._node
        written = bytes(data)
        is_refused = disk.is_full and at + len(written) > len(node.data)
        if dying or is_refused:
            written = written[: disk.random.randint(0, len(written))]
        node.write(written, at)
        node.modified_ms = disk.now_ms()
        if is_refused and not dying:
            raise OSError(ENOSPC, "No space left on device", self._path)
        disk.on_write(self._path, written)
        if dying:
            process.die_now()

    def sync(self) -> None:
        dying = self._disk.step()
        self._node.sync()
        if dying:
            self._disk.die_now()

    def truncate(self, size: int) -> None:
        dying = self._disk.step()
        self._node.truncate(size)
        if dying:
            self._disk.die_now()

    def size(self) -> int:
        return len(self._node.data)

    def duplicate(self) -> "SimulatedFile":
        return SimulatedFile(self._disk, self._path, self._node)

    def close(self) -> None:
        return
