"""Whether a replica has all that it has acknowledged."""

from random import Random
from struct import pack

import pytest

from barnabas.broker.replica.high_watermark_checkpoint import UNKNOWN
from barnabas.broker.replica.replica_doubt import ReplicaDoubt
from barnabas.broker.replica.replica_trust import (
    ACKNOWLEDGED_UNKNOWN,
    NEW_DIRECTORY,
    POWER_LOST,
    accept_alone,
    examine,
)
from barnabas.log import FLUSH_MARK, Log, LogConfig
from barnabas.records.decode import iter_batches
from tests.log.batches import put, readable
from tests.log.memory_disk import MemoryDisk
from tests.log.recovery import test_garbled_epochs as garbled_epochs
from tests.log.recovery.test_holes import COUNT, DIRECTORY, filled, flip, opened, segments, value

FLUSHED = LogConfig(flush_messages=1)
MARK = f"{DIRECTORY}/{FLUSH_MARK}"


def test_a_whole_log_is_vouched_for() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=False)
    log = opened(disk)
    assert examine(log, COUNT, was_there=True, power_lost=False) == ReplicaDoubt()


def test_a_hole_is_a_reason_to_doubt() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=False)
    flip(disk, segments(disk)[1])
    log = opened(disk)
    finding = examine(log, COUNT, was_there=True, power_lost=False)
    first = log.lost_ranges.first_offset
    assert f"lost offsets {first} to {first}" in finding.reason
    assert finding.suspect_from == first


@pytest.mark.parametrize("was_there", [True, False])
def test_a_log_that_ends_before_what_it_had_acknowledged(was_there: bool) -> None:
    disk = MemoryDisk()
    if was_there:
        filled(disk, vouched=False)
        disk.unlink(segments(disk)[-1])
    log = opened(disk)
    end = log.log_end_offset
    finding = examine(log, COUNT, was_there=was_there, power_lost=False)
    assert (f"ends at {end}" if was_there else "directory is gone") in finding.reason
    assert f"all below {COUNT}" in finding.reason
    assert finding.suspect_from == end


def test_a_log_that_ends_where_other_files_tell_of_more() -> None:
    """The high watermark was written down before the last segment began."""
    disk = MemoryDisk()
    filled(disk, vouched=False)
    disk.unlink(segments(disk)[-1])
    log = opened(disk)
    end = log.log_end_offset
    finding = examine(log, end, was_there=True, power_lost=False)
    assert f"it ends at {end}" in finding.reason
    assert finding.lacks_end
    log.loss_is_known()
    log.abandon()
    assert examine(opened(disk), end, was_there=True, power_lost=False) == ReplicaDoubt()


def test_after_a_loss_of_power_only_flushed_logs_are_believed() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=False)
    log = opened(disk, power_lost=True)
    assert examine(log, COUNT, was_there=True, power_lost=True) == ReplicaDoubt(
        POWER_LOST, 0, lacks_end=True
    )
    log.configure(FLUSHED)
    assert log.flusher.lacks_mark
    log.flusher.flush()
    assert not log.flusher.lacks_mark
    log.abandon()
    disk.power_loss(Random(1))
    log = opened(disk, power_lost=True, config=FLUSHED)
    assert examine(log, COUNT, was_there=True, power_lost=True) == ReplicaDoubt()
    assert examine(log, COUNT + 1, was_there=True, power_lost=True).reason


@pytest.mark.parametrize("is_known", [False, True])
def test_a_base_offset_that_a_power_loss_has_garbled(is_known: bool) -> None:
    """No checksum covers it. A gap that was there when the state was written is believed."""
    disk = MemoryDisk()
    log = opened(disk, config=FLUSHED)
    log.flusher.flush()
    for number in range(COUNT):
        put(log, value(number), timestamp=number)
    last = segments(disk)[-1]
    if is_known:
        log.close()
    else:
        log.abandon()
    data = disk.nodes[last].data
    *_, (header, view) = iter_batches(bytes(data))
    at = len(data) - len(view)
    data[at : at + 8] = pack(">q", header.base_offset + 2048)
    log = opened(disk, power_lost=True, config=FLUSHED)
    finding = examine(log, 0, was_there=True, power_lost=True)
    if is_known:
        assert finding == ReplicaDoubt()
    else:
        assert "a power loss may have made the gap" in finding.reason
        assert finding.suspect_from == header.base_offset
        assert finding.is_only_hole
    log.abandon()
    log = opened(disk, config=FLUSHED)
    assert examine(log, 0, was_there=True, power_lost=False) == ReplicaDoubt(), "only killed"


