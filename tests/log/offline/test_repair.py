"""Unreadable batches: compaction skips them, and repair removes them."""

from collections.abc import Callable, Sequence

import pytest

from barnabas.log import Log, LogConfig, StorageError, compact
from barnabas.log.offline.repair import DamagedBytes, GarbageBatch, examine_log, repair_log
from barnabas.log.segment.unreadable_batch import UnreadableBatch, readable_payload
from barnabas.log.set_aside import SetAsideReason, set_aside_path
from barnabas.records.batch import HEADER_SIZE, BatchHeader, parse_header, patch_crc
from barnabas.records.compression import Compression
from barnabas.records.encode import encode_batch
from tests.log.batches import put, read_all
from tests.log.compaction.compacting import compacted, run_job
from tests.log.memory_disk import MemoryDisk

DIRECTORY = "data/t-0"
NOW = 1_700_000_000_000
SEGMENT_BYTES = 400

Outcome = Sequence[GarbageBatch | DamagedBytes]


def poison(
    records: int = 3, *, producer_id: int = -1, sequence: int = -1
) -> tuple[memoryview, list[tuple[int, BatchHeader]]]:
    """A batch with a right CRC around garbage, as earlier versions stored it."""
    data = encode_batch(
        [(NOW, b"key", b"value", ())] * records,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=sequence,
    )
    data[HEADER_SIZE:] = b"\xff" * (len(data) - HEADER_SIZE)
    patch_crc(data)
    return memoryview(data), [(0, parse_header(data))]


def filled(disk: MemoryDisk, **settings: object) -> Log:
    """Offsets 0, 1, garbage at 2 to 4, 5, garbage at 6 to 8, and so on in several segments."""
    log = Log.open(disk, DIRECTORY, LogConfig(segment_bytes=SEGMENT_BYTES, **settings), NOW)  # type: ignore[arg-type]
    put(log, b"first", timestamp=NOW, now=NOW)
    for number in range(6):
        put(log, b"%d" % number, timestamp=NOW + number, now=NOW)
        log.append(*poison(producer_id=7, sequence=3 * number), 0, NOW)
    put(log, b"last", timestamp=NOW + 9, now=NOW)
    assert len(log.segment_infos()) > 3
    return log


def left(disk: MemoryDisk, *, scan: bool = False) -> Log:
    if scan:
        disk.unlink(f"{DIRECTORY}/log.state")
    return Log.open(disk, DIRECTORY, LogConfig(segment_bytes=SEGMENT_BYTES), NOW)


def found_in(outcome: Outcome) -> list[int]:
    return [each.header.base_offset for each in outcome if isinstance(each, GarbageBatch)]


def test_a_look_finds_them_and_changes_nothing() -> None:
    disk = MemoryDisk()
    filled(disk).close()
    before = {path: bytes(node.data) for path, node in disk.nodes.items()}
    found = list(examine_log(disk, DIRECTORY))
    assert found_in(found) == [2, 6, 10, 14, 18, 22]
    assert all("record 0 of 3" in each.reason for each in found)
    assert {path: bytes(node.data) for path, node in disk.nodes.items()} == before


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("scan", [True, False])
def test_they_are_replaced_by_empty_batches(clean: bool, scan: bool) -> None:
    disk = MemoryDisk()
    log = filled(disk)
    originals = {
        header.base_offset: log.read(header.base_offset, 1)
        for header in (parse_header(log.read(offset, 1)) for offset in range(2, 25, 4))
    }
    end = log.log_end_offset
    if clean:
        log.close()
    done = list(repair_log(disk, DIRECTORY, NOW))
    assert found_in(done) == [2, 6, 10, 14, 18, 22]
    for each in done:
        assert isinstance(each, GarbageBatch)
        assert each.copied_to is not None
        assert disk.read_file(each.copied_to) == originals[each.header.base_offset]
    assert list(examine_log(disk, DIRECTORY)) == []
    assert list(repair_log(disk, DIRECTORY, NOW)) == []

    reopened = left(disk, scan=scan)
    assert reopened.log_end_offset == end
    values = [record.value for record in read_all(reopened)]
    assert values == [b"first", *(b"%d" % number for number in range(6)), b"last"]
    for offset in range(end):
        assert parse_header(reopened.read(offset, 1)).base_offset <= offset
    for offset, original in originals.items():
        was, now = parse_header(original), parse_header(reopened.read(offset, 1))
        assert now.record_count == 0
        assert now.last_offset == was.last_offset
        assert now.partition_leader_epoch == was.partition_leader_epoch
        assert (now.producer_id, now.base_sequence) == (was.producer_id, was.base_sequence)
    assert reopened.reader.offset_for_timestamp(NOW + 3) is not None
    again = parse_header(poison(producer_id=7, sequence=15)[0])
    assert reopened.producer_state.find_duplicate(again) is not None
    if clean and not scan:
        assert reopened.recovery is None


