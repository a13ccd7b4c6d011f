"""Bit rot: a bit of a committed batch flips on a disk, and nothing says so.

A restart does not find it in a segment that is known to be whole. A reader of the batch finds it
by its checksum: a follower, a consumer, or the scrubber. As the newest segment is cut at the first
batch that is not whole when a log is recovered, rot is in an older one.

The checksum does not cover the leader epoch. A bit of it flips that makes it greater than any that
a run reaches, or negative: a smaller error can't always be noticed.

One bit at a time is rotten. Until the replica is repaired it loses nothing else, and another
machine does only while a third one has everything.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import NamedTuple

from barnabas.records.batch import BatchHeader, compute_crc, parse_header
from barnabas.records.decode import decode_batch, iter_batches
from barnabas.records.errors import CorruptBatch
from barnabas.sim.machine.disk import SimulatedDisk
from barnabas.sim.machine.inode import Directory, Inode

_CHECKED_FROM = 21
"""The checksum of a batch covers what follows it."""
_EPOCH_AT = 12
_LOWEST_BIT = 10
"""No run has a thousand elections."""
_EPOCH_ROTS = 0.3


class KeyedRecord(NamedTuple):
    """A record of a compacted topic."""

    offset: int
    key: bytes
    is_tombstone: bool


Batch = tuple[BatchHeader, memoryview]


class Rot(NamedTuple):
    """A bit that has flipped, and where."""

    disk: SimulatedDisk
    directory: str
    log: str
    position: int
    base_offset: int
    crc: int
    """Of the batch."""
    epoch: int
    records: tuple[KeyedRecord, ...] | None = None
    """Those of the batch, where compaction may replace it by another one, or by nothing."""

    @property
    def is_there(self) -> bool:
        """Whether the replica still lacks the batch: it may have set the damaged one aside."""
        directory = _partitions(self.disk).get(self.directory)
        if directory is None:
            return False
        batches = [
            batch
            for name, node in directory.entries.items()
            if name.endswith(".log") and isinstance(node, Inode)
            for batch in _batches(node)
        ]
        if self.records is not None:
            return self._is_damaged(batches) or not self._is_compacted_well(batches, self.records)
        return not any(
            header.base_offset == self.base_offset
            and header.crc == self.crc
            and header.partition_leader_epoch == self.epoch
            and compute_crc(view) == self.crc
            for header, view in batches
        )

    def _is_damaged(self, batches: list[Batch]) -> bool:
        return any(
            header.base_offset == self.base_offset
            and (header.partition_leader_epoch != self.epoch or compute_crc(view) != header.crc)
            for header, view in batches
        )

    def _is_compacted_well(self, batches: list[Batch], records: tuple[KeyedRecord, ...]) -> bool:
        """Whether each record is there, or a newer one of its key, or its key is deleted."""
        offsets: dict[bytes, list[int]] = {}
        end = 0
        for _, view in batches:
            for offset, key, _ in keyed_records(view):
                offsets.setdefault(key, []).append(offset)
                end = max(end, offset + 1)
        for offset, key, is_tombstone in records:
            found = offsets.get(key, [])
            is_gone = is_tombstone and not found and end > offset
            if max(found, default=-1) < offset and not is_gone:
                return False
        return True

    def __str__(self) -> str:
        return f"{self.directory}/{self.log} at position {self.position}"


def flip_bit(
    disk: SimulatedDisk,
    random: Random,
    may_rot: Callable[[str, int, int, int], bool],
    is_compacted: Callable[[str], bool] = lambda _: False,
) -> Rot | None:
    """Flip a bit of a batch that `may_rot`, given its directory, offset, checksum and epoch.

    `is_compacted` says, given the directory, whether batches are replaced there.
    """
    found = [
        each
        for each in _old_batches(disk)
        if each.size > _CHECKED_FROM
        and may_rot(each.directory, each.base_offset, each.crc, each.epoch)
    ]
    if not found:
        return None
    batch = random.choice(found)
    records = None
    if is_compacted(batch.directory):
        data = bytes(batch.node.data[batch.position : batch.position + batch.size])
        records = tuple(keyed_records(memoryview(data)))
    if random.random() < _EPOCH_ROTS:
        position = flip_epoch(batch.node.data, batch.position, random)
    else:
        position = random.randrange(batch.position + _CHECKED_FROM, batch.position + batch.size)
        batch.node.data[position] ^= 1 << random.randrange(8)
    return Rot(
        disk,
        batch.directory,
        batch.log,
        position,
        batch.base_offset,
        batch.crc,
        batch.epoch,
        records,
    )


def keyed_records(batch: memoryview) -> Iterator[KeyedRecord]:
    """The records of a batch that is not damaged; none otherwise."""
    with suppress(CorruptBatch):
        if compute_crc(batch) == parse_header(batch, 0).crc:
            for record in decode_batch(batch):
                yield KeyedRecord(record.offset, bytes(record.key or b""), record.value is None)


def flip_epoch(data: bytearray, position: int, random: Random) -> int:
    """Flip one of the higher bits of the leader epoch of the batch at `position`.

    Returns the position of the byte.
    """
    bit = random.randrange(_LOWEST_BIT, 32)
    at = position + _EPOCH_AT + 3 - bit // 8
    data[at] ^= 1 << bit % 8
    return at


class _StoredBatch(NamedTuple):
    directory: str
    log: str
    node: Inode
    position: int
    size: int
    base_offset: int
    crc: int
    epoch: int


def _old_batches(disk: SimulatedDisk) -> Iterator[_StoredBatch]:
    """All batches of topics that people use, but for those of each partition's last segment."""
    for name, directory in sorted(_partitions(disk).items()):
        if name.startswith("__"):
            continue
        for log in sorted(each for each in directory.entries if each.endswith(".log"))[:-1]:
            node = directory.entries[log]
            assert isinstance(node, Inode)
            position = 0
            for header, _ in _batches(node):
                yield _StoredBatch(
                    name,
                    log,
                    node,
                    position,
                    header.size,
                    header.base_offset,
                    header.crc,
                    header.partition_leader_epoch,
                )
                position += header.size


def _batches(node: Inode) -> Iterator[Batch]:
    with suppress(CorruptBatch):  # what was not recovered since a loss of power may be anything
        yield from iter_batches(bytes(node.data))


def _partitions(disk: SimulatedDisk) -> dict[str, Directory]:
    data = disk.root.entries.get("data")
    entries = data.entries if isinstance(data, Directory) else {}
    return {name: entry for name, entry in entries.items() if isinstance(entry, Directory)}
