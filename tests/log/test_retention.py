"""Retention by time and size, DeleteRecords, and the log start offset."""

import errno

import pytest

from barnabas.log import Log, LogConfig, OffsetOutOfRange, StorageError
from tests.log.batches import put, values
from tests.log.memory_disk import MemoryDisk

DIRECTORY = "data/t-0"
ONE_PER_SEGMENT = 100


def filled(disk: MemoryDisk, count: int = 5, **settings: object) -> Log:
    """A log with one record in each segment, at the times 1000, 2000, ..."""
    config = LogConfig(segment_bytes=ONE_PER_SEGMENT, **{"retention_ms": -1, **settings})  # type: ignore[arg-type]
    log = Log.open(disk, DIRECTORY, config, 0)
    for number in range(count):
        put(log, b"%d" % number * 20, timestamp=1000 * (number + 1))
    assert len(log.segment_infos()) == count
    return log


def files(disk: MemoryDisk, suffix: str) -> list[str]:
    return sorted(path for path in disk.nodes if path.endswith(suffix))


def test_by_age_of_the_newest_record() -> None:
    disk = MemoryDisk()
    log = filled(disk, retention_ms=1500)
    assert log.retention.apply(2500) is None
    job = log.retention.apply(3501)
    assert job is not None
    assert [segment.base_offset for segment in job.segments] == [0, 1]
    assert log.log_start_offset == 2
    assert len(files(disk, ".log.deleted")) == 2
    job.run()
    assert not files(disk, ".deleted")
    with pytest.raises(OffsetOutOfRange):
        log.read(1, 1)
    assert values(log) == [b"%d" % number * 20 for number in (2, 3, 4)]


def test_a_young_segment_protects_the_older_ones_behind_it() -> None:
    disk = MemoryDisk()
    config = LogConfig(segment_bytes=ONE_PER_SEGMENT, retention_ms=1000)
    log = Log.open(disk, DIRECTORY, config, 0)
    for timestamp in (1000, 9000, 1000):
        put(log, b"x" * 20, timestamp=timestamp)
    job = log.retention.apply(5000)
    assert job is not None
    assert [segment.base_offset for segment in job.segments] == [0]


def test_the_active_segment_goes_too_and_the_end_offset_stays() -> None:
    disk = MemoryDisk()
    log = filled(disk, retention_ms=1500)
    job = log.retention.apply(10**9)
    assert job is not None
    assert log.log_start_offset == log.log_end_offset == 5
    assert not log.read(5, 1)
    log.abandon()
    log = Log.open(disk, DIRECTORY, LogConfig(), 0)
    assert log.log_start_offset == log.log_end_offset == 5
    assert not files(disk, ".deleted")
    assert put(log, b"next").base_offset == 5
    assert log.retention.apply(0) is None


def test_by_size_never_takes_the_active_segment() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    size = log.segment_infos()[0].size_bytes
    log.config = LogConfig(segment_bytes=ONE_PER_SEGMENT, retention_ms=-1, retention_bytes=size * 3)
    job = log.retention.apply(0)
    assert job is not None
    assert log.log_start_offset == 2
    log.config = LogConfig(segment_bytes=ONE_PER_SEGMENT, retention_ms=-1, retention_bytes=0)
    assert log.retention.apply(0) is not None
    assert log.log_start_offset == 4
    assert log.retention.apply(0) is None


def test_by_size_as_much_stays_as_was_promised() -> None:
    """A segment goes only if the rest is still as large as `retention.bytes`."""
    log = filled(MemoryDisk())
    size = log.segment_infos()[0].size_bytes
    for kept_bytes, start in ((size * 4 + 1, 0), (size * 4, 1), (size * 3 + 1, 1), (size * 3, 2)):
        log.config = LogConfig(
            segment_bytes=ONE_PER_SEGMENT, retention_ms=-1, retention_bytes=kept_bytes
        )
        log.retention.apply(0)
        assert log.log_start_offset == start, kept_bytes


def test_nothing_behind_the_high_watermark() -> None:
    log = filled(MemoryDisk(), retention_ms=0)
    job = log.retention.apply(10**9, upto_offset=2)
    assert job is not None
    assert log.log_start_offset == 2


def test_not_for_compacted_topics() -> None:
    log = filled(MemoryDisk(), retention_ms=0, cleanup_policy=frozenset({"compact"}))
    assert log.retention.apply(10**9) is None


def test_a_refusing_disk_keeps_the_log_whole() -> None:
    disk = MemoryDisk()
    log = filled(disk, retention_ms=0)
    expected = values(log)
    left = 2

    def fail(name: str) -> None:
        nonlocal left
        if name == "rename":
            left -= 1
            if left < 0:
                raise OSError(errno.EIO, "Input/output error")

    disk.on_step = fail
    with pytest.raises(StorageError):
        log.retention.apply(10**9, upto_offset=4)
    disk.on_step = None
    assert values(log) == expected[log.log_start_offset :]
    assert log.retention.apply(10**9, upto_offset=4) is not None
    assert values(log) == expected[4:]


def test_delete_records_hides_at_once_and_survives_a_kill() -> None:
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, LogConfig(), 0)
    for number in range(5):
        put(log, b"%d" % number)
    assert log.retention.delete_records_before(3) is None, "no segment is wholly below"
    assert log.log_start_offset == 3
    assert log.reader.offset_for_timestamp(0) == (3, 1000, 0)
    log.abandon()
    log = Log.open(disk, DIRECTORY, LogConfig(), 0)
    assert log.log_start_offset == 3
    assert values(log) == [b"3", b"4"]
    assert log.retention.delete_records_before(2) is None
    assert log.log_start_offset == 3
    with pytest.raises(OffsetOutOfRange):
        log.retention.delete_records_before(6)


def test_records_that_were_lost_and_are_deleted_count_no_more() -> None:
    """Otherwise the log would seem to end before its start."""
    log = Log.open(MemoryDisk(), DIRECTORY, LogConfig(), 0)
    for number in range(5):
        put(log, b"%d" % number)
    log.damage.mark_lost(1, 3, "rot")
    assert log.retention.delete_records_before(2) is None
    assert [each[:2] for each in log.lost_ranges] == [(2, 3)]
    assert log.retention.delete_records_before(4) is None
    assert not list(log.lost_ranges)
    assert values(log) == [b"4"]


def test_delete_records_removes_segments_below() -> None:
    log = filled(MemoryDisk())
    job = log.retention.delete_records_before(3)
    assert job is not None
    assert [segment.base_offset for segment in job.segments] == [0, 1, 2]
    assert log.retention.delete_records_before(5) is not None
    assert [segment.base_offset for segment in log.segment_infos()] == [4]
    assert log.log_start_offset == log.log_end_offset == 5
