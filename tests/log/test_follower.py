"""A follower's log: the leader's batches with the leader's offsets and epochs."""

from pathlib import Path

import pytest

from barnabas.log import (
    Log,
    LogConfig,
    OsDisk,
    StorageError,
    checked_batches,
    read_topic_id,
    write_topic_id,
)
from barnabas.records.errors import CorruptBatch
from tests.log.batches import batch, put, values
from tests.log.memory_disk import MemoryDisk

CONFIG = LogConfig(index_interval_bytes=100)


def opened(path: Path, name: str, config: LogConfig = CONFIG) -> Log:
    return Log.open(OsDisk(), str(path / name), config, 0)


def copy(leader: Log, follower: Log, max_bytes: int = 1 << 20) -> None:
    """One fetch."""
    records = leader.read(follower.log_end_offset, max_bytes)
    view, batches = checked_batches(memoryview(bytearray(records)), follower.log_end_offset)
    if batches:
        follower.append_as_follower(view, batches, 0)


def copy_all(leader: Log, follower: Log, max_bytes: int = 1 << 20) -> None:
    while follower.log_end_offset < leader.log_end_offset:
        copy(leader, follower, max_bytes)


def bytes_of(log: Log) -> bytes:
    return b"".join(
        bytes(log.read(info.base_offset, 1 << 30))
        for info in log.segment_infos()
        if info.size_bytes
    )


