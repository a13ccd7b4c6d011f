"""A disk in memory that can be full, stop a process between two operations, and lose power."""

import errno
from collections.abc import Callable
from random import Random

from barnabas.log.errors import DirectoryLocked
from barnabas.log.storage import Buffer, File, Lock

BLOCK = 512


class Crash(BaseException):
    """The process ends here. Not an Exception, so that nothing can take it for a disk error."""


class Node:
    """The content of a file, whatever names it has."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.durable = b""


class MemoryFile:
    def __init__(self, disk: "MemoryDisk", node: Node) -> None:
        self._disk = disk
        self.node = node
        disk.open_files += 1

    def read(self, size: int, at: int) -> bytes:
        return bytes(self.node.data[at : at + size])

    def write(self, data: Buffer, at: int) -> None:
        self._disk.step("write")
        node = self.node
        room = self._disk.capacity - self._disk.used() + max(0, len(node.data) - at)
        fits = min(len(data), max(room, 0))
        if at > len(node.data):
            node.data += bytes(at - len(node.data))
        node.data[at : at + fits] = data[:fits]
        if fits < len(data):
            raise OSError(errno.ENOSPC, "No space left on device")

    def sync(self) -> None:
        self._disk.step("sync")
        self.node.durable = bytes(self.node.data)

    def truncate(self, size: int) -> None:
        self._disk.step("truncate")
        node = self.node
        del node.data[size:]
        node.data += bytes(size - len(node.data))

    def size(self) -> int:
        return len(self.node.data)

    def duplicate(self) -> "MemoryFile":
        return MemoryFile(self._disk, self.node)

    def close(self) -> None:
        self._disk.open_files -= 1


class MemoryDisk:
    """Satisfies `Disk`. `on_step`, if set, is called before every change with the name of it."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.directories: set[str] = set()
        self.capacity = 1 << 40
        self.open_files = 0
        self.now_ms = 0
        self.on_step: Callable[[str], None] | None = None
        self._histories: dict[str, list[dict[str, Node]]] = {}
        """Per directory: its names as last synced, and after each change since."""
        self._locked: set[str] = set()

    def step(self, name: str) -> None:
        if self.on_step is not None:
            self.on_step(name)

    def used(self) -> int:
        return sum(len(node.data) for node in self.nodes.values())

    def _names(self, directory: str) -> dict[str, Node]:
        prefix = f"{directory}/"
        return {
            path: node
            for path, node in self.nodes.items()
            if path.startswith(prefix) and "/" not in path[len(prefix) :]
        }

    def _changed(self, path: str) -> None:
        directory = path.rpartition("/")[0]
        self._histories.setdefault(directory, [{}]).append(self._names(directory))

    def power_loss(self, random: Random) -> None:
        """Lose what was not synced: names back to some moment since, blocks written or not."""
        for directory, history in self._histories.items():
            for path in self._names(directory):
                del self.nodes[path]
            self.nodes |= random.choice(history)
        for node in self.nodes.values():
            size = random.randint(
                min(len(node.durable), len(node.data)), max(len(node.durable), len(node.data))
            )
            survived = bytearray(node.durable[:size])
            while len(survived) < size:
                at = len(survived)
                block = node.data[at : min(size, at - at % BLOCK + BLOCK)]
                survived += block if random.random() < 0.7 else bytes(len(block))
            node.data = survived
            node.durable = bytes(survived)
        self._histories = {directory: [self._names(directory)] for directory in self._histories}

    def open(self, path: str, *, create: bool = False) -> File:
        if path not in self.nodes:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "No such file", path)
            self.step("create")
            self.nodes[path] = Node()
            self._changed(path)
        return MemoryFile(self, self.nodes[path])

    def read_file(self, path: str) -> bytes:
        if path not in self.nodes:
            raise FileNotFoundError(errno.ENOENT, "No such file", path)
        return bytes(self.nodes[path].data)

    def replace_file(
        self, path: str, data: bytes, *, sync: bool = False, private: bool = False
    ) -> None:
        del private
        draft = self.open(f"{path}.tmp", create=True)
        try:
            draft.truncate(0)
            draft.write(data, 0)
            if sync:
                draft.sync()
        finally:
            draft.close()
        self.rename(f"{path}.tmp", path)
        if sync:
            self.sync_directory(path.rpartition("/")[0])

    def list_files(self, directory: str) -> dict[str, int]:
        names = self._names(directory)
        return {path.rpartition("/")[2]: len(node.data) for path, node in names.items()}

    def list_directories(self, directory: str) -> list[str]:
        prefix = f"{directory}/"
        rest = (path[len(prefix) :] for path in self.directories if path.startswith(prefix))
        return sorted(name for name in rest if "/" not in name)

    def make_directory(self, path: str, *, private: bool = False) -> None:
        del private
        while path:
            self.directories.add(path)
            path = path.rpartition("/")[0]

    def sync_directory(self, path: str) -> None:
        self.step("sync_directory")
        self._histories[path] = [self._names(path)]

    def exists(self, path: str) -> bool:
        return path in self.nodes or path in self.directories

    def modified_ms(self, path: str) -> int:
        return self.now_ms

    def rename(self, path: str, new_path: str) -> None:
        self.step("rename")
        if path in self.directories:
            self.directories.remove(path)
            self.directories.add(new_path)
            for old in list(self._names(path)):
                self.nodes[new_path + old[len(path) :]] = self.nodes.pop(old)
            return
        if path not in self.nodes:
            raise FileNotFoundError(errno.ENOENT, "No such file", path)
        self.nodes[new_path] = self.nodes.pop(path)
        self._changed(new_path)

    def unlink(self, path: str) -> None:
        self.step("unlink")
        if self.nodes.pop(path, None) is not None:
            self._changed(path)

    def remove_directory(self, path: str) -> None:
        self.step("remove_directory")
        self.directories.discard(path)

    def lock(self, directory: str) -> Lock:
        if directory in self._locked:
            raise DirectoryLocked(directory, "1")
        self._locked.add(directory)
        return _MemoryLock(self._locked, directory)


class _MemoryLock:
    def __init__(self, locked: set[str], directory: str) -> None:
        self._locked = locked
        self._directory = directory

    def release(self) -> None:
        self._locked.discard(self._directory)


class CrashAfter:
    """An `on_step` that lets `steps` changes happen and then ends the process."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def __call__(self, name: str) -> None:
        if self.left == 0:
            raise Crash(name)
        self.left -= 1
