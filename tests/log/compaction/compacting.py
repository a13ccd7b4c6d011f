"""Compaction as a node goes about it, but here and now."""

from barnabas.log import CompactionJob, CompactionLimits, Log, compact
from barnabas.log.storage import Disk

SMALL = CompactionLimits(key_map_bytes=1024)


def run_job(log: Log, job: CompactionJob, disk: Disk) -> None:
    """Do what a job asks for, and put what comes of it in its place. Raises StorageError."""
    result = compact(job, disk)
    swap = log.compaction.begin_swap(job, result)
    while swap.step():
        swap.settle()
    deletion = log.compaction.end_swap(swap)
    if deletion is not None:
        deletion.run()
        assert deletion.error is None


def compacted(
    log: Log,
    disk: Disk,
    now_ms: int,
    *,
    upto_offset: int | None = None,
    limits: CompactionLimits | None = None,
) -> bool:
    """Whether there was anything to do, which is done now."""
    job = log.compaction.plan(now_ms, upto_offset=upto_offset, limits=limits)
    if job is None:
        return False
    run_job(log, job, disk)
    return True