@pytest.mark.parametrize("max_bytes", [1, 300, 1 << 20])
@pytest.mark.parametrize("segment_bytes", [400, 1 << 20])
def test_the_same_bytes(tmp_path: Path, max_bytes: int, segment_bytes: int) -> None:
    config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=100)
    leader, follower = opened(tmp_path, "l-0"), opened(tmp_path, "f-0", config)
    for number in range(40):
        put(leader, *(b"%d" % number for _ in range(number % 3 + 1)), epoch=number // 10)
    copy_all(leader, follower, max_bytes)
    assert bytes_of(follower) == bytes_of(leader)
    assert follower.last_epoch == 3
    for epoch in range(4):
        assert follower.end_offset_for_epoch(epoch) == leader.end_offset_for_epoch(epoch)
    if segment_bytes == 400:
        assert max(info.size_bytes for info in follower.segment_infos()) <= 400
    follower.close()
    again = opened(tmp_path, "f-0", config)
    assert again.recovery is None
    assert bytes_of(again) == bytes_of(leader)


def test_retries_are_known_to_who_leads_next(tmp_path: Path) -> None:
    leader, follower = opened(tmp_path, "l-0"), opened(tmp_path, "f-0")
    buffer, batches = batch([(1, None, b"v")], producer_id=7, producer_epoch=0, base_sequence=0)
    leader.append(buffer, batches, 0, 0)
    copy_all(leader, follower)
    duplicate = follower.producer_state.find_duplicate(batches[0][1])
    assert duplicate is not None
    assert duplicate.base_offset == 0


def test_gaps_stay_gaps(tmp_path: Path) -> None:
    """Compaction leaves them; a gap may be wider than what one segment holds."""
    follower = opened(tmp_path, "f-0")
    for base_offset in (3, 10, 5_000_000_000):
        buffer, batches = batch([(1, b"k", b"%d" % base_offset)])
        header = batches[0][1]._replace(base_offset=base_offset)
        buffer[:8] = base_offset.to_bytes(8, "big")
        follower.append_as_follower(buffer, [(0, header)], 0)
    assert follower.log_start_offset == 0
    assert follower.log_end_offset == 5_000_000_001
    assert values(follower) == [b"3", b"10", b"5000000000"]
    follower.abandon()
    assert values(opened(tmp_path, "f-0")) == [b"3", b"10", b"5000000000"]


def test_what_is_there_already_is_passed_over(tmp_path: Path) -> None:
    leader, follower = opened(tmp_path, "l-0"), opened(tmp_path, "f-0")
    put(leader, b"a")
    copy_all(leader, follower)
    put(leader, b"b")
    records = memoryview(bytearray(leader.read(0, 1 << 20)))
    view, batches = checked_batches(records, follower.log_end_offset)
    follower.append_as_follower(view, batches, 0)
    assert values(follower) == [b"a", b"b"]
    assert checked_batches(records, 2)[1] == []


def test_damage_on_the_way_is_noticed(tmp_path: Path) -> None:
    leader = opened(tmp_path, "l-0")
    put(leader, b"a")
    put(leader, b"b")
    good = bytearray(leader.read(0, 1 << 20))
    for position in range(17, len(good)):
        if len(good) // 2 <= position < len(good) // 2 + 17:
            continue  # offset, length and epoch of the second batch stand outside of its CRC
        bad = bytearray(good)
        bad[position] ^= 1
        with pytest.raises(CorruptBatch):
            checked_batches(memoryview(bad), 0)


def test_batches_out_of_order_are_refused(tmp_path: Path) -> None:
    leader, follower = opened(tmp_path, "l-0"), opened(tmp_path, "f-0")
    put(leader, b"a")
    put(leader, b"b", b"c")
    first, second = bytes(leader.read(0, 1)), bytes(leader.read(1, 1))
    with pytest.raises(CorruptBatch):
        checked_batches(memoryview(bytearray(second + first)), 0)
    view, batches = checked_batches(memoryview(bytearray(first)), 0)
    follower.append_as_follower(view, batches, 0)
    put(follower, b"other")
    view, batches = checked_batches(memoryview(bytearray(second)), 2)
    with pytest.raises(CorruptBatch):
        follower.append_as_follower(view, batches, 0)
    assert values(follower) == [b"a", b"other"]


def test_a_cut_off_batch_comes_again_whole(tmp_path: Path) -> None:
    leader = opened(tmp_path, "l-0")
    put(leader, b"a")
    put(leader, b"b")
    data = bytearray(leader.read(0, 1 << 20))
    view, batches = checked_batches(memoryview(data)[:-1], 0)
    assert [header.base_offset for _, header in batches] == [0]
    assert len(view) == len(data) // 2


def test_starting_anew(tmp_path: Path) -> None:
    log = opened(tmp_path, "f-0", LogConfig(segment_bytes=100))
    for number in range(10):
        put(log, b"%d" % number, epoch=number)
    log.truncate_fully_and_start_at(1000)
    assert (log.log_start_offset, log.log_end_offset, log.flushed_offset) == (1000, 1000, 1000)
    assert (log.last_epoch, log.latest_epoch) == (-1, -1)
    assert log.committed_offset == 1000
    log.abandon()
    again = opened(tmp_path, "f-0")
    assert (again.log_start_offset, again.log_end_offset) == (1000, 1000)
    put(again, b"new", epoch=20)
    assert values(again) == [b"new"]
    again.truncate_fully_and_start_at(5)
    assert (again.log_start_offset, again.log_end_offset) == (5, 5)
    put(again, b"older")
    assert values(again) == [b"older"]


def test_starting_in_the_middle_of_a_batch(tmp_path: Path) -> None:
    """Where records were deleted up to there, the leader's log starts so as well."""
    leader, follower = opened(tmp_path, "l-0"), opened(tmp_path, "f-0")
    put(leader, *(b"%d" % number for number in range(10)))
    leader.retention.delete_records_before(4)
    follower.truncate_fully_and_start_at(4)
    copy_all(leader, follower)
    assert (follower.log_start_offset, follower.log_end_offset) == (4, 10)
    assert values(follower) == values(leader) == [b"%d" % number for number in range(4, 10)]


def test_what_was_once_compacted_is_no_damage(tmp_path: Path) -> None:
    """Of a topic with the policy "delete" by now; a follower that copies it has never compacted."""
    whole = opened(tmp_path, "w-0")
    for number in range(5):
        put(whole, b"%d" % number)
    compacted = opened(tmp_path, "l-0", LogConfig(cleanup_policy=frozenset({"compact"})))
    for offset in (0, 3, 4):
        record = whole.read(offset, 1)
        view, batches = checked_batches(memoryview(bytearray(record)), offset)
        compacted.append_as_follower(view, batches, 0)
    assert values(compacted) == [b"0", b"3", b"4"]
    follower = opened(tmp_path, "f-0")
    copy_all(compacted, follower)
    assert values(follower) == [b"0", b"3", b"4"]
    follower.close()
    again = opened(tmp_path, "f-0")
    assert values(again) == [b"0", b"3", b"4"], "what is on the disk is checked when it is read"
    compacted.close()
    leader = opened(tmp_path, "l-0")
    assert values(leader) == [b"0", b"3", b"4"], "its own policy has changed"


def test_a_kill_forgets_no_gap(tmp_path: Path) -> None:
    whole, follower = opened(tmp_path, "w-0"), opened(tmp_path, "f-0")
    for number in range(3):
        put(whole, b"%d" % number)
    for offset in (0, 2):
        view, batches = checked_batches(memoryview(bytearray(whole.read(offset, 1))), offset)
        follower.append_as_follower(view, batches, 0)
    follower.abandon()
    for _ in range(2):  # the second one trusts what the first has scanned
        again = opened(tmp_path, "f-0")
        assert values(again) == [b"0", b"2"]
        again.close()


def test_a_kill_brings_no_deleted_record_of_the_first_batch_back(tmp_path: Path) -> None:
    """The leader may have told a client that they are deleted."""
    leader, follower = opened(tmp_path, "l-0"), opened(tmp_path, "f-0")
    put(leader, *(b"%d" % number for number in range(10)))
    leader.retention.delete_records_before(4)
    follower.truncate_fully_and_start_at(4)
    copy_all(leader, follower)
    follower.abandon()
    again = opened(tmp_path, "f-0")
    assert (again.log_start_offset, again.log_end_offset) == (4, 10)
    assert values(again) == values(leader)


def test_an_epoch_begins_before_its_first_record(tmp_path: Path) -> None:
    log = opened(tmp_path, "l-0")
    put(log, b"a", epoch=1)
    log.appender.begin_epoch(3)
    assert log.end_offset_for_epoch(1) == (1, 1)
    assert log.end_offset_for_epoch(3) == (3, 1)
    assert (log.latest_epoch, log.last_epoch) == (3, 1)
    log.truncate_to(log.log_end_offset)
    assert log.latest_epoch == 1, "it led without appending anything, and leads no more"
    log.appender.begin_epoch(5)
    put(log, b"b", epoch=5)
    log.truncate_to(log.log_end_offset)
    assert log.last_epoch == 5


def test_cutting_below_the_first_segment(tmp_path: Path) -> None:
    log = opened(tmp_path, "f-0")
    log.truncate_fully_and_start_at(100)
    put(log, b"a")
    log.truncate_to(50)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)


