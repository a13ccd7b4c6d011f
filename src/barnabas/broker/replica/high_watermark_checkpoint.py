"""`replication-offset-checkpoint`: what this node has acknowledged, for its next start to compare.

A partition whose directory is gone, or whose log ends before the high watermark in this file, has
lost acknowledged records. The file has Kafka's name and nearly its format: a version, the number of
lines, and a line "topic partition offset id" for each replica. The topic's id distinguishes it from
an earlier topic of that name. A replica whose directory is gone, and whose line tells of no record
yet, gets the offset -1 before the directory is made again.

The file is synced: a topic that sets `flush.*` is trusted after a power loss, so that its damage
must be noticed then too. If the file itself is damaged, it is unknown what a replica had
acknowledged.

Only partitions that have moved since the last write are visited, so idle ones cost nothing.
"""

import logging
from asyncio import Event
from collections.abc import Callable
from typing import Protocol

from barnabas.broker.replica.replica_doubt import ReplicaDoubt
from barnabas.log import Disk, StorageError
from barnabas.log.errors import storage_errors

logger = logging.getLogger(__name__)

_FILE = "replication-offset-checkpoint"
_VERSION = 1
IN_DOUBT = -1
"""In place of an offset: the replica lacks records, and the controller did not know that yet."""
UNKNOWN = -2
"""The file is damaged: a replica that was not closed may have acknowledged more than it has."""

Key = tuple[str, int]
Mark = tuple[bytes, int]
"""The topic's id, and the high watermark."""


class Replica(Protocol):
    """The part of a partition that is written to the file."""

    topic: str
    topic_id: bytes
    index: int
    high_watermark: int
    doubt: ReplicaDoubt
    deleted: bool


class HighWatermarkCheckpoint:
    """The high watermarks of all replicas of this node, as they are in the file."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._path = f"{directory}/{_FILE}"
        found = _read(disk, self._path)
        self._is_damaged = found is None
        self._marks: dict[Key, Mark] = found or {}
        self._unclaimed = set(self._marks)
        """Replicas in the file that are not opened yet."""
        self.moved: dict[Replica, None] = {}
        """Replicas whose high watermark has moved since `draft`."""
        self.is_urgent = Event()
        """Whether the file must be written soon. A new replica is not in it yet, and the loss of
        its directory would not be noticed. Or a removed one still is, and one of a new topic of
        that name must not be compared with it. Or one whose doubt is settled is still in doubt."""
        self._has_changed = False
        self._is_writing = False

    def acknowledged(self, topic: str, topic_id: bytes, index: int) -> int:
        """The replica's high watermark when the file was written, or `IN_DOUBT`; 0 if it has no
        line, and `UNKNOWN` if the file was damaged."""
        known_id, offset = self._marks.get((topic, index), (b"", 0))
        if known_id == topic_id:
            return offset
        return UNKNOWN if self._is_damaged else 0

    def topic_id(self, topic: str, index: int) -> bytes | None:
        """The topic whose replica had this name when the file was written; None without a line."""
        mark = self._marks.get((topic, index))
        return None if mark is None else mark[0]

    def opened(self, partition: Replica) -> None:
        key = partition.topic, partition.index
        self._unclaimed.discard(key)
        if key not in self._marks or self._marks[key][0] != partition.topic_id:
            is_unknown = self._is_damaged and bool(partition.doubt)
            offset = IN_DOUBT if is_unknown else partition.high_watermark
            self._marks[key] = partition.topic_id, offset
            self._has_changed = True
            self.is_urgent.set()

    def directory_is_gone(self, topic: str, topic_id: bytes, index: int) -> None:
        """Write down, before the directory is made again, that a replica lacks its records.

        A line that tells of records is enough for the next start, and without a line the replica
        is new. Raises `StorageError`.
        """
        if self._marks.get((topic, index)) != (topic_id, 0):
            return
        if self._is_writing:
            raise StorageError(f"{self._path} is being written: {topic}-{index} has to wait")
        marks = {**self._marks, (topic, index): (topic_id, IN_DOUBT)}
        with storage_errors(f"cannot write {self._path}"):
            self._disk.replace_file(self._path, encode(marks), sync=True)
        self._marks = marks

    def settled(self, partition: Replica) -> None:
        """The controller knows what the replica lacks: it has acknowledged no more than it has.

        A line that tells of a doubt has to be replaced, by `write_now`, before the replica is in
        sync again: otherwise it would be doubted then.
        """
        self.moved[partition] = None
        if self._marks.get((partition.topic, partition.index)) == (partition.topic_id, IN_DOUBT):
            self.is_urgent.set()

    def removed(self, topic: str, index: int) -> None:
        """The replica was removed from this node on purpose."""
        self._unclaimed.discard((topic, index))
        if self._marks.pop((topic, index), None) is not None:
            self._has_changed = True
            self.is_urgent.set()

    def forget_unclaimed(self, is_kept: Callable[[str, int], bool]) -> None:
        """Drop lines of replicas that are not opened by now and that this node does not keep.

        Replicas that are opened from now on are new.
        """
        self._is_damaged = False
        for key in list(self._unclaimed):
            if not is_kept(*key):
                self.removed(*key)

    def draft(self) -> "Callable[[], None] | None":
        """A job that writes the file on another thread; None if nothing has changed.

        Call `written` with it afterwards. While a replica is in doubt, its line stays unchanged:
        the next start has to come to the same conclusion.
        """
        if self._is_writing:
            return None
        self.is_urgent.clear()
        for partition in tuple(self.moved):
            if partition.doubt:
                continue
            del self.moved[partition]
            if not partition.deleted:
                mark = partition.topic_id, partition.high_watermark
                self._marks[partition.topic, partition.index] = mark
                self._has_changed = True
        if not self._has_changed:
            return None
        self._has_changed, self._is_writing = False, True
        marks = dict(self._marks)
        return lambda: self._disk.replace_file(self._path, encode(marks), sync=True)

    def written(self, error: OSError | None) -> None:
        self._is_writing = False
        if error is not None:
            self._has_changed = True
            self.is_urgent.set()

    def close(self) -> None:
        """Write the file for the last time, if the disk allows. No other thread may be writing
        it."""
        self._is_writing = False
        self.is_urgent.set()
        self.write_now()

    def write_now(self) -> None:
        """Write what is urgent on this thread, if the disk allows and no other thread does so."""
        write = self.draft() if self.is_urgent.is_set() and not self._is_writing else None
        if write is not None:
            try:
                write()
            except OSError as error:
                self.written(error)
            else:
                self.written(None)


def encode(marks: dict[Key, Mark]) -> bytes:
    lines = [
        f"{topic} {index} {offset} {topic_id.hex()}\n"
        for (topic, index), (topic_id, offset) in marks.items()
    ]
    return f"{_VERSION}\n{len(lines)}\n{''.join(lines)}".encode()


def _read(disk: Disk, path: str) -> dict[Key, Mark] | None:
    """The content of the file; empty if it is missing, None if it can't be parsed."""
    try:
        if not disk.exists(path):
            return {}
        version, count, *lines = disk.read_file(path).decode().splitlines()
        if int(version) != _VERSION or int(count) != len(lines):
            raise ValueError("it is incomplete")
        found = {}
        for line in lines:
            topic, index, offset, topic_id = line.split(" ")
            found[topic, int(index)] = bytes.fromhex(topic_id), int(offset)
        return found
    except (OSError, ValueError) as error:
        logger.error("%s is damaged (%s): replicas that were not closed are in doubt", path, error)
        return None