def test_replicas_become_the_same() -> None:
    disks = [MemoryDisk(), MemoryDisk()]
    for disk in disks:
        filled(disk).close()
        list(repair_log(disk, DIRECTORY, NOW))
    first, second = (
        {path: bytes(node.data) for path, node in disk.nodes.items() if path.endswith(".log")}
        for disk in disks
    )
    assert first == second


def test_a_crash_at_any_step_leaves_the_old_batch_or_the_new_one() -> None:
    """In memory a crash is an exception; what was written before stays."""
    steps = count_steps()
    assert steps > 20
    for last in range(steps):
        disk = MemoryDisk()
        filled(disk).close()
        disk.on_step = crash_after(last)
        with pytest.raises((StorageError, RuntimeError)):
            list(repair_log(disk, DIRECTORY, NOW))
        disk.on_step = None
        kept = [each for each in examine_log(disk, DIRECTORY) if isinstance(each, GarbageBatch)]
        log = left(disk)
        assert log.log_end_offset == 26
        log.close()
        assert list(examine_log(disk, DIRECTORY)) == kept
        list(repair_log(disk, DIRECTORY, NOW))
        assert list(examine_log(disk, DIRECTORY)) == []
        values = [record.value for record in read_all(left(disk))]
        assert values == [b"first", *(b"%d" % number for number in range(6)), b"last"]


def count_steps() -> int:
    disk = MemoryDisk()
    filled(disk).close()
    seen: list[str] = []
    disk.on_step = seen.append
    list(repair_log(disk, DIRECTORY, NOW))
    return len(seen)


def crash_after(steps: int) -> Callable[[str], None]:
    taken = 0

    def on_step(name: str) -> None:
        nonlocal taken
        if taken == steps:
            raise RuntimeError(f"crash at {name}")
        taken += 1

    return on_step


def test_a_torn_tail_is_left_to_recovery() -> None:
    disk = MemoryDisk()
    filled(disk)
    last = max(path for path in disk.nodes if path.endswith(".log"))
    disk.nodes[last].data += b"torn"
    *batches, damage = list(repair_log(disk, DIRECTORY, NOW))
    assert isinstance(damage, DamagedBytes)
    assert len(batches) == 6
    assert bytes(disk.nodes[last].data).endswith(b"torn")
    assert len(read_all(left(disk))) == 8


def test_damage_to_what_was_synced_is_left_alone() -> None:
    disk = MemoryDisk()
    filled(disk).close()
    first = min(path for path in disk.nodes if path.endswith(".log"))
    disk.nodes[first].data[30] ^= 1
    before = bytes(disk.nodes[first].data)
    with pytest.raises(StorageError, match="restore it from another replica"):
        list(repair_log(disk, DIRECTORY, NOW))
    assert bytes(disk.nodes[first].data) == before
    assert not [path for path in disk.nodes if path.endswith(".cleaned")]


def test_another_file_of_that_name_is_left_alone() -> None:
    disk = MemoryDisk()
    filled(disk).close()
    entry = set_aside_path(disk, DIRECTORY, NOW, SetAsideReason.UNREADABLE)
    taken = f"{entry}/{2:020d}-{4:020d}.batch"
    disk.make_directory(entry)
    disk.replace_file(taken, b"of an earlier repair")
    done = list(repair_log(disk, DIRECTORY, NOW))
    assert isinstance(done[0], GarbageBatch)
    assert done[0].copied_to == taken.replace(entry, f"{entry}-2")
    assert disk.read_file(taken) == b"of an earlier repair"


def test_compaction_goes_past_them_and_keeps_them() -> None:
    disk = MemoryDisk()
    log = filled(disk, cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.0)
    job = log.compaction.plan(NOW)
    assert job is not None
    result = compact(job, disk)
    assert result.error is None
    assert [offset for offset, _ in result.unreadable][:2] == [2, 6]
    assert "can't be read" in result.unreadable[0][1]
    run_job(log, job, disk)
    assert not compacted(log, disk, NOW + 1)
    found = [each for each in examine_log(disk, DIRECTORY) if isinstance(each, GarbageBatch)]
    assert [each.header.base_offset for each in found] == [2, 6, 10, 14, 18, 22]
    log.close()
    list(repair_log(disk, DIRECTORY, NOW))
    repaired = Log.open(disk, DIRECTORY, log.config, NOW)
    assert read_all(repaired)[-1].value == b"last"


def test_searches_by_time_go_past_them() -> None:
    log = filled(MemoryDisk())
    found = log.reader.offset_for_timestamp(NOW + 5)
    assert found is not None
    assert found.timestamp == NOW + 5


@pytest.mark.parametrize("compression", list(Compression), ids=str)
def test_every_readable_batch_is_left_alone(compression: Compression) -> None:
    data = memoryview(encode_batch([(NOW, None, b"v" * 99, ())] * 3, compression=compression))
    assert readable_payload(parse_header(data), data)
    broken = bytearray(data)
    broken[HEADER_SIZE + 5 :] = bytes(len(broken) - HEADER_SIZE - 5)
    with pytest.raises(UnreadableBatch):
        readable_payload(parse_header(broken), memoryview(broken))
