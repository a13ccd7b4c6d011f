"""The disk of a machine as one process uses it, which may die in the middle of any operation."""

from collections.abc import Callable
from errno import EEXIST, EIO, ENOENT, ENOSPC, ENOTEMPTY
from typing import NamedTuple

from barnabas.log.errors import DirectoryLocked
from barnabas.log.storage import Buffer, Lock
from barnabas.sim.machine.disk import Operation, SimulatedDisk
from barnabas.sim.machine.inode import Directory, Inode
from barnabas.sim.process.loop import Killed

_DROPPED = 0.8
"""How often a failed sync drops what it was to write. Otherwise the next one writes it."""


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

    def fail(self, operation: Operation, path: str) -> None:
        """Raises OSError if the operation fails."""
        if self.disk.errors and self.disk.error(operation, path) is not None:
            raise OSError(EIO, "Input/output error", path)

    # -- names -------------------------------------------------------------------------------------

    def _find(self, path: str) -> Inode | Directory | None:
        entry: Inode | Directory | None = self.disk.root
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

    def _node(self, path: str) -> Inode:
        entry = self._find(path)
        if not isinstance(entry, Inode):
            raise FileNotFoundError(ENOENT, "No such file", path)
        return entry

    def open(self, path: str, *, create: bool = False) -> "SimulatedFile":
        if create and self._find(path) is None:
            if self.step():
                self.die_now()
            directory, name = self._parent(path)
            self.fail(Operation.CREATE, path)
            if self.disk.is_full:
                raise OSError(ENOSPC, "No space left on device", path)
            directory.put(name, Inode(modified_ms=self.disk.now_ms()))
        return SimulatedFile(self, path, self._node(path))

    def read_file(self, path: str) -> bytes:
        if self.is_dead:
            raise Killed
        self.fail(Operation.READ, path)
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
        self.fail(Operation.READ, directory)
        entries = self._directory(directory).entries
        return {name: len(one.data) for name, one in entries.items() if isinstance(one, Inode)}

    def list_directories(self, directory: str) -> list[str]:
        self.fail(Operation.READ, directory)
        entries = self._directory(directory).entries
        return [name for name, entry in entries.items() if isinstance(entry, Directory)]

    def make_directory(self, path: str, *, private: bool = False) -> None:
        del private
        directory = self.disk.root
        for name in path.strip("/").split("/"):
            entry = directory.entries.get(name)
            if entry is None:
                self.step()
                self.fail(Operation.CREATE, path)
                entry = Directory()
                directory.put(name, entry)
            if not isinstance(entry, Directory):
                raise FileExistsError(EEXIST, "File exists", path)
            directory = entry

    def sync_directory(self, path: str) -> None:
        dying = self.step()
        self.fail(Operation.SYNC, path)
        self._directory(path).sync()
        if dying:
            self.die_now()

    def exists(self, path: str) -> bool:
        self.fail(Operation.READ, path)
        return self._find(path) is not None

    def modified_ms(self, path: str) -> int:
        return self._node(path).modified_ms

    def rename(self, path: str, new_path: str) -> None:
        dying = self.step()
        self.fail(Operation.WRITE, path)
        directory, name = self._parent(path)
        if name not in directory.entries:
            raise FileNotFoundError(ENOENT, "No such file", path)
        new_directory, new_name = self._parent(new_path)
        if new_directory is directory:
            directory.rename(name, new_name)
        else:
            new_directory.put(new_name, directory.entries[name])
            directory.take(name)
        self.disk.on_change(new_path)
        if dying:
            self.die_now()

    def unlink(self, path: str) -> None:
        dying = self.step()
        self.fail(Operation.WRITE, path)
        if isinstance(self._find(path), Inode):
            directory, name = self._parent(path)
            directory.take(name)
            self.disk.on_change(path)
        if dying:
            self.die_now()

    def remove_directory(self, path: str) -> None:
        self.step()
        self.fail(Operation.WRITE, path)
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

    def __init__(self, disk: ProcessDisk, path: str, node: Inode) -> None:
        self._disk = disk
        self._path = path
        self._node = node

    def read(self, size: int, at: int) -> bytes:
        if self._disk.is_dead:
            raise Killed
        self._disk.fail(Operation.READ, self._path)
        return bytes(self._node.data[at : at + size])

    def write(self, data: Buffer, at: int) -> None:
        process = self._disk
        dying = process.step()
        disk, node = process.disk, self._node
        written = bytes(data)
        has_no_room = disk.is_full and at + len(written) > len(node.data)
        has_failed = bool(disk.errors) and disk.error(Operation.WRITE, self._path) is not None
        is_refused = has_no_room or has_failed
        if dying or is_refused:
            written = written[: disk.random.randint(0, len(written))]
        if at < len(node.data):
            disk.on_change(self._path)
        node.write(written, at)
        node.modified_ms = disk.now_ms()
        if has_failed and not dying:
            raise OSError(EIO, "Input/output error", self._path)
        if is_refused and not dying:
            raise OSError(ENOSPC, "No space left on device", self._path)
        disk.on_write(self._path, written)
        if dying:
            process.die_now()

    def sync(self) -> None:
        dying = self._disk.step()
        disk = self._disk.disk
        errors = disk.error(Operation.SYNC, self._path) if disk.errors else None
        if errors is not None and not dying:
            if errors.random.random() < _DROPPED:
                self._node.fail_sync(errors.random)
            raise OSError(EIO, "Input/output error", self._path)
        self._node.sync()
        if dying:
            self._disk.die_now()

    def truncate(self, size: int) -> None:
        dying = self._disk.step()
        self._disk.fail(Operation.WRITE, self._path)
        if size < len(self._node.data):
            self._disk.disk.on_change(self._path)
        self._node.truncate(size)
        if dying:
            self._disk.die_now()

    def size(self) -> int:
        return len(self._node.data)

    def duplicate(self) -> "SimulatedFile":
        return SimulatedFile(self._disk, self._path, self._node)

    def close(self) -> None:
        return
