"""The data directory of a node: its lock, its identity, and a directory per partition.

.lock                 the pid of the living process, which holds a lock on it and on the directory
meta.properties       version, cluster.id (once it belongs to one), node.id, directory.id
<topic>-<partition>/  one log each
….N-delete            a partition's directory between its deletion and its removal
….N-stray             one that belongs to no topic, kept for people to look at
set-aside/            what was taken out of logs, for people to look at; see `set_aside`
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from barnabas.log.errors import DirectoryMismatch, StorageError
from barnabas.log.segment.deletion import DeleteJob
from barnabas.log.set_aside import SetAsideReason, expired_entries, set_aside_path
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

    __slots__ = ("_disk", "_lock", "cluster_id", "directory_id", "leftovers", "node_id", "path")

    def __init__(
        self,
        disk: Disk,
        path: str,
        lock: Lock,
        node_id: int,
        cluster_id: str,
        directory_id: bytes,
    ) -> None:
        self._disk = disk
        self._lock = lock
        self.path = path
        self.node_id = node_id
        self.cluster_id = cluster_id
        """Empty until it has joined one."""
        self.directory_id = directory_id
        """Sixteen bytes, drawn when the directory was made: another disk has another one."""
        names = disk.list_directories(path)
        leftovers = [f"{path}/{name}" for name in names if _DELETED_NAME.fullmatch(name)]
        self.leftovers = DeleteJob(disk, [], directories=leftovers) if leftovers else None
        """Deletions that an earlier process did not finish, for any thread to run."""

    @classmethod
    def open(
        cls, disk: Disk, path: str, *, node_id: int, new_cluster_id: str, new_directory_id: bytes
    ) -> "DataDirectory":
        """Lock the directory, and make it if it is new; then it belongs to `new_cluster_id`, or,
        if that is empty, to none before it joins one.

        Raises DirectoryLocked, DirectoryMismatch or StorageError, each with a message for people.
        """
        path = path.rstrip("/") or "/"
        try:
            disk.make_directory(path)
            lock = disk.lock(path)
        except OSError as error:
            raise StorageError(f"cannot use {path} as data directory: {error}") from error
        try:
            cluster_id, directory_id = _identify(
                disk, path, node_id, new_cluster_id, new_directory_id
            )
            return cls(disk, path, lock, node_id, cluster_id, directory_id)
        except OSError as error:
            lock.release()
            raise StorageError(f"cannot use {path} as data directory: {error}") from error
        except DirectoryMismatch:
            lock.release()
            raise

    def join_cluster(self, cluster_id: str) -> None:
        """Belong to this cluster from now on. OSError if the disk refuses."""
        _write_meta(self._disk, self.path, self.node_id, cluster_id, self.directory_id)
        self.cluster_id = cluster_id

    def partition_path(self, topic: str, partition: int) -> str:
        return f"{self.path}/{topic}-{partition}"

    def partitions(self) -> list[tuple[str, int]]:
        """Every partition that has a directory."""
        try:
            names = self._disk.list_directories(self.path)
        except OSError as error:
            raise StorageError(f"cannot list {self.path}: {error}") from error
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

    def set_aside_path(self, topic: str, partition: int, now_ms: int) -> str:
        """A new directory for what a truncation cuts off a partition's log now."""
        path = self.partition_path(topic, partition)
        return set_aside_path(self._disk, path, now_ms, SetAsideReason.TRUNCATED)

    def expired_set_aside(
        self, now_ms: int, retention_ms: int, max_bytes: int = -1
    ) -> DeleteJob | None:
        """The job that removes what was set aside too long ago, or exceeds a total size.

        Raises OSError.
        """
        expired = expired_entries(
            self._disk, self.path, now_ms=now_ms, retention_ms=retention_ms, max_bytes=max_bytes
        )
        return DeleteJob(self._disk, [], directories=expired) if expired else None

    def _rename(self, path: str, suffix: str) -> str:
        name = path.rpartition("/")[2][:_KEPT_NAME]
        number = 0
        try:
            while self._disk.exists(target := f"{self.path}/{name}.{number}{suffix}"):
                number += 1
            self._disk.rename(path, target)
        except OSError as error:
            raise StorageError(f"cannot rename {path}: {error}") from error
        return target

    def close(self) -> None:
        """Release the lock."""
        self._lock.release()


def encode_id(value: bytes) -> str:
    """Sixteen bytes as Kafka writes them: URL-safe base64 without padding."""
    return urlsafe_b64encode(value).decode("ascii").rstrip("=")


def decode_id(text: str) -> bytes:
    """Read what `encode_id` wrote. Raises ValueError."""
    value = urlsafe_b64decode(text + "==")
    if len(value) != 16:
        raise ValueError(f"{text} is not an id of sixteen bytes")
    return value


def _identify(
    disk: Disk, path: str, node_id: int, new_cluster_id: str, new_directory_id: bytes
) -> tuple[str, bytes]:
    """The cluster that the directory belongs to, and its own id; a new one is given both."""
    meta_path = f"{path}/{META_FILE}"
    if not disk.exists(meta_path):
        _sync_name(disk, path)
        _write_meta(disk, path, node_id, new_cluster_id, new_directory_id)
        return new_cluster_id, new_directory_id
    text = disk.read_file(meta_path).decode("utf-8", "replace")
    entries = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    if entries.get("version") != _VERSION:
        found = entries.get("version", "none")
        raise DirectoryMismatch(f"{meta_path} has version {found}, this program knows {_VERSION}")
    cluster_id = entries.get("cluster.id", "")
    if entries.get("node.id") != str(node_id) or not (cluster_id or "directory.id" in entries):
        found = entries.get("node.id", "none")
        raise DirectoryMismatch(f"{path} belongs to node {found}, not to node {node_id}")
    if "directory.id" not in entries:  # it was made before directories had one
        _write_meta(disk, path, node_id, cluster_id, new_directory_id)
        return cluster_id, new_directory_id
    try:
        return cluster_id, decode_id(entries["directory.id"])
    except ValueError as error:
        raise DirectoryMismatch(f"{meta_path}: {error}") from None


def _sync_name(disk: Disk, path: str) -> None:
    """Let the directory itself survive a power failure, and whatever was made on the way to it."""
    while path.strip("/"):
        path = path.rpartition("/")[0] or "/"
        try:
            disk.sync_directory(path)
        except PermissionError:  # then it was not made by us, and is older
            return


def _write_meta(disk: Disk, path: str, node_id: int, cluster_id: str, directory_id: bytes) -> None:
    lines = [f"version={_VERSION}", f"node.id={node_id}", f"directory.id={encode_id(directory_id)}"]
    if cluster_id:
        lines.append(f"cluster.id={cluster_id}")
    disk.replace_file(f"{path}/{META_FILE}", ("\n".join(lines) + "\n").encode(), sync=True)