def test_cutting_an_empty_log_sets_nothing_aside(tmp_path: Path) -> None:
    """It starts where its leader's did, and the next leader's starts earlier."""
    log = opened(tmp_path, "f-0")
    log.truncate_fully_and_start_at(100)
    log.truncate_to(50, set_aside=str(tmp_path / "set-aside" / "f-0" / "now-truncated"))
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)
    assert not (tmp_path / "set-aside").exists()
    put(log, b"a")
    assert values(log) == [b"a"]


def test_what_is_committed_is_remembered(tmp_path: Path) -> None:
    log = opened(tmp_path, "f-0")
    for number in range(10):
        put(log, b"%d" % number)
    log.committed_offset = 8
    log.checkpoint()
    log.abandon()
    again = opened(tmp_path, "f-0")
    assert again.committed_offset == 8
    again.truncate_to(5)
    assert again.committed_offset == 5


def test_what_is_not_committed_is_not_compacted(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=150, cleanup_policy=frozenset({"compact"}))
    log = opened(tmp_path, "f-0", config)
    for number in range(6):
        log.append(*batch([(1, b"key", b"%d" % number)]), 0, 0)
    assert log.compaction.plan(10, upto_offset=0) is None
    job = log.compaction.plan(10, upto_offset=2)
    assert job is not None
    assert job.sources[-1].next_offset <= 2


def test_a_full_disk_stores_nothing_or_whole_batches() -> None:
    disk = MemoryDisk()
    leader = Log.open(MemoryDisk(), "l-0", CONFIG, 0)
    follower = Log.open(disk, "f-0", LogConfig(segment_bytes=500), 0)
    for number in range(20):
        put(leader, b"%020d" % number)
    disk.capacity = disk.used() + 700
    with pytest.raises(StorageError):
        copy_all(leader, follower)
    stored = values(follower)
    assert 0 < len(stored) < 20
    disk.capacity = 1 << 30
    copy_all(leader, follower)
    assert values(follower) == values(leader)


def test_whose_a_directory_is(tmp_path: Path) -> None:
    disk = OsDisk()
    directory = str(tmp_path / "t-0")
    assert read_topic_id(disk, directory) is None
    write_topic_id(disk, directory, bytes(range(16)))
    assert read_topic_id(disk, directory) == bytes(range(16))
    text = (tmp_path / "t-0" / "partition.metadata").read_text()
    assert text.startswith("version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n")
    torn = text.replace("topic_id: A", "topic_id: B")
    assert torn != text
    (tmp_path / "t-0" / "partition.metadata").write_text(torn)
    assert read_topic_id(disk, directory) is None, "a loss of power may flip a bit"
    (tmp_path / "t-0" / "partition.metadata").write_text("".join(text.splitlines(True)[:2]))
    assert read_topic_id(disk, directory) == bytes(range(16)), "as earlier releases wrote it"
    (tmp_path / "t-0" / "partition.metadata").write_text("version: 0\ntopic_id: A\n")
    assert read_topic_id(disk, directory) is None


def test_a_batch_of_an_epoch_that_can_not_be_is_refused(tmp_path: Path) -> None:
    """A leader's disk has garbled it: the CRC does not cover it."""
    leader = opened(tmp_path, "l-0")
    for epoch in (1, 4, 4):
        put(leader, b"a", epoch=epoch)
    records = memoryview(bytearray(leader.read(0, 1 << 20)))
    assert len(checked_batches(records, 0, -1, 4)[1]) == 3
    with pytest.raises(CorruptBatch, match="offset 1 is of leader epoch 4, behind epoch 1"):
        checked_batches(records, 0, -1, 3)
    with pytest.raises(CorruptBatch, match="offset 0 is of leader epoch 1, behind epoch 2"):
        checked_batches(records, 0, 2, 4)
    records[-len(records) // 3 + 12 + 3] = 3
    with pytest.raises(CorruptBatch, match="offset 2 is of leader epoch 3, behind epoch 4"):
        checked_batches(records, 0, -1, 4)
