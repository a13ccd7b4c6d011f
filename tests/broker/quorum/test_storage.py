"""A replica's disk: whatever happens, a prefix of the writes is there, and all that counted."""

from errno import ENOSPC
from random import Random

import pytest

from barnabas.broker.quorum.batches import encode_entry
from barnabas.broker.quorum.checkpoint import encode_checkpoint
from barnabas.broker.quorum.storage import NoRoom, QuorumStorage
from barnabas.broker.runtime.clock import Clock
from barnabas.log import Disk, StorageError
from barnabas.metadata.records import encode_metadata_record
from barnabas.raft import (
    Batch,
    ElectionState,
    Entry,
    LeaderChange,
    OffsetAndEpoch,
    Recovered,
    ReplicaKey,
    Snapshot,
    Truncate,
    VoterSet,
    Write,
)
from barnabas.records.batch import parse_header
from barnabas.records.encode import encode_batch
from barnabas.sim.machine.disk import DiskErrors, Operation, SimulatedDisk
from barnabas.sim.machine.process_disk import ProcessDisk
from tests.broker.quorum.member import change
from tests.log.memory_disk import Crash, CrashAfter, MemoryDisk
from tests.raft.disk import Disk as Oracle
from tests.support.tier import examples

DIRECTORY = "/data/__cluster_metadata-0"
SEGMENT_BYTES = 2_000
VOTERS = VoterSet.of([ReplicaKey(n, bytes([n]) * 16) for n in (1, 2, 3)])


def opened(disk: Disk) -> tuple[QuorumStorage, Recovered]:
    storage = QuorumStorage(disk, DIRECTORY, Clock(), SEGMENT_BYTES)
    return storage, storage.open()


def batch(random: Random) -> Batch:
    count = random.choice((1, 1, 3))
    filling = "x" * random.choice((1, 30, 600))
    rows = [(1, None, encode_metadata_record(change(filling)), ()) for _ in range(count)]
    return Batch(bytes(encode_batch(rows)), count)


