"""Bit rot on a simulated disk: where it is, when it is repaired, and what must not happen then."""

from random import Random

from barnabas.records.batch import compute_crc
from barnabas.records.decode import iter_batches
from barnabas.records.encode import encode_batch
from barnabas.records.record import Record
from barnabas.sim.machine.disk import SimulatedDisk
from barnabas.sim.machine.inode import Directory, Inode
from barnabas.sim.machine.rot import flip_bit, flip_epoch

EPOCH = 3
FIRST, LAST = "00000000000000000000.log", "00000000000000000002.log"


def _batch(offset: int) -> bytes:
    return bytes(encode_batch([Record(0, None, b"value")], base_offset=offset, leader_epoch=EPOCH))


def _disk() -> tuple[SimulatedDisk, Directory]:
    """A partition with two batches in its first segment and one in its last."""
    partition = Directory()
    partition.entries[FIRST] = Inode(bytearray(_batch(0) + _batch(1)))
    partition.entries[LAST] = Inode(bytearray(_batch(2)))
    data = Directory(entries={"t-0": partition, "__consumer_offsets-0": partition})
    disk = SimulatedDisk(Random(1), lambda: 0)
    disk.root.entries["data"] = data
    return disk, partition


def _damaged(partition: Directory) -> list[int]:
    nodes = (partition.entries[name] for name in (FIRST, LAST))
    return [
        header.base_offset
        for node in nodes
        if isinstance(node, Inode)
        for header, view in iter_batches(bytes(node.data))
        if compute_crc(view) != header.crc or header.partition_leader_epoch != EPOCH
    ]


def test_only_a_batch_that_may_rot_does_and_its_checksum_or_epoch_shows_it() -> None:
    for seed in range(50):
        disk, partition = _disk()
        rot = flip_bit(disk, Random(seed), lambda *batch: batch[:2] == ("t-0", 1))
        assert rot is not None
        assert rot.is_there
        assert _damaged(partition) == [1]


def test_an_epoch_rots_in_a_way_that_can_be_noticed() -> None:
    batch = bytearray(_batch(0))
    for seed in range(50):
        rotten = bytearray(batch)
        flip_epoch(rotten, 0, Random(seed))
        ((header, view),) = iter_batches(rotten)
        assert compute_crc(view) == header.crc
        assert not 0 <= header.partition_leader_epoch < 1000


def test_neither_the_last_segment_nor_an_internal_topic_rots() -> None:
    disk, partition = _disk()
    asked: set[tuple[str, int]] = set()
    assert flip_bit(disk, Random(1), lambda *batch: bool(asked.add(batch[:2]))) is None
    assert asked == {("t-0", 0), ("t-0", 1)}
    assert not _damaged(partition)


def test_it_is_repaired_when_the_batch_is_there_again_or_the_replica_is_gone() -> None:
    for repair in ("cut", "write", "remove"):
        disk, partition = _disk()
        rot = flip_bit(disk, Random(1), lambda *_: True)
        assert rot is not None
        node = partition.entries[FIRST]
        assert isinstance(node, Inode)
        match repair:
            case "cut":
                node.truncate(0)
            case "write":
                node.write(_batch(0) + _batch(1), 0)
            case _:
                del disk.root.entries["data"]
        assert rot.is_there is (repair == "cut")