def test_a_replica_of_a_new_data_directory_says_so() -> None:
    """It is trusted as little as after a power loss; only the reason differs."""
    empty = opened(MemoryDisk(), power_lost=True)
    found = examine(empty, 0, was_there=False, power_lost=True, is_directory_new=True)
    assert found == ReplicaDoubt(NEW_DIRECTORY, 0, lacks_end=True)
    disk = MemoryDisk()
    filled(disk, vouched=False)
    kept = opened(disk, power_lost=True)
    found = examine(kept, COUNT, was_there=True, power_lost=True, is_directory_new=True)
    assert found == ReplicaDoubt(POWER_LOST, 0, lacks_end=True), "only broker.state is gone"


@pytest.mark.parametrize("closed", [True, False])
def test_a_log_that_was_not_closed_is_doubted_if_nobody_knows_its_end(closed: bool) -> None:
    disk = MemoryDisk()
    filled(disk, vouched=closed)
    found = examine(opened(disk), UNKNOWN, was_there=True, power_lost=False)
    assert found == (
        ReplicaDoubt() if closed else ReplicaDoubt(ACKNOWLEDGED_UNKNOWN, COUNT, lacks_end=True)
    )


@pytest.mark.parametrize("seed", range(30))
def test_the_mark_is_true_whenever_the_power_goes(seed: int) -> None:
    """Settings change to and fro; what was acknowledged under the mark is there afterwards."""
    random = Random(seed)
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, LogConfig(segment_bytes=400), 0)
    acknowledged = 0
    for number in range(random.randint(1, 12)):
        match random.randrange(4):
            case 0:
                log.configure(LogConfig(segment_bytes=400, flush_messages=1))
            case 1:
                log.configure(LogConfig(segment_bytes=400))
            case _:
                put(log, value(number))
        if not log.flusher.is_required:
            acknowledged = log.log_end_offset
        elif random.random() < 0.7:
            log.flusher.flush()
            acknowledged = max(acknowledged, log.flushed_offset)
        if random.random() < 0.3:
            log.checkpoint()
    log.abandon()
    disk.power_loss(random)
    log = Log.open(disk, DIRECTORY, LogConfig(), 0, power_lost=True)
    if log.is_flush_marked:
        assert log.log_end_offset >= acknowledged
        assert not log.lost_ranges


def test_the_mark_goes_before_anything_unflushed_is_acknowledged() -> None:
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, FLUSHED, 0)
    log.flusher.flush()
    assert disk.exists(MARK), "also of an empty log"
    log.configure(LogConfig())
    assert not disk.exists(MARK)
    log.configure(FLUSHED)
    job = log.flusher.prepare()
    assert job is not None
    log.configure(LogConfig())
    job.run()
    log.flusher.complete(job)
    assert not disk.exists(MARK), "the setting has changed while it was made"


def test_the_only_replica_goes_on_behind_what_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    disk = MemoryDisk()
    filled(disk, vouched=True)
    disk.unlink(segments(disk)[-1])
    log = opened(disk)
    end = log.log_end_offset
    accept_alone("t-0", log, COUNT, 0, was_there=True, power_lost=False)
    assert f"t-0 has lost offsets {end} to {COUNT - 1} (its end is gone)" in caplog.text
    assert put(log, b"more").base_offset == COUNT
    assert readable(log) == {**{o: value(o) for o in range(end)}, COUNT: b"more"}


def test_the_only_replica_after_a_loss_of_power(caplog: pytest.LogCaptureFixture) -> None:
    """What was not flushed may be gone, as the documentation says: no hole is made of it."""
    disk = MemoryDisk()
    filled(disk, vouched=False)
    disk.unlink(segments(disk)[-1])
    log = opened(disk, power_lost=True)
    end = log.log_end_offset
    accept_alone("t-0", log, COUNT, 0, was_there=True, power_lost=True)
    assert f"t-0 lost offsets {end} to {COUNT - 1} when the machine lost power" in caplog.text
    assert put(log, b"more").base_offset == end


def test_a_leader_epoch_that_is_damaged_and_not_clear_is_a_reason_to_doubt() -> None:
    disk = garbled_epochs.filled("333455")
    garbled_epochs.garble(disk, 3, 1)
    log = garbled_epochs.opened(disk)
    finding = examine(log, 6, was_there=True, power_lost=False)
    assert finding.reason == "the leader epoch of its batch at offset 3 is damaged"
    assert (finding.suspect_from, finding.is_only_hole) == (3, True)


def test_a_later_leader_epoch_than_that_of_the_partition_is_a_reason_to_doubt() -> None:
    log = garbled_epochs.opened(garbled_epochs.filled("3339"))
    assert not examine(log, 4, was_there=True, power_lost=False, leader_epoch=9)
    finding = examine(log, 4, was_there=True, power_lost=False, leader_epoch=8)
    assert finding.reason == "the leader epoch of its batch at offset 3 is damaged"
    assert (finding.suspect_from, finding.is_only_hole) == (3, True)
