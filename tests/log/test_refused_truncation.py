"""A disk that refuses in the middle of a truncation: the log still is what its files say.

A follower tells its leader the epoch of its last record, and is told by that whether the logs part.
One that had forgotten the epochs of records that it still has would pass for an empty log, and keep
records that the leader never had.
"""

import errno
from collections.abc import Callable

import pytest

from barnabas.log import Log, LogConfig, StorageError
from barnabas.records.decode import iter_batches
from tests.log.batches import batch, put, values
from tests.log.memory_disk import MemoryDisk

CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=100)
DIRECTORY = "data/t-0"
RECORDS = 12


class FailAfter:
    """An `on_step` that lets `steps` changes happen and then fails each one."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def __call__(self, name: str) -> None:
        if self.left == 0:
            raise OSError(errno.EIO, f"Input/output error in {name}")
        self.left -= 1


def written(disk: MemoryDisk) -> Log:
    """A log of several segments and of an epoch per three records, with idempotent producers."""
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    for number in range(RECORDS):
        view, batches = batch(
            [(1, None, b"%d" % number * 50)],
            producer_id=7,
            producer_epoch=0,
            base_sequence=number,
        )
        log.append(view, batches, number // 3, 0)
    log.flusher.flush()
    log.checkpoint()
    return log


def last_epoch_in_files(log: Log) -> int:
    """What the header of the last batch says."""
    if log.log_end_offset == log.log_start_offset:
        return -1
    data = log.read(log.log_end_offset - 1, 1 << 20)
    return [header.partition_leader_epoch for header, _ in iter_batches(data)][-1]


def agrees_with_its_files(log: Log) -> None:
    kept = values(log)
    assert len(kept) == log.log_end_offset - log.log_start_offset
    assert log.last_epoch == last_epoch_in_files(log)
    if kept and log.log_start_offset == 0:
        assert kept == [b"%d" % number * 50 for number in range(len(kept))]
        sequence = log.log_end_offset
        _, batches = batch(
            [(1, None, b"next")], producer_id=7, producer_epoch=0, base_sequence=sequence
        )
        assert log.producer_state.sequence_error(batches[0][1]) == 0
        known = {log.end_offset_for_epoch(epoch) for epoch in range(log.last_epoch + 1)}
        ends = {(n, min(3 * n + 3, log.log_end_offset)) for n in range(log.last_epoch + 1)}
        assert known == ends


def refused_at(step: int, cut: Callable[[Log], None]) -> tuple[MemoryDisk, Log] | None:
    """A log that the disk refused to cut in that step; None if there are not so many."""
    disk = MemoryDisk()
    log = written(disk)
    disk.on_step = FailAfter(step)
    try:
        cut(log)
    except StorageError:
        return disk, log
    return None


CUTS = [pytest.param(lambda log, n=n: log.truncate_to(n), id=f"to {n}") for n in (0, 1, 4, 7, 11)]
CUTS.append(pytest.param(lambda log: log.truncate_fully_and_start_at(0), id="all"))
CUTS.append(pytest.param(lambda log: log.truncate_fully_and_start_at(40), id="all, begin at 40"))


@pytest.mark.parametrize("cut", CUTS)
def test_a_refused_truncation_leaves_a_log_that_agrees_with_its_files(
    cut: Callable[[Log], None],
) -> None:
    step = 0
    while (refused := refused_at(step, cut)) is not None:
        disk, log = refused
        agrees_with_its_files(log)
        disk.on_step = None
        cut(log)  # it is tried again
        agrees_with_its_files(log)
        end = log.log_end_offset
        try:
            put(log, b"later", epoch=9)
        except StorageError:
            assert log.log_end_offset == end  # until it is opened again
        else:
            assert log.last_epoch == 9
            log.truncate_to(end)
        log.abandon()
        agrees_with_its_files(Log.open(disk, DIRECTORY, CONFIG, 0))
        step += 1
    assert step > 1


@pytest.mark.parametrize("cut", CUTS)
def test_what_a_crash_leaves_of_a_refused_truncation_agrees_with_its_files(
    cut: Callable[[Log], None],
) -> None:
    step = 0
    while (refused := refused_at(step, cut)) is not None:
        disk, log = refused
        log.abandon()
        disk.on_step = None
        agrees_with_its_files(Log.open(disk, DIRECTORY, CONFIG, 0))
        step += 1


def test_a_full_disk_refuses_and_nothing_has_changed() -> None:
    disk = MemoryDisk()
    log = written(disk)
    disk.capacity = disk.used()
    with pytest.raises(StorageError, match="No space left"):
        log.truncate_to(1)
    assert log.log_end_offset == RECORDS
    agrees_with_its_files(log)
    disk.capacity = 1 << 30
    log.truncate_to(1)
    put(log, b"later", epoch=9)
    assert (log.last_epoch, log.log_end_offset) == (9, 2)
