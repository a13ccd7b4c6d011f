"""Flush jobs: what they make durable, when they are due, and what may happen meanwhile."""

import errno
import threading
from pathlib import Path
from random import Random

import pytest

from barnabas.log import Log, LogConfig, OsDisk, StorageError
from barnabas.records.decode import decode_records
from tests.log.batches import put, values
from tests.log.memory_disk import MemoryDisk

DIRECTORY = "data/t-0"


def flush(log: Log) -> None:
    job = log.flusher.prepare(everything=True)
    if job is not None:
        job.run()
        log.flusher.complete(job)


def test_due_by_count_and_exposed_by_completion() -> None:
    log = Log.open(MemoryDisk(), DIRECTORY, LogConfig(flush_messages=3), 0)
    assert log.flusher.is_required
    assert not log.flusher.is_due(10**12)
    put(log, b"a", b"b")
    assert log.flusher.deadline_ms is None
    put(log, b"c")
    assert log.flusher.is_due(0)
    job = log.flusher.prepare()
    assert job is not None
    assert log.flushed_offset == 0
    put(log, b"d")
    assert log.flusher.prepare() is None, "one at a time"
    job.run()
    log.flusher.complete(job)
    assert log.flushed_offset == 3
    exposed = decode_records(log.read(0, 1000, upto_offset=log.flushed_offset))
    assert [record.value for record in exposed] == [b"a", b"b", b"c"]
    assert [record.value for record in decode_records(log.read(3, 1000))] == [b"d"]
    assert not log.flusher.is_due(0)


def test_due_by_age_of_the_oldest_unflushed_record() -> None:
    log = Log.open(MemoryDisk(), DIRECTORY, LogConfig(flush_ms=50), 0)
    put(log, b"a", now=100)
    put(log, b"b", now=140)
    assert log.flusher.deadline_ms == 150
    assert not log.flusher.is_due(149)
    assert log.flusher.is_due(150)
    flush(log)
    assert log.flusher.deadline_ms is None
    put(log, b"c", now=500)
    assert log.flusher.deadline_ms == 550


def test_what_is_appended_during_a_flush_gets_its_own_time() -> None:
    log = Log.open(MemoryDisk(), DIRECTORY, LogConfig(flush_ms=50), 0)
    put(log, b"a", now=100)
    job = log.flusher.prepare()
    assert job is not None
    assert log.flusher.deadline_ms is None
    put(log, b"b", now=160)
    put(log, b"c", now=170)
    job.run()
    log.flusher.complete(job)
    assert log.flushed_offset == 1
    assert log.flusher.deadline_ms == 210


def test_flush_ms_zero_means_at_once() -> None:
    log = Log.open(MemoryDisk(), DIRECTORY, LogConfig(flush_ms=0), 0)
    put(log, b"a", now=7)
    assert log.flusher.is_due(7)


@pytest.mark.parametrize("never", [-1, 2**63 - 1])
def test_without_settings_only_rolled_segments_are_due(never: int) -> None:
    config = LogConfig(segment_bytes=200, flush_messages=never, flush_ms=never)
    log = Log.open(MemoryDisk(), DIRECTORY, config, 0)
    assert not log.flusher.is_required
    put(log, b"a" * 90)
    assert not log.flusher.is_due(10**12)
    assert log.flusher.prepare() is None
    put(log, b"b" * 90)
    assert log.flusher.is_due(0)
    job = log.flusher.prepare()
    assert job is not None
    job.run()
    log.flusher.complete(job)
    assert log.flushed_offset == 1
    assert not log.flusher.is_due(10**12)


def test_what_was_flushed_survives_a_loss_of_power() -> None:
    for seed in range(60):
        disk = MemoryDisk()
        log = Log.open(disk, DIRECTORY, LogConfig(segment_bytes=300, flush_messages=1), 0)
        for number in range(7):
            put(log, b"%d" % number * 60)
        flush(log)
        put(log, b"perhaps")
        log.abandon()
        disk.power_loss(Random(seed))
        log = Log.open(disk, DIRECTORY, LogConfig(segment_bytes=300, flush_messages=1), 0)
        assert values(log)[:7] == [b"%d" % number * 60 for number in range(7)]


def test_rolls_and_deletes_while_a_job_runs_on_another_thread(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=300, retention_bytes=0, retention_ms=-1)
    log = Log.open(OsDisk(), f"{tmp_path}/t-0", config, 0)
    for _ in range(10):
        put(log, b"x" * 60)
    job = log.flusher.prepare(everything=True)
    assert job is not None
    for _ in range(10):
        put(log, b"y" * 60)
    deletion = log.retention.apply(0)
    assert deletion is not None
    deletion.run()
    thread = threading.Thread(target=job.run)
    thread.start()
    thread.join()
    log.flusher.complete(job)
    assert log.flushed_offset == 10
    flush(log)
    assert log.flushed_offset == 20


def test_after_a_failed_sync_the_log_takes_nothing_until_it_is_opened_again() -> None:
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, LogConfig(flush_messages=1), 0)
    put(log, b"a")

    def fail(name: str) -> None:
        if name == "sync":
            raise OSError(errno.EIO, "Input/output error")

    disk.on_step = fail
    job = log.flusher.prepare()
    assert job is not None
    job.run()
    with pytest.raises(StorageError, match="synced"):
        log.flusher.complete(job)
    disk.on_step = None
    assert log.flushed_offset == 0
    assert log.flusher.prepare() is None
    assert not log.flusher.is_due(10**12)
    with pytest.raises(StorageError, match="synced"):
        put(log, b"b")
    assert values(log) == [b"a"]
    with pytest.raises(StorageError, match="synced"):
        log.close()
    log = Log.open(disk, DIRECTORY, LogConfig(flush_messages=1), 0)
    assert log.recovery is not None, "a failed sync is not a clean stop"
    put(log, b"b")
    assert values(log) == [b"a", b"b"]


def test_truncation_makes_a_running_job_void() -> None:
    log = Log.open(MemoryDisk(), DIRECTORY, LogConfig(), 0)
    put(log, b"a")
    put(log, b"b")
    job = log.flusher.prepare(everything=True)
    assert job is not None
    job.run()
    log.truncate_to(1)
    log.flusher.complete(job)
    assert log.flushed_offset == 0
    put(log, b"c" * 100)
    put(log, b"d")
    assert values(log) == [b"a", b"c" * 100, b"d"]


def test_a_job_that_truncation_made_void_does_not_end_the_one_that_runs() -> None:
    """The records behind the cut are flushed by the second job: producers wait for that."""
    disk = MemoryDisk()
    log = Log.open(disk, "data/t-0", LogConfig(flush_messages=1), 0)
    put(log, b"a")
    void = log.flusher.prepare()
    assert void is not None
    log.truncate_to(0)
    put(log, b"b")
    running = log.flusher.prepare()
    assert running is not None
    for job in (void, running):
        job.run()
        log.flusher.complete(job)
    assert log.flushed_offset == 1
