"""The data directory of a node: its lock, its identity, and a directory per partition.

.lock                 the pid of the living process, which holds a lock on it and on the directory
meta.properties       version, cluster.id (once it belongs to one), node.id, directory.id, release,
                      quorum.directory.id, if the metadata log was lost or damaged and begun again
<topic>-<partition>/  one log each
….N-delete            a partition's directory between its deletion and its removal
….N-stray             one that belongs to no topic, kept for people to look at
set-aside/            what was taken out of logs, for people to look at; see `set_aside`

The version is that of the directory's format. A release reads all formats up to its own, and
leaves a directory in the format in which it found it, so that the release before can use it again.
Release is the newest that has used the directory, for the error message of an older one.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress
from typing import NamedTuple

from barnabas import __version__
from barnabas.log.errors import DirectoryMismatch, StorageError, storage_errors
from barnabas.log.segment.deletion import DeleteJob
from barnabas.log.set_aside import SetAsideReason, expired_entries, set_aside_path
from barnabas.log.storage import Disk, Lock

META_FILE = "meta.properties"
_FORMAT = 2
"""The newest format of a data directory that this release reads."""
_WITHOUT_QUORUM_ID = 1
"""The format of a directory whose metadata log is the first one on this disk. Releases that do not
know `quorum.directory.id` must not open others: they would vote a second time as who they were."""
_DELETE_SUFFIX = "-delete"
_STRAY_SUFFIX = "-stray"
_DELETED_NAME = re.compile(r".+\.\d+-delete")
# A file name has at most 255 bytes: room for the number and the suffix.
_KEPT_NAME = 200


class Identity(NamedTuple):
    """Which node of which cluster a data directory belongs to."""

    node_id: int
    cluster_id: str
    """Empty until it has joined one."""


class _Ids(NamedTuple):
    cluster_id: str
    directory_id: bytes
    quorum_directory_id: bytes


class DataDirectory:
    """A locked data directory. Make it with `DataDirectory.open`."""

    __slots__ = (
        "_disk",
        "_lock",
        "cluster_id",
        "directory_id",
        "leftovers",
        "node_id",
        "path",
        "quorum_directory_id",
    )

    def __init__(
        self,
        disk: Disk,
        path: str,
        lock: Lock,
        node_id: int,
        ids: _Ids,
    ) -> None:
        self._disk = disk
        self._lock = lock
        self.path = path
        self.node_id = node_id
        self.cluster_id = ids.cluster_id
        """Empty until it has joined one."""
        self.directory_id = ids.directory_id
        """Sixteen bytes, drawn when the directory was made: another disk has another one."""
        self.quorum_directory_id = ids.quorum_directory_id
        """That of the metadata log in it: the same, unless this was begun again on this disk."""
        names = disk.list_directories(path)
        leftovers = [f"{path}/{name}" for name in names if _DELETED_NAME.fullmatch(name)]
        self.leftovers = DeleteJob(disk, [], directories=leftovers) if leftovers else None
        """Deletions that an earlier process did not finish, for any thread to run."""

    @classmethod
    def open(
        cls,
        disk: Disk,
        path: str,
        *,
        node_id: int,
        new_cluster_id: str,
        new_directory_id: bytes,
        private: bool = False,
    ) -> "DataDirectory":
        """Lock the directory, and make it if it is new; then it belongs to `new_cluster_id`, or,
        if that is empty, to none before it joins one. With `private`, only its owner can read a new
        one.

        Raises DirectoryLocked, DirectoryMismatch or StorageError, each with a message for people.
        """
        path = path.rstrip("/") or "/"
        try:
            disk.make_directory(path, private=private)
            lock = disk.lock(path)
        except OSError as error:
            raise StorageError(f"cannot use {path} as data directory: {error}") from error
        try:
            ids = _identify(disk, path, node_id, new_cluster_id, new_directory_id)
            return cls(disk, path, lock, node_id, ids)
        except OSError as error:
            lock.release()
            raise StorageError(f"cannot use {path} as data directory: {error}") from error
        except DirectoryMismatch:
            lock.release()
            raise

    def join_cluster(self, cluster_id: str) -> None:
        """Belong to this cluster from now on. OSError if the disk refuses."""
        ids = _Ids(cluster_id, self.directory_id, self.quorum_directory_id)
        _write_meta(self._disk, self.path, self.node_id, ids)
        self.cluster_id = cluster_id

    def renew_quorum_directory(self, quorum_directory_id: bytes) -> None:
        """The metadata log is about to begin again, without the votes that were in it: for the
        quorum this is another replica. OSError if the disk refuses."""
        ids = _Ids(self.cluster_id, self.directory_id, quorum_directory_id)
        _write_meta(self._disk, self.path, self.node_id, ids)
        self.quorum_directory_id = quorum_directory_id

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
        with storage_errors(f"cannot look for {path}"):
            if not self._disk.exists(path):
                return DeleteJob(self._disk, [])
        return DeleteJob(self._disk, [], directories=[self._rename(path, _DELETE_SUFFIX)])

    def set_aside(self, topic: str, partition: int) -> str:
        """Rename the directory, so that it is gone as a partition; returns where it is now."""
        return self._rename(self.partition_path(topic, partition), _STRAY_SUFFIX)

    def set_aside_path(self, topic: str, partition: int, now_ms: int) -> str:
        """A new directory for what a truncation cuts off a partition's log now.

        Raises `StorageError`.
        """
        path = self.partition_path(topic, partition)
        with storage_errors(f"cannot set aside a part of {path}"):
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


def read_identity(disk: Disk, path: str) -> Identity:
    """Whose data directory this is. Changes nothing. Raises `DirectoryMismatch`."""
    meta_path = f"{path}/{META_FILE}"
    if not disk.exists(meta_path):
        raise DirectoryMismatch(f"{path} is not a data directory: it has no {META_FILE}")
    entries = _read_meta(disk, meta_path)
    node_id = entries.get("node.id", "")
    if not node_id.isdecimal():
        raise DirectoryMismatch(f"{meta_path} names no node.id")
    return Identity(int(node_id), entries.get("cluster.id", ""))


def cluster_in(disk: Disk, path: str, node_id: int) -> str:
    """The id of the cluster that the node's directory belongs to; empty if there is none yet.

    Changes nothing. Raises `DirectoryMismatch` if it is another node's, or OSError.
    """
    if not disk.exists(f"{path}/{META_FILE}"):
        return ""
    return _read_meta_of(disk, path, node_id).get("cluster.id", "")


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
) -> _Ids:
    """The cluster that the directory belongs to, and its own ids; a new one is given all."""
    meta_path = f"{path}/{META_FILE}"
    if not disk.exists(meta_path):
        _sync_name(disk, path)
        new = _Ids(new_cluster_id, new_directory_id, new_directory_id)
        _write_meta(disk, path, node_id, new)
        return new
    entries = _read_meta_of(disk, path, node_id)
    cluster_id = entries.get("cluster.id", "")
    if "directory.id" not in entries:  # it was made before directories had one
        ids = _Ids(cluster_id, new_directory_id, new_directory_id)
        _write_meta(disk, path, node_id, ids)
        return ids
    directory_id = entries["directory.id"]
    quorum_directory_id = entries.get("quorum.directory.id", directory_id)
    try:
        ids = _Ids(cluster_id, decode_id(directory_id), decode_id(quorum_directory_id))
    except ValueError as error:
        raise DirectoryMismatch(f"{meta_path}: {error}") from None
    if entries.get("release") != __version__:
        with suppress(OSError):  # only for an error message; a full disk must not prevent a start
            _write_meta(disk, path, node_id, ids)
    return ids


def _read_meta_of(disk: Disk, path: str, node_id: int) -> dict[str, str]:
    entries = _read_meta(disk, f"{path}/{META_FILE}")
    if entries.get("node.id") != str(node_id) or not entries.keys() & {
        "cluster.id",
        "directory.id",
    }:
        found = entries.get("node.id", "none")
        raise DirectoryMismatch(f"{path} belongs to node {found}, not to node {node_id}")
    return entries


def _check_format(meta_path: str, entries: dict[str, str]) -> None:
    found = entries.get("version", "")
    if not (found.isdecimal() and found.isascii()) or int(found) < 1:
        raise DirectoryMismatch(f"{meta_path} is not the file of a data directory")
    if int(found) > _FORMAT:
        needed = f"release {entries['release']}" if "release" in entries else "a newer release"
        raise DirectoryMismatch(
            f"{meta_path} has format {found}, and this is release {__version__}, which reads "
            f"formats up to {_FORMAT}: install {needed}"
        )


def _read_meta(disk: Disk, meta_path: str) -> dict[str, str]:
    text = disk.read_file(meta_path).decode("utf-8", "replace")
    entries = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    _check_format(meta_path, entries)
    return entries


def _sync_name(disk: Disk, path: str) -> None:
    """Let the directory itself survive a power failure, and whatever was made on the way to it."""
    while path.strip("/"):
        path = path.rpartition("/")[0] or "/"
        try:
            disk.sync_directory(path)
        except PermissionError:  # then it was not made by us, and is older
            return


def _write_meta(disk: Disk, path: str, node_id: int, ids: _Ids) -> None:
    directory_id = encode_id(ids.directory_id)
    is_first = ids.quorum_directory_id == ids.directory_id
    version = _WITHOUT_QUORUM_ID if is_first else _FORMAT
    lines = [f"version={version}", f"node.id={node_id}", f"directory.id={directory_id}"]
    lines.append(f"release={__version__}")
    if not is_first:
        lines.append(f"quorum.directory.id={encode_id(ids.quorum_directory_id)}")
    if ids.cluster_id:
        lines.append(f"cluster.id={ids.cluster_id}")
    disk.replace_file(f"{path}/{META_FILE}", ("\n".join(lines) + "\n").encode(), sync=True)
