"""When a log is due for compaction."""

from dataclasses import replace

from barnabas.log import Log, LogConfig
from barnabas.log.compaction import OVERDUE
from tests.log.batches import batch
from tests.log.compaction.compacting import compacted
from tests.log.memory_disk import MemoryDisk

CONFIG = LogConfig(
    segment_bytes=1000,
    cleanup_policy=frozenset({"compact"}),
    delete_retention_ms=1000,
)
NOW = 1_000_000


class Filled:
    """A log that takes one record of some 500 bytes after the other, two to a segment."""

    def __init__(self, config: LogConfig = CONFIG) -> None:
        self.disk = MemoryDisk()
        self.log = Log.open(self.disk, "data/t-0", config, 0)

    def put(self, key: bytes, timestamp: int = NOW, size: int = 400) -> None:
        self.log.append(*batch([(timestamp, key, b"v" * size)]), 0, NOW)

    def compact(self, now_ms: int = NOW) -> bool:
        return compacted(self.log, self.disk, now_ms)


def test_a_log_that_was_never_compacted_is_all_dirty() -> None:
    filled = Filled()
    filled.put(b"a")
    filled.put(b"b")
    assert filled.log.compaction.urgency(NOW) == 0, "only finished segments count"
    filled.put(b"c")
    assert filled.log.compaction.urgency(NOW) == 1


def test_it_waits_until_enough_is_dirty() -> None:
    filled = Filled()
    for number in range(9):
        filled.put(b"%d" % number)
    assert filled.compact()
    seen = []
    while not filled.log.compaction.urgency(NOW):
        filled.put(b"0")
        seen.append(filled.log.compaction.urgency(NOW))
    assert 8 <= len(seen) <= 10, "as much as there was, and a bit more to finish the segment"
    assert 0.5 < seen[-1] < 0.6
    filled.log.config = replace(CONFIG, min_cleanable_dirty_ratio=0.9)
    assert filled.log.compaction.urgency(NOW) == 0
    filled.log.config = replace(CONFIG, min_cleanable_dirty_ratio=0.0)
    assert filled.compact()
    assert not filled.compact()


def test_a_ratio_of_one_is_never_reached() -> None:
    filled = Filled(replace(CONFIG, min_cleanable_dirty_ratio=1.0))
    for _ in range(10):
        filled.put(b"a")
    assert not filled.compact()


def test_records_may_be_too_young() -> None:
    filled = Filled(replace(CONFIG, min_compaction_lag_ms=5000))
    for number in range(8):
        filled.put(b"a", NOW + number)
    assert filled.log.compaction.urgency(NOW + 5000) == 0
    job = filled.log.compaction.plan(NOW + 5003)
    assert job is not None
    assert job.sources[-1].next_offset == 4, "the segments with offsets 0 to 3"


def test_records_may_be_too_old_to_wait() -> None:
    filled = Filled(replace(CONFIG, max_compaction_lag_ms=5000))
    for number in range(9):
        filled.put(b"%d" % number)
    assert filled.compact()
    filled.put(b"0", NOW + 1000)
    assert filled.log.compaction.urgency(NOW + 6000) == 0
    filled.log.compaction.roll_if_due(NOW + 5000)
    end = filled.log.log_end_offset
    assert filled.log.segment_infos()[-1].base_offset < end, "nothing is that old yet"
    filled.log.compaction.roll_if_due(NOW + 5001)
    assert filled.log.segment_infos()[-1].base_offset == end
    assert filled.log.compaction.urgency(NOW + 5001) == OVERDUE
    assert filled.compact(NOW + 5001)
    assert filled.log.compaction.urgency(NOW + 10**9) == 0, "what is compacted waits for nothing"
    filled.log.compaction.roll_if_due(NOW + 10**9)
    assert filled.log.segment_infos()[-1].base_offset == end, "an empty segment is not finished"


def test_a_topic_that_is_only_deleted_does_not_roll() -> None:
    filled = Filled(LogConfig(max_compaction_lag_ms=1))
    filled.put(b"a")
    filled.log.compaction.roll_if_due(NOW + 10**9)
    assert len(filled.log.segment_infos()) == 1


def test_tombstones_go_even_if_nothing_follows() -> None:
    filled = Filled()
    filled.log.append(*batch([(NOW, b"a", None), (NOW, b"b", b"v")]), 0, NOW)
    filled.put(b"c", size=900)
    filled.put(b"d")
    assert filled.compact()
    assert filled.log.compaction.urgency(NOW + 999) == 0
    assert filled.log.compaction.urgency(NOW + 1000) == OVERDUE
    filled.log.close()
    filled.log = Log.open(filled.disk, "data/t-0", CONFIG, 0)
    assert filled.compact(NOW + 1000), "it is remembered"
    assert filled.log.compaction.urgency(NOW + 10**9) == 0


def test_both_policies() -> None:
    """What is too old goes with its segment, the rest is compacted."""
    both = replace(CONFIG, cleanup_policy=frozenset({"compact", "delete"}), retention_ms=5000)
    filled = Filled(both)
    for number in range(4):
        filled.put(b"old", NOW + number)
    for number in range(6):
        filled.put(b"new", NOW + 4000 + number)
    assert filled.log.retention.apply(NOW + 6000) is not None
    assert filled.log.log_start_offset == 4
    assert filled.compact(NOW + 6000)
    assert filled.log.log_start_offset == 4
    assert filled.log.read(4, 10**6)
    assert filled.log.size_bytes < 6 * 400
