"""Where leader epochs began, after compaction has removed the first batches of an epoch.

A leader tells followers where an epoch ended. If it names a later offset, a follower that has
written something else there is not noticed.
"""

import pytest

from barnabas.log import Log, LogConfig
from tests.log.batches import batch, read_all
from tests.log.compaction.compacting import compacted
from tests.log.memory_disk import MemoryDisk
from tests.log.recovery.test_garbled_epochs import garble

_CONFIG = LogConfig(
    segment_bytes=300, cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.0
)
_NOW_MS = 1_000


def _opened(disk: MemoryDisk) -> Log:
    return Log.open(disk, "data/t-0", _CONFIG, 0)


def _compacted(disk: MemoryDisk) -> Log:
    """Epoch 0 begins at 0, 1 at 2, 2 at 4; no batch of epoch 1 is left, nor the first of 2."""
    log = _opened(disk)
    keys = [b"kept", b"a", b"a", b"a", b"a", b"a", b"a", b"a"]
    for key, epoch in zip(keys, [0, 0, 1, 1, 2, 2, 2, 2], strict=True):
        log.append(*batch([(0, key, b"x" * 60)]), epoch, 0)
    assert compacted(log, disk, _NOW_MS)
    assert [record.offset for record in read_all(log)] == [0, 5, 6, 7]
    return log


def test_a_garbled_epoch_behind_a_gap_leaves_known_where_epochs_began() -> None:
    disk = MemoryDisk()
    _compacted(disk).abandon()
    garble(disk, 5, 4096)
    again = _opened(disk)
    assert again.suspect_epochs_from == 5
    assert again.epochs.entries() == [(0, 0), (1, 2), (2, 4)]
    assert again.epoch_repair.adopt(3) == 1
    assert again.epochs.entries() == [(0, 0), (1, 2), (2, 4)]


@pytest.mark.parametrize("is_closed", [True, False])
def test_epochs_begin_where_they_began(*, is_closed: bool) -> None:
    disk = MemoryDisk()
    log = _compacted(disk)
    log.close() if is_closed else log.abandon()
    again = _opened(disk)
    assert again.epochs.entries() == [(0, 0), (1, 2), (2, 4)]
    assert again.end_offset_for_epoch(0) == (0, 2)
    assert again.end_offset_for_epoch(1) == (1, 4)
