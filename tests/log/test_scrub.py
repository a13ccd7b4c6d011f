"""Scrubbing segments that are not read."""

import pytest

from barnabas.log import Log, LogConfig, RecordsLost, Rot
from tests.log.batches import put, readable
from tests.log.compaction.compacting import compacted
from tests.log.memory_disk import MemoryDisk
from tests.log.recovery.test_holes import (
    COUNT,
    DIRECTORY,
    filled,
    flip,
    flip_length,
    opened,
    segments,
    value,
)


def scrubbed(log: Log, base_offset: int, step: int = 100) -> Rot | None:
    job = log.scrub.job(base_offset)
    assert job is not None
    while job.step(step):
        pass
    job.close()
    return job.rot if log.scrub.is_current(job.segment) else None


def test_whole_segments_are_whole() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=True)
    log = opened(disk)
    open_files = disk.open_files
    for segment in log.segment_infos():
        assert scrubbed(log, segment.base_offset) is None
    assert disk.open_files <= open_files + len(log.segment_infos()), "jobs close their files"
    assert log.scrub.job(COUNT) is None


@pytest.mark.parametrize("damage", [flip, flip_length])
@pytest.mark.parametrize("number", [0, 1, -1])
def test_rot_is_found_and_readers_are_told(damage: "type", number: int) -> None:
    disk = MemoryDisk()
    filled(disk, vouched=True)
    log = opened(disk)
    base_offset = log.segment_infos()[number].base_offset
    damage(disk, segments(disk)[number])
    rot = scrubbed(log, base_offset)
    assert rot is not None
    assert (rot.start, rot.end) == (base_offset, base_offset + 1)
    log.damage.mark_lost(*rot)
    with pytest.raises(RecordsLost):
        log.read(base_offset, 1000)
    assert put(log, b"more").base_offset == COUNT
    log.abandon()
    # The next opening looks into that segment, and takes the damage out of it.
    log = opened(disk)
    assert [each[:2] for each in log.lost_ranges] == [(base_offset, base_offset + 1)]
    rest = {offset: value(offset) for offset in range(COUNT) if offset != base_offset}
    assert readable(log) == {**rest, COUNT: b"more"}
    log.damage.accept_loss()
    for segment in log.segment_infos():
        job = log.scrub.job(segment.base_offset)
        assert job is not None
        while job.step(100):
            pass
        assert job.rot is None


def test_a_file_that_got_shorter() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=True)
    log = opened(disk)
    first, second = (segment.base_offset for segment in log.segment_infos()[:2])
    data = disk.nodes[segments(disk)[0]].data
    del data[len(data) // 2 :]
    rot = scrubbed(log, first)
    assert rot is not None
    assert first <= rot.start < rot.end == second


def test_what_was_cut_or_compacted_meanwhile_means_nothing() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=True)
    log = opened(disk)
    last = log.segment_infos()[-1].base_offset
    job = log.scrub.job(last)
    assert job is not None
    job.step(1)
    log.truncate_to(last + 1)
    while job.step(100):
        pass
    assert not log.scrub.is_current(job.segment)

    from tests.log.batches import batch

    config = LogConfig(segment_bytes=300, cleanup_policy=frozenset({"compact"}))
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, config, 0)
    for number in range(12):
        log.append(*batch([(number, b"%d" % (number % 2), value(number))]), 0, 0)
    log.flusher.flush()
    job = log.scrub.job(0)
    assert job is not None
    assert compacted(log, disk, 0)
    while job.step(100):
        pass
    assert job.rot is None, "it has read the old file"
    assert not log.scrub.is_current(job.segment)
