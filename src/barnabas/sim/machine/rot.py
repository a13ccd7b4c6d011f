"""Bit rot: a bit of a committed batch flips on a disk, and nothing says so.

A restart does not find it in a segment that is known to be whole. A reader of the batch finds it
by its checksum: a follower, a consumer, or the scrubber. As the newest segment is cut at the first
batch that is not whole when a log is recovered, rot is in an older one.

One bit at a time is rotten. Until the replica is repaired no machine loses anything, as a replica
that is not in sync any more may have the only copy.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import NamedTuple

from barnabas.records.batch import BatchHeader, compute_crc
from barnabas.records.decode import iter_batches
from barnabas.records.errors import CorruptBatch
from barnabas.sim.machine.disk import SimulatedDisk
from barnabas.sim.machine.inode import Directory, Inode

_CHECKED_FROM = 21
"""The checksum of a batch covers what follows it."""


class Rot(NamedTuple):
    """A bit that has flipped, and where."""

    disk: SimulatedDisk
    directory: str
    log: str
    position: int
    base_offset: int
    crc: int
    """Of the batch."""

    @property
    def is_there(self) -> bool:
        """Whether the replica still lacks the batch: it may have set the damaged one aside."""
        directory = _partitions(self.disk).get(self.directory)
        if directory is None:
            return False
        return not any(
            header.base_offset == self.base_offset
            and header.crc == self.crc
            and compute_crc(view) == self.crc
            for name, node in directory.entries.items()
            if name.endswith(".log") and isinstance(node, Inode)
            for header, view in _batches(node)
        )

    def __str__(self) -> str:
        return f"{self.directory}/{self.log} at position {self.position}"


def flip_bit(
    disk: SimulatedDisk, random: Random, may_rot: Callable[[str, int, int], bool]
) -> Rot | None:
    """Flip a bit of a batch that `may_rot`, given its directory, base offset and checksum."""
    found = [
        each
        for each in _old_batches(disk)
        if each.size > _CHECKED_FROM and may_rot(each.directory, each.base_offset, each.crc)
    ]
    if not found:
        return None
    batch = random.choice(found)
    position = random.randrange(batch.position + _CHECKED_FROM, batch.position + batch.size)
    batch.node.data[position] ^= 1 << random.randrange(8)
    return Rot(disk, batch.directory, batch.log, position, batch.base_offset, batch.crc)


class _Batch(NamedTuple):
    directory: str
    log: str
    node: Inode
    position: int
    size: int
    base_offset: int
    crc: int


def _old_batches(disk: SimulatedDisk) -> Iterator[_Batch]:
    """All batches of topics that people use, but for those of each partition's last segment."""
    for name, directory in sorted(_partitions(disk).items()):
        if name.startswith("__"):
            continue
        for log in sorted(each for each in directory.entries if each.endswith(".log"))[:-1]:
            node = directory.entries[log]
            assert isinstance(node, Inode)
            position = 0
            for header, _ in _batches(node):
                size, crc = header.size, header.crc
                yield _Batch(name, log, node, position, size, header.base_offset, crc)
                position += size


def _batches(node: Inode) -> Iterator[tuple[BatchHeader, memoryview]]:
    with suppress(CorruptBatch):  # what was not recovered since a loss of power may be anything
        yield from iter_batches(bytes(node.data))


def _partitions(disk: SimulatedDisk) -> dict[str, Directory]:
    data = disk.root.entries.get("data")
    entries = data.entries if isinstance(data, Directory) else {}
    return {name: entry for name, entry in entries.items() if isinstance(entry, Directory)}