class Story:
    """Writes as a replica makes them."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.oracle = Oracle()
        self.epoch = 0
        self.sequence = 0

    @property
    def start(self) -> OffsetAndEpoch:
        snapshot = self.oracle.snapshot
        return snapshot.snapshot_id if snapshot else OffsetAndEpoch(0, 0)

    @property
    def end_offset(self) -> int:
        entries = self.oracle.entries
        return entries[-1].end_offset if entries else self.start.end_offset

    def write(self, change: ElectionState | Entry | Truncate | Snapshot) -> Write:
        self.sequence += 1
        write = Write(self.sequence, change)
        self.oracle._store(write)
        return write

    def snapshot(self, snapshot_id: OffsetAndEpoch) -> Snapshot:
        content = encode_checkpoint([change(str(snapshot_id))], VOTERS, 1)
        return Snapshot(snapshot_id, VOTERS, content)

    def next(self) -> list[Write]:
        random, entries = self.random, self.oracle.entries
        kind = random.choice(("append",) * 6 + ("elect", "elect", "truncate", "take", "install"))
        if kind == "elect" or self.epoch == 0:
            self.epoch += random.choice((1, 1, 5))
            voted_for = random.choice((None, *VOTERS.keys))
            return [self.write(ElectionState(self.epoch, voted_for))]
        if kind == "truncate" and entries:
            return [self.write(Truncate(random.choice(entries).base_offset))]
        if kind == "take" and entries:
            last = random.choice(entries)
            return [self.write(self.snapshot(OffsetAndEpoch(last.end_offset, last.epoch)))]
        if kind == "install":
            end_offset = self.start.end_offset + random.randint(1, 20)
            writes = []
            if self.end_offset > end_offset:
                writes.append(self.write(Truncate(end_offset)))
            snapshot = self.snapshot(OffsetAndEpoch(end_offset, self.epoch))
            self.oracle.entries.clear()
            return [*writes, self.write(snapshot)]
        body = random.choice((batch(random), batch(random), LeaderChange(2), VOTERS))
        return [self.write(Entry(self.end_offset, self.epoch, body))]


State = tuple[ElectionState, Snapshot | None, list[bytes]]


def seen(recovered: Recovered) -> State:
    start = recovered.snapshot.snapshot_id.end_offset if recovered.snapshot else 0
    entries = [bytes(encode_entry(e)) for e in recovered.entries if e.end_offset > start]
    return recovered.election, recovered.snapshot, entries


@pytest.mark.parametrize("seed", range(examples(150)))
def test_after_a_loss_of_power_a_prefix_of_the_writes_is_there(seed: int) -> None:
    random = Random(seed)
    disk = MemoryDisk()
    story = Story(random)
    storage, _ = opened(disk)
    possible = [seen(Recovered())]
    for _ in range(random.randint(1, 6)):
        disk.on_step = CrashAfter(random.randint(0, 60))
        try:
            while True:
                writes: list[Write] = []
                for _ in range(random.randint(1, 5)):
                    before = len(writes)
                    writes += story.next()
                    possible += states_after(possible, writes[before:], story)
                storage.write(writes)
                del possible[:-1]
                if random.random() < 0.1:
                    storage.close()
                    storage, _ = opened(disk)
        except Crash:
            disk.on_step = None
        if random.random() < 0.7:
            disk.power_loss(random)
        storage, recovered = opened(disk)
        assert seen(recovered) in possible
        possible = [seen(recovered)]
        story = resumed(random, recovered, story.sequence)


@pytest.mark.parametrize("seed", range(examples(20)))
def test_nothing_expects_what_was_truncated_before_a_loss_of_power(seed: int) -> None:
    """A machine may have written the synced offset by itself, long before the truncation."""
    disk = MemoryDisk()
    storage, _ = opened(disk)
    entries = [Entry(offset, 1, LeaderChange(1)) for offset in range(4)]
    storage.write([Write(1, ElectionState(1, None))])
    storage.write([Write(2 + entry.base_offset, entry) for entry in entries])
    synced = disk.nodes[f"{DIRECTORY}/synced-offset"]
    synced.durable = bytes(synced.data)
    storage.write([Write(6, Truncate(1))])
    disk.power_loss(Random(seed))
    _, recovered = opened(disk)
    assert recovered.entries[0] == entries[0]
    assert recovered.entries == entries[: len(recovered.entries)]


@pytest.mark.parametrize("seed", range(examples(60)))
def test_what_a_full_disk_refuses_is_written_when_there_is_room(seed: int) -> None:
    random = Random(seed)
    disk = MemoryDisk()
    story = Story(random)
    storage, _ = opened(disk)
    refused = 0
    for _ in range(60):
        writes = [write for _ in range(random.randint(1, 5)) for write in story.next()]
        disk.capacity = disk.used() + random.choice((0, 10, 300, 1 << 30))
        while writes:
            try:
                storage.write(writes)
            except NoRoom:
                refused += 1
                disk.capacity += random.choice((1, 100, 1 << 30))
        if random.random() < 0.1:
            disk.power_loss(random)
            disk.capacity = 1 << 40
            storage, recovered = opened(disk)
            assert seen(recovered) == seen(story.oracle.recover())
    assert refused
    assert seen(opened(disk)[1]) == seen(story.oracle.recover())


def test_a_failed_sync_is_not_tried_again() -> None:
    disk = MemoryDisk()
    storage, _ = opened(disk)
    storage.write([Write(1, ElectionState(1, None)), Write(2, Entry(0, 1, LeaderChange(1)))])

    def fail(step: str) -> None:
        if step == "sync":
            raise OSError(ENOSPC, "No space left on device")

    disk.on_step = fail
    writes = [Write(3, Entry(1, 1, LeaderChange(1)))]
    with pytest.raises(StorageError, match="could not be synced") as failed:
        storage.write(writes)
    assert not isinstance(failed.value, NoRoom)
    disk.on_step = None
    with pytest.raises(StorageError):
        storage.write(writes)


@pytest.mark.parametrize("seed", range(10))
def test_what_a_failed_sync_has_dropped_is_written_again_by_the_next_start(seed: int) -> None:
    """What counts as durable from then on survives a loss of power."""
    machine = SimulatedDisk(Random(seed), lambda: 0)
    disk = ProcessDisk(machine, lambda: None)
    disk.make_directory("/data")
    disk.sync_directory("/")
    storage, _ = opened(disk)
    storage.write([Write(1, ElectionState(1, None)), Write(2, Entry(0, 1, LeaderChange(1)))])
    machine.errors.append(DiskErrors("/data/", frozenset({Operation.SYNC}), Random(seed), left=1))
    with pytest.raises(StorageError, match="could not be synced"):
        storage.write([Write(3, Entry(1, 1, LeaderChange(1)))])
    storage.abandon()
    _, recovered = opened(disk)
    assert len(recovered.entries) == 2
    machine.lose_power()
    _, left = opened(ProcessDisk(machine, lambda: None))
    assert left.entries == recovered.entries


def states_after(possible: list[State], writes: list[Write], story: Story) -> list[State]:
    """The states that come to pass with these writes; the last is the oracle's own.

    A truncation may stop half-way: what it takes was never committed.
    """
    states: list[State] = []
    election, snapshot, entries = possible[-1]
    for write in writes:
        if isinstance(write.change, Truncate):
            while entries and parse_header(entries[-1]).next_offset > write.change.end_offset:
                entries = entries[:-1]
                states.append((election, snapshot, entries))
    states.append(seen(story.oracle.recover()))
    return states


def resumed(random: Random, recovered: Recovered, sequence: int) -> Story:
    story = Story(random)
    story.sequence = sequence
    story.epoch = recovered.election.epoch
    story.oracle.election = recovered.election
    story.oracle.snapshot = recovered.snapshot
    start = story.start.end_offset
    story.oracle.entries = [e for e in recovered.entries if e.end_offset > start]
    return story


def test_many_entries_are_one_sync() -> None:
    disk = MemoryDisk()
    storage, _ = opened(disk)
    storage.write([Write(1, ElectionState(1, None))])
    storage.write([Write(2, Entry(0, 1, LeaderChange(1)))])
    steps: list[str] = []
    disk.on_step = steps.append
    storage.write([Write(n, Entry(n - 2, 1, LeaderChange(1))) for n in range(3, 12)])
    assert steps == ["write", "sync", "write"], "the last one says how far it is synced"


def test_who_votes_at_the_beginning_is_remembered() -> None:
    disk = MemoryDisk()
    storage, _ = opened(disk)
    assert storage.bootstrap_voters() is None
    storage.begin_cluster(VOTERS)
    storage, recovered = opened(disk)
    assert recovered == Recovered(entries=[])
    assert storage.bootstrap_voters() == VOTERS
    names = {f"{0:020d}-{0:010d}.checkpoint", "synced-offset", "quorum-state"}
    assert disk.list_files(DIRECTORY).keys() == names
    storage.begin_cluster(VoterSet())
    assert storage.bootstrap_voters() is None


def filled() -> MemoryDisk:
    disk = MemoryDisk()
    storage, _ = opened(disk)
    storage.write([Write(1, ElectionState(3, VOTERS.keys[0]))])
    storage.write([Write(n + 2, Entry(n, 3, LeaderChange(1))) for n in range(20)])
    content = encode_checkpoint([change("a")], VOTERS, 1)
    storage.write([Write(30, Snapshot(OffsetAndEpoch(10, 3), VOTERS, content))])
    storage.write([Write(31, Entry(20, 3, LeaderChange(1)))])
    return disk


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("quorum-state", b"{", "quorum-state can't be read"),
        ("quorum-state", b'{"data_version":9}', "version 9"),
        ("quorum-state", None, "is at epoch 0, but the log has entries"),
        (f"{10:020d}-{3:010d}.checkpoint", b"", "is damaged"),
    ],
)
def test_damage_is_refused(name: str, damage: bytes | None, message: str) -> None:
    disk = filled()
    opened(disk)
    path = f"{DIRECTORY}/{name}"
    if damage is None:
        disk.unlink(path)
    else:
        disk.replace_file(path, damage)
    with pytest.raises(StorageError, match=message) as refused:
        opened(disk)
    assert "\n" not in str(refused.value)


def test_a_flipped_bit_anywhere_in_a_snapshot_is_damage() -> None:
    disk = filled()
    path = f"{DIRECTORY}/{10:020d}-{3:010d}.checkpoint"
    content = disk.read_file(path)
    undetected = 0
    for at in range(len(content)):
        flipped = bytearray(content)
        flipped[at] ^= 1
        disk.replace_file(path, bytes(flipped))
        try:
            _, recovered = opened(disk)
        except StorageError:
            continue
        undetected += 1
        assert recovered.snapshot is not None
    # Offsets and epochs of its batches are outside the CRC, and not read.
    assert undetected <= 3 * 12


def test_a_flipped_bit_in_what_was_synced_is_damage_even_in_the_last_entry() -> None:
    disk = filled()
    path = f"{DIRECTORY}/{0:020d}.log"
    content = disk.read_file(path)
    epochs = {at for at in range(len(content)) if is_epoch(content, at)}
    for at in set(range(len(content))) - epochs:
        flipped = bytearray(content)
        flipped[at] ^= 0x80
        disk.replace_file(path, bytes(flipped))
        with pytest.raises(StorageError, match="damaged at position"):
            opened(disk)
        assert disk.read_file(path) == flipped, "nothing was changed"


def is_epoch(content: bytes, at: int) -> bool:
    """An entry's epoch stands outside of its batch's CRC."""
    start = 0
    while start + parse_header(content, start).size <= at:
        start += parse_header(content, start).size
    return 12 <= at - start < 16


def test_what_a_crash_has_torn_is_cut_off_without_a_word() -> None:
    disk = filled()
    path = f"{DIRECTORY}/{0:020d}.log"
    _, before = opened(disk)
    content = disk.read_file(path)
    torn = bytes(encode_entry(Entry(21, 3, LeaderChange(1))))
    whole = bytes(encode_entry(Entry(22, 3, LeaderChange(1))))
    disk.replace_file(path, content + bytes(len(torn)) + whole)
    _, after = opened(disk)
    assert seen(after) == seen(before)
    assert disk.read_file(path) == content


def garble(disk: MemoryDisk, offset: int, epoch: int) -> None:
    path = f"{DIRECTORY}/{0:020d}.log"
    content = bytearray(disk.read_file(path))
    start = 0
    while parse_header(content, start).base_offset != offset:
        start += parse_header(content, start).size
    content[start + 12 : start + 16] = epoch.to_bytes(4, "big")
    disk.replace_file(path, bytes(content))


@pytest.mark.parametrize("epoch", [2, 4, 1 << 20])
def test_an_epoch_that_can_not_be_is_cut_off_where_nothing_was_synced(epoch: int) -> None:
    """With a later epoch than any other replica has, this one would win every election."""
    disk = filled()
    path = f"{DIRECTORY}/{0:020d}.log"
    _, before = opened(disk)
    content = disk.read_file(path)
    disk.replace_file(path, content + bytes(encode_entry(Entry(21, 3, LeaderChange(1)))))
    garble(disk, 21, epoch)
    _, after = opened(disk)
    assert seen(after) == seen(before)
    assert disk.read_file(path) == content


def test_an_epoch_that_can_not_be_is_damage_where_it_was_synced() -> None:
    disk = filled()
    opened(disk)
    garble(disk, 20, 2)
    with pytest.raises(StorageError, match="offset 20 whose epoch is damaged"):
        opened(disk)


def test_an_epoch_between_entries_of_one_epoch_is_corrected() -> None:
    disk = filled()
    _, before = opened(disk)
    garble(disk, 15, 1 << 20)
    _, after = opened(disk)
    assert seen(after) == seen(before)
