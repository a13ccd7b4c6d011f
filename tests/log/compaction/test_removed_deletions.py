"""Tombstones that compaction removes, and what the log knows of it afterwards.

A replica that was down meanwhile still has the records that they deleted.
"""

from barnabas.log import Log, LogConfig, checked_batches
from tests.log.batches import batch, read_all
from tests.log.compaction.compacting import run_job
from tests.log.memory_disk import MemoryDisk

_CONFIG = LogConfig(
    segment_bytes=200,
    cleanup_policy=frozenset({"compact"}),
    delete_retention_ms=1000,
    min_cleanable_dirty_ratio=0.0,
)


def _opened(disk: MemoryDisk) -> Log:
    return Log.open(disk, "data/t-0", _CONFIG, 0)


def _log_with_tombstone(disk: MemoryDisk) -> Log:
    """The key `a` is deleted at offset 1; some segments follow."""
    log = _opened(disk)
    for number, (key, value) in enumerate([(b"a", b"1"), (b"a", None), *[(b"b", b"x" * 90)] * 4]):
        log.append(*batch([(number, key, value)]), 0, 0)
    return log


def _compacted(log: Log, disk: MemoryDisk, now_ms: int, removable_upto: int | None = None) -> None:
    job = log.compaction.plan(now_ms, removable_upto=removable_upto)
    assert job is not None
    run_job(log, job, disk)


def test_a_log_keeps_how_far_deletions_were_removed() -> None:
    disk = MemoryDisk()
    log = _log_with_tombstone(disk)
    _compacted(log, disk, 5000)
    assert read_all(log)[0].offset == 1
    assert log.compaction_progress.deletions_upto == 0
    _compacted(log, disk, 6000)
    assert read_all(log)[0].offset > 1
    assert log.compaction_progress.deletions_upto == 2
    log.abandon()
    assert _opened(disk).compaction_progress.deletions_upto == 2, "a kill changes nothing"


def test_a_tombstone_that_a_live_replica_lacks_stays() -> None:
    disk = MemoryDisk()
    log = _log_with_tombstone(disk)
    _compacted(log, disk, 5000)
    _compacted(log, disk, 6000, removable_upto=1)
    assert read_all(log)[0].offset == 1
    assert log.compaction_progress.deletions_upto == 0
    assert log.compaction.plan(6001) is None, "it is not tried again and again"
    _compacted(log, disk, 6000 + 60_000, removable_upto=2)
    assert read_all(log)[0].offset > 1


def test_without_its_state_a_log_may_have_removed_any() -> None:
    disk = MemoryDisk()
    log = _log_with_tombstone(disk)
    last = log.segment_infos()[-1].base_offset
    log.close()
    disk.unlink("data/t-0/log.state")
    assert _opened(disk).compaction_progress.deletions_upto == last > 1


def test_a_copy_of_a_compacted_log_may_lack_what_its_leader_has_removed() -> None:
    disk, copied_disk = MemoryDisk(), MemoryDisk()
    log, copied = _log_with_tombstone(disk), Log.open(copied_disk, "data/t-0", _CONFIG, 0)
    _compacted(log, disk, 5000)
    _compacted(log, disk, 6000)
    while copied.log_end_offset < log.log_end_offset:
        records = memoryview(bytearray(log.read(copied.log_end_offset, 1 << 20)))
        copied.append_as_follower(*checked_batches(records, copied.log_end_offset), 0)
    assert 2 <= copied.compaction_progress.deletions_upto <= copied.log_end_offset
    copied.truncate_to(1)
    assert copied.compaction_progress.deletions_upto <= 1
