"""Records without a timestamp are never taken for records of 1970."""

import pytest

from barnabas.log import Log, LogConfig
from barnabas.records.batch import BatchHeader, parse_header, patch_max_timestamp
from barnabas.records.encode import encode_batch
from tests.log.batches import put
from tests.log.memory_disk import MemoryDisk

DIRECTORY = "data/t-0"
NOW = 1_700_000_000_000
DAY_MS = 86_400_000


def librdkafka_batch() -> tuple[memoryview, list[tuple[int, BatchHeader]]]:
    """As librdkafka sends it with `timestamp=-1`, and as we stored it once."""
    data = memoryview(encode_batch([(-1, b"k", b"v" * 30, ())]))
    header = patch_max_timestamp(data, parse_header(data), 0)
    assert (header.base_timestamp, header.max_timestamp) == (-1, 0)
    assert header == parse_header(data)
    return data, [(0, header)]


@pytest.fixture
def disk() -> MemoryDisk:
    disk = MemoryDisk()
    disk.now_ms = NOW
    return disk


def filled(disk: MemoryDisk, count: int = 3) -> Log:
    log = Log.open(disk, DIRECTORY, LogConfig(segment_bytes=110, retention_ms=DAY_MS), NOW)
    for _ in range(count):
        log.append(*librdkafka_batch(), 0, NOW)
    assert len(log.segment_infos()) == count
    return log


def test_retention_goes_by_the_age_of_the_file(disk: MemoryDisk) -> None:
    log = filled(disk)
    assert log.retention.apply(NOW + DAY_MS) is None
    assert log.retention.apply(NOW + DAY_MS + 1) is not None


@pytest.mark.parametrize("clean", [True, False])
def test_also_after_a_restart(disk: MemoryDisk, clean: bool) -> None:
    log = filled(disk)
    if clean:
        log.close()
    reopened = Log.open(disk, DIRECTORY, log.config, NOW)
    assert reopened.retention.apply(NOW + 1) is None
    assert [segment.max_timestamp for segment in reopened.segments] == [-1, -1, -1]


def test_also_when_an_older_version_wrote_down_1970(disk: MemoryDisk) -> None:
    log = filled(disk)
    log.close()
    path = f"{DIRECTORY}/log.state"
    state = disk.read_file(path).splitlines()[0]  # older versions wrote no checksum
    aged = state.replace(b",-1,-1,", b",0,0,")
    assert aged != state
    disk.replace_file(path, aged)
    reopened = Log.open(disk, DIRECTORY, log.config, NOW)
    assert [segment.max_timestamp for segment in reopened.segments] == [0, 0, 0]
    assert reopened.retention.apply(NOW + 1) is None


def test_a_segment_is_rolled_by_the_clock(disk: MemoryDisk) -> None:
    log = Log.open(disk, DIRECTORY, LogConfig(segment_ms=DAY_MS), NOW)
    log.append(*librdkafka_batch(), 0, NOW)
    put(log, b"x", timestamp=NOW, now=NOW)
    assert len(log.segment_infos()) == 1
    log.append(*librdkafka_batch(), 0, NOW + DAY_MS + 1)
    assert len(log.segment_infos()) == 2


def test_searches_by_time_do_not_find_them(disk: MemoryDisk) -> None:
    log = filled(disk)
    assert log.reader.offset_for_timestamp(0) is None
    assert log.reader.offset_of_max_timestamp() is None
    put(log, b"x" * 40, timestamp=NOW, now=NOW)
    for timestamp in (0, 1, NOW):
        assert log.reader.offset_for_timestamp(timestamp) == (3, NOW, 0)
    assert log.reader.offset_of_max_timestamp() == (3, NOW, 0)


def test_compaction_waits_for_its_lag_by_the_clock(disk: MemoryDisk) -> None:
    config = LogConfig(
        segment_bytes=110,
        cleanup_policy=frozenset({"compact"}),
        min_compaction_lag_ms=DAY_MS,
        min_cleanable_dirty_ratio=0.0,
    )
    log = Log.open(disk, DIRECTORY, config, NOW)
    for _ in range(3):
        log.append(*librdkafka_batch(), 0, NOW)
    assert log.compaction.urgency(NOW + DAY_MS - 1) == 0
    assert log.compaction.urgency(NOW + DAY_MS) > 0
