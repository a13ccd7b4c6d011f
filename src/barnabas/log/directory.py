"""The data directory of a node: its lock, its identity, and a directory per partition.

.lock                 held by the living process, which wrote its pid there
meta.properties       version, cluster.id, node.id
<topic>-<partition>/  one log each
….N-delete            a partition's directory between its deletion and its removal
….N-stray             one that belongs to no topic, set aside for people to look at
"""

import re

from barnabas.log.deletion import DeleteJob
from barnabas.log.errors import DirectoryMismatch, StorageError
from barnabas.log.storage import Disk, Lock

META_FILE = "meta.properties"
_VERSION = "1"
_DELETE_SUFFIX = "-delete"
_STRAY_SUFFIX = "-stray"
_DELETED_NAME = re.compile(r".+\.\d+-delete")
# A file name has at most 255 bytes: room for the number and the suffix.
_KEPT_NAME = 200


class DataDirectory:
    """A locked data directory. Make it with `DataDirectory.open`."""

    __slots__ = ("_disk", "_lock", "cluster_id", "leftovers", "node_id", "path")

    def __init__(self, disk: Disk, path: str, lock: Lock, node_id: int, cluster_id: str) -> None:
        self._disk = disk
        self._lock = lock
        self.path = path
        self.node_id = node_id
        self.cluster_id = cluster_id
        names = disk.list_directories(path)
        leftovers = [f"{path}/{name}" for name in names if _DELETED_NAME.fullmatch(name)]
        self.leftovers = DeleteJob(disk, [], directories=leftovers) if leftovers else None
        """Deletions that an earlier process did not finish, for any thread to run."""

    @classmethod
    def open(cls, disk: Disk, path: str, *, node_id: int, new_cluster_id: str) -> "DataDirectory":
        """Lock the directory, and make it if it is new; then it belongs to `new_cluster_id`.

        Raises DirectoryLocked, DirectoryMismatch or StorageError, each with a message for people.
        """
        path = path.rstrip("/") or "/"
        try:
            disk.make_directory(path)
            lock = disk.lock(path)
        except OSError as error:
            raise StorageError(f"can not use {path} as data directory: {error}") from error
        try:
            cluster_id = _identify(disk, path, node_id, new_cluster_id)
            return cls(disk, path, lock, node_id, cluster_id)
        except OSError as error:
            lock.release()
            raise StorageError(f"can not use {path} as data directory: {error}") from error
        except DirectoryMismatch:
            lock.release()
            raise

    def partition_path(self, topic: str, partition: int) -> str:
        return f"{self.path}/{topic}-{partition}"

    def partitions(self) -> list[tuple[str, int]]:
        """Every partition that has a directory."""
        try:
            names = self._disk.list_directories(self.path)
        except OSError as error:
            raise StorageError(f"can not list {self.path}: {error}") from error
        found = []
        for name in names:
            topic, dash, number = name.rpartition("-")
            if topic and dash and number.isdecimal() and number.isascii():
                found.append((topic, int(number)))
        return sorted(found)

    def delete_partition(self, topic: str, partition: int) -> DeleteJob:
        """Rename the directory, so that it is gone as a partition, and leave the rest to a job.

        The partition's log must be closed. A directory that is not there makes an empty job.
        """
        path = self.partition_path(topic, partition)
        if not self._disk.exists(path):
            return DeleteJob(self._disk, [])
        return DeleteJob(self._disk, [], directories=[self._rename(path, _DELETE_SUFFIX)])

    def set_aside(self, topic: str, partition: int) -> str:
        """Rename the directory, so that it is gone as a partition; returns where it is now."""
        return self._rename(self.partition_path(topic, partition), _STRAY_SUFFIX)

    def _rename(self, path: str, suffix: str) -> str:
        name = path.rpartition("/")[2][:_KEPT_NAME]
        number = 0
        try:
            while self._disk.exists(target := f"{self.path}/{name}.{number}{suffix}"):
                number += 1
            self._disk.rename(path, target)
        except OSError as error:
            raise StorageError(f"can not rename {path}: {error}") from error
        return target

    def close(self) -> None:
        """Release the lock."""
        self._lock.release()


def _identify(disk: Disk, path: str, node_id: int, new_cluster_id: str) -> str:
    """The cluster that the directory belongs to; a new one is given its identity."""
    meta_path = f"{path}/{META_FILE}"
    if not disk.exists(meta_path):
        lines = [f"version={_VERSION}", f"cluster.id={new_cluster_id}", f"node.id={node_id}"]
        disk.replace_file(meta_path, ("\n".join(lines) + "\n").encode(), sync=True)
        return new_cluster_id
    text = disk.read_file(meta_path).decode("utf-8", "replace")
    entries = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    if entries.get("version") != _VERSION:
        found = entries.get("version", "none")
        raise DirectoryMismatch(f"{meta_path} has version {found}, this program knows {_VERSION}")
    if entries.get("node.id") != str(node_id) or "cluster.id" not in entries:
        found = entries.get("node.id", "none")
        raise DirectoryMismatch(f"{path} belongs to node {found}, not to node {node_id}")
    return entries["cluster.id"]
