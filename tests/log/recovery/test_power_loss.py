"""What was cut off must not come back when the power goes, and what was synced must not go."""

from collections.abc import Callable
from random import Random

import pytest

from barnabas.log import Log, LogConfig
from tests.log.batches import put, values
from tests.log.memory_disk import MemoryDisk

DIRECTORY = "data/t-0"
CONFIG = LogConfig(segment_bytes=300, index_interval_bytes=100)
SEEDS = range(40)


def opened(disk: MemoryDisk) -> Log:
    return Log.open(disk, DIRECTORY, CONFIG, 0)


def sync(log: Log) -> None:
    job = log.flusher.prepare(everything=True)
    if job is not None:
        job.run()
        log.flusher.complete(job)
    log.checkpoint()


def truncated_by_request(disk: MemoryDisk) -> Log:
    log = opened(disk)
    for number in range(6):
        put(log, b"old %d" % number * 12, epoch=1)
    sync(log)
    log.truncate_to(1)
    return log


def truncated_by_recovery(disk: MemoryDisk) -> Log:
    log = opened(disk)
    for number in range(6):
        put(log, b"old %d" % number * 12, epoch=1)
    # Synced, but not known to be: the state is missing. Then the second batch rots.
    sync(log)
    log.abandon()
    disk.unlink(f"{DIRECTORY}/log.state")
    first = disk.nodes[f"{DIRECTORY}/{0:020d}.log"]
    first.data[len(log.read(0, 1)) + 80] ^= 1
    first.durable = bytes(first.data)
    disk.sync_directory(DIRECTORY)
    log = opened(disk)
    assert log.log_end_offset == 1
    return log


@pytest.mark.parametrize("truncated", [truncated_by_request, truncated_by_recovery])
@pytest.mark.parametrize("seed", SEEDS)
def test_cut_records_stay_cut(truncated: Callable[[MemoryDisk], Log], seed: int) -> None:
    disk = MemoryDisk()
    log = truncated(disk)
    kept = values(log)
    assert len(kept) == 1
    added: list[bytes | None] = [b"new %d" % number * 12 for number in range(seed % 4)]
    for value in added:
        assert value is not None
        put(log, value, epoch=2)
    log.abandon()
    disk.power_loss(Random(seed))
    log = opened(disk)
    found = values(log)
    assert found == [*kept, *added][: len(found)]
    assert len(found) >= 1


@pytest.mark.parametrize("seed", SEEDS)
def test_an_epoch_that_comes_again_at_another_offset(seed: int) -> None:
    disk = MemoryDisk()
    log = opened(disk)
    put(log, b"a", epoch=1)
    sync(log)
    put(log, b"b" * 20, epoch=1)
    put(log, b"c" * 20, epoch=2)
    log.checkpoint()
    log.abandon()
    disk.power_loss(Random(seed))
    log = opened(disk)
    # The leader of epoch 2 goes on, from wherever the loss has left it.
    end = log.log_end_offset
    put(log, b"d" * 20, epoch=2)
    log.abandon()
    log = opened(disk)
    assert log.latest_epoch == 2
    assert log.leader_epoch_for(end) == 2
    assert [log.leader_epoch_for(offset) for offset in range(min(end, 2))] == [1, 1][:end]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_clean_stop_is_not_forgotten(seed: int) -> None:
    """An older `log.state` would tell of segments that have been deleted since."""
    disk = MemoryDisk()
    log = opened(disk)
    for number in range(8):
        put(log, b"old %d" % number * 12, epoch=1)
    sync(log)
    state = disk.nodes[f"{DIRECTORY}/log.state"]
    state.durable = bytes(state.data)
    disk.sync_directory(DIRECTORY)
    job = log.retention.delete_records_before(5)
    assert job is not None
    job.run()
    if seed % 2:
        log.checkpoint()
    kept = values(log)
    log.close()
    disk.power_loss(Random(seed))
    log = opened(disk)
    assert (log.log_start_offset, values(log)) == (5, kept)
    assert not list(log.lost_ranges)
