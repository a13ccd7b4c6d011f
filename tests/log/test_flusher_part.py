"""The flusher of a log by itself: running jobs, truncation, and the segment roller."""

from barnabas.log import FLUSH_MARK, Log, LogConfig
from barnabas.log.flusher import LogFlusher
from barnabas.log.local_log import LocalLog
from barnabas.log.producers.state import ProducerState
from barnabas.log.roller import SegmentRoller
from tests.log.batches import put
from tests.log.memory_disk import MemoryDisk
from tests.log.parts import CONFIG, DIRECTORY, local_log

FLUSHED = LogConfig(segment_bytes=400, flush_messages=1)


def unflushed(disk: MemoryDisk, config: LogConfig = CONFIG) -> LocalLog:
    """Six records, of which recovery does not know that any is flushed."""
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    for number in range(6):
        put(log, b"%d" % number * 20)
    log.abandon()
    return local_log(disk, config)


def test_one_job_at_a_time() -> None:
    log = unflushed(MemoryDisk())
    flusher = LogFlusher(log)
    job = flusher.prepare(everything=True)
    assert job is not None
    assert flusher.prepare(everything=True) is None
    assert flusher.prepared_offset == log.log_end_offset
    assert flusher.deadline_ms is None
    job.run()
    flusher.complete(job)
    assert log.flushed_offset == log.log_end_offset
    assert flusher.prepare(everything=True) is None


def test_a_job_from_before_a_truncation_flushes_nothing() -> None:
    log = unflushed(MemoryDisk())
    flusher = LogFlusher(log)
    job = flusher.prepare(everything=True)
    assert job is not None
    flusher.restart_at(2)
    job.run()
    flusher.complete(job)
    assert (log.flushed_offset, flusher.prepared_offset) == (2, 2)
    assert flusher.prepare(everything=True) is not None


def test_without_settings_only_finished_segments_are_flushed() -> None:
    log = unflushed(MemoryDisk())
    assert log.active is not None
    assert log.active.base_offset > 0
    flusher = LogFlusher(log)
    assert flusher.deadline_ms == 0, "of the finished segments"
    job = flusher.prepare()
    assert job is not None
    job.run()
    flusher.complete(job)
    assert log.flushed_offset == log.active.base_offset
    assert flusher.deadline_ms is None


def test_a_log_in_doubt_gets_no_mark() -> None:
    disk = MemoryDisk()
    log = unflushed(disk, FLUSHED)
    log.is_in_doubt = True
    flusher = LogFlusher(log)
    assert flusher.is_required
    assert not flusher.lacks_mark
    flusher.flush()
    assert not disk.exists(f"{DIRECTORY}/{FLUSH_MARK}")
    log.is_in_doubt = False
    assert flusher.lacks_mark
    flusher.flush()
    assert disk.exists(f"{DIRECTORY}/{FLUSH_MARK}")
    flusher.configure(CONFIG)
    assert not disk.exists(f"{DIRECTORY}/{FLUSH_MARK}")


def test_a_new_segment_has_a_name_to_sync_and_leaves_a_snapshot() -> None:
    disk = MemoryDisk()
    log = unflushed(disk)
    flusher = LogFlusher(log)
    flusher.flush()
    assert log.are_names_synced
    end = log.log_end_offset
    segment = SegmentRoller(log, ProducerState(log, [])).roll(0)
    assert log.active is segment is log.segments[-1]
    assert segment.base_offset == end
    assert not log.are_names_synced
    assert disk.exists(f"{DIRECTORY}/{end:020d}.snapshot")
