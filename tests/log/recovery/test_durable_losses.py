"""A loss that a start has found is found again by the next one, whatever comes in between.

Between the two the controller may not have heard of it, and a loss of power explains much: without
what the first start has written down, the second would take the loss for what was never synced.
"""

from collections.abc import Callable
from random import Random

import pytest

from barnabas.log import Log, LogConfig
from tests.log.batches import put
from tests.log.memory_disk import Crash, CrashAfter, MemoryDisk
from tests.log.recovery.test_holes import (
    CONFIG,
    COUNT,
    DAMAGES,
    DIRECTORY,
    flip,
    flip_length,
    opened,
    segments,
    truncate,
    unvouch,
    value,
)
from tests.log.recovery.test_witnesses import cut_one_batch, is_missed

SEEDS = range(5)


def settled(disk: MemoryDisk) -> None:
    """Everything is on stable storage: what is lost now is lost by damage."""
    for node in disk.nodes.values():
        node.durable = bytes(node.data)
    disk.sync_directory(DIRECTORY)


def written(disk: MemoryDisk, listed: int | None, config: LogConfig = CONFIG) -> None:
    """A log that was not closed. Its state lists what the first `listed` batches filled; with
    None there is no state."""
    log = opened(disk, config=config)
    for number in range(COUNT):
        if number == listed:
            job = log.flusher.prepare(everything=True)
            assert job is not None
            job.run()
            log.flusher.complete(job)
            log.checkpoint()
        put(log, value(number), timestamp=number, epoch=number // 8)
    for segment in log.segments:
        segment.spill_indexes()
    log.abandon()
    settled(disk)


def knows_loss(log: Log) -> bool:
    return bool(log.lost_ranges) or is_missed(log)


def whole_batch(disk: MemoryDisk, path: str) -> None:
    """What is left of the segment looks complete."""
    cut_one_batch(disk, path)


@pytest.mark.parametrize("damage", [*DAMAGES, whole_batch])
@pytest.mark.parametrize("listed", [None, 2, COUNT - 1])
@pytest.mark.parametrize("is_checkpointed", [False, True])
def test_a_hole_is_known_after_a_loss_of_power(
    damage: Callable[[MemoryDisk, str], None], listed: int | None, is_checkpointed: bool
) -> None:
    for seed in SEEDS:
        disk = MemoryDisk()
        written(disk, listed)
        path = segments(disk)[1]
        damage(disk, path)
        if damage in (flip, flip_length):
            unvouch(disk, path)
        settled(disk)
        log = opened(disk)
        assert log.lost_ranges
        if is_checkpointed:
            log.checkpoint()
        log.abandon()
        disk.power_loss(Random(seed))
        assert knows_loss(opened(disk, power_lost=True))


@pytest.mark.parametrize("listed", [None, 2])
@pytest.mark.parametrize("is_checkpointed", [False, True])
def test_a_lost_end_is_known_after_a_loss_of_power(
    listed: int | None, is_checkpointed: bool
) -> None:
    for seed in SEEDS:
        disk = MemoryDisk()
        written(disk, listed)
        disk.unlink(segments(disk)[-1])
        settled(disk)
        log = opened(disk)
        assert is_missed(log)
        if is_checkpointed:
            log.checkpoint()
        log.abandon()
        disk.power_loss(Random(seed))
        assert knows_loss(opened(disk, power_lost=True))


@pytest.mark.parametrize("damage", [flip, flip_length])
@pytest.mark.parametrize("number", [1, -1])
@pytest.mark.parametrize("power_lost", [False, True])
def test_what_a_read_found_is_no_torn_tail_at_the_next_start(
    damage: Callable[[MemoryDisk, str], None], number: int, power_lost: bool
) -> None:
    """Not even at the very end of the log, where a torn append would be."""
    disk = MemoryDisk()
    written(disk, 2)
    log = opened(disk)
    path = segments(disk)[number]
    if number == -1:
        while log.segments[-1].base_offset != log.log_end_offset - 1:
            put(log, value(0), epoch=log.latest_epoch)
        path = segments(disk)[-1]
    damage(disk, path)
    settled(disk)
    start = log.segments[number].base_offset
    log.damage.mark_lost(start, start + 1, "its CRC is wrong")
    log.abandon()
    if power_lost:
        disk.power_loss(Random(1))
    assert knows_loss(opened(disk, power_lost=power_lost))


def lose_last_segment(disk: MemoryDisk) -> None:
    """An index without a segment tells of it."""
    disk.unlink(segments(disk)[-1])


def lose_last_batch(disk: MemoryDisk) -> None:
    """An entry of the index tells of it."""
    cut_one_batch(disk, segments(disk)[-1])


def lose_middle(disk: MemoryDisk) -> None:
    truncate(disk, segments(disk)[1])


@pytest.mark.parametrize("listed", [None, 2])
@pytest.mark.parametrize("damage", [lose_last_segment, lose_last_batch, lose_middle])
def test_a_loss_is_known_wherever_the_start_that_found_it_ends(
    listed: int | None, damage: Callable[[MemoryDisk], None]
) -> None:
    """The process is killed after any step; the node has not acted upon anything yet."""
    every_batch = LogConfig(segment_bytes=500, index_interval_bytes=0)
    is_through, steps = False, 0
    while not is_through:
        disk = MemoryDisk()
        written(disk, listed, every_batch)
        for path in [path for path in disk.nodes if path.endswith(".snapshot")]:
            disk.unlink(path)
        damage(disk)
        settled(disk)
        disk.on_step = CrashAfter(steps)
        try:
            opened(disk, config=every_batch)
            is_through = True
        except Crash:
            steps += 1
        disk.on_step = None
        assert knows_loss(opened(disk, config=every_batch)), steps
    assert steps > 0
