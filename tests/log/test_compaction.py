"""Compaction against a dict, with a crash between any two operations on the disk."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.log import Log, LogConfig, StorageError
from barnabas.records.compression import Compression
from barnabas.records.record import Record
from tests.log.batches import Row, batch, read_all
from tests.log.memory_disk import Crash, CrashAfter, MemoryDisk

DIRECTORY = "data/t-0"
CONFIG = LogConfig(
    segment_bytes=400,
    index_interval_bytes=100,
    cleanup_policy=frozenset({"compact"}),
    delete_retention_ms=1000,
)
NOW = 5000

rows = st.lists(
    st.tuples(
        st.sampled_from([100, NOW]),  # a tombstone of long ago, or one of just now
        st.sampled_from([b"a", b"b", b"c", b"d", b"", None]),
        st.one_of(st.none(), st.binary(max_size=60)),
    ),
    min_size=1,
    max_size=5,
)
histories = st.lists(st.tuples(rows, st.sampled_from(list(Compression))), min_size=1, max_size=25)


def filled(disk: MemoryDisk, history: list[tuple[list[Row], Compression]]) -> Log:
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    for number, (batch_rows, codec) in enumerate(history):
        made = batch(
            batch_rows, compression=codec, producer_id=3, producer_epoch=0, base_sequence=number
        )
        log.append(*made, 0, 0)
    return log


def compact(log: Log, now: int = NOW) -> bool:
    job = log.plan_compaction(now)
    if job is None:
        return False
    job.run()
    deletion = log.complete_compaction(job)
    if deletion is not None:
        deletion.run()
        assert deletion.error is None
    return True


def state_of(records: list[Record]) -> dict[bytes | None, bytes | None]:
    """What a reader of the whole topic ends up with; tombstones count as absence."""
    state: dict[bytes | None, bytes | None] = {}
    for record in records:
        if record.key is not None:
            state[record.key] = record.value
    return {key: value for key, value in state.items() if value is not None}


@given(history=histories)
@settings(max_examples=120, deadline=None)
def test_the_last_record_of_every_key_stays_where_it_was(
    history: list[tuple[list[Row], Compression]],
) -> None:
    disk = MemoryDisk()
    log = filled(disk, history)
    before = read_all(log)
    sealed_end = log.segments[-1].base_offset
    bases = [0]
    for batch_rows, _ in history:
        bases.append(bases[-1] + len(batch_rows))
    last_batch = max((base for base in bases if base < sealed_end), default=0)
    end = log.log_end_offset
    compact(log)
    after = read_all(log)
    assert after == [record for record in before if record in after], "same records, same order"
    assert (log.log_start_offset, log.log_end_offset) == (0, end)
    latest = {record.key: record.offset for record in before if record.offset < sealed_end}
    kept = {record.offset for record in after}
    tail = [record.offset for record in before if record.offset >= sealed_end]
    assert kept.issuperset(tail)
    assert kept.issuperset(range(last_batch, sealed_end)), "the last finished batch stays"
    for record in before:
        if record.offset >= last_batch:
            continue
        is_latest = record.key is not None and latest[record.key] == record.offset
        is_expired = record.value is None and record.timestamp < NOW - 1000
        assert (record.offset in kept) == (is_latest and not is_expired)
    assert state_of(after) == state_of(before)
    for offset in range(end):
        assert read_all(log, offset) == [r for r in after if r.offset >= offset]
    assert not compact(log), "nothing new was finished"
    log.close()
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    assert log.recovery is None
    assert read_all(log) == after


HISTORY: list[tuple[list[Row], Compression]] = [
    ([(100, b"%d" % (number % 3), b"%d" % number * 12)] * 2, Compression.NONE)
    for number in range(20)
]
# A key whose tombstone expires, with its older values in segments before.
HISTORY[1] = ([(100, b"gone", b"x" * 50)], Compression.NONE)
HISTORY[5] = ([(100, b"gone", b"y" * 50)], Compression.NONE)
HISTORY[9] = ([(100, b"gone", None)], Compression.NONE)


@pytest.mark.parametrize("power", [False, True])
def test_a_crash_between_any_two_steps_changes_nothing_that_counts(power: bool) -> None:
    steps = 0
    finished = False
    expected = None
    while not finished:
        disk = MemoryDisk()
        log = filled(disk, HISTORY)
        flush = log.prepare_flush(everything=True)
        assert flush is not None
        flush.run()
        log.complete_flush(flush)
        log.checkpoint()
        before = read_all(log)
        disk.on_step = CrashAfter(steps)
        try:
            assert compact(log)
            finished = True
            expected = read_all(log)
        except Crash:
            steps += 1
        disk.on_step = None
        log.abandon()
        if power:
            disk.power_loss(Random(steps))
        log = Log.open(disk, DIRECTORY, CONFIG, 0)
        after = read_all(log)
        for segment, following in pairwise(log.segments):
            assert segment.next_offset <= following.base_offset, "they do not overlap"
        assert after == [record for record in before if record in after]
        assert state_of(after) == state_of(before)
        assert b"gone" not in state_of(after)
        assert log.log_end_offset == 37
        assert not [path for path in disk.nodes if path.endswith((".cleaned", ".deleted"))]
        compact(log)
        done = read_all(log)
        assert state_of(done) == state_of(before)
        assert len(done) < len(before)
        log.append(*batch([(NOW, b"new", b"value")]), 0, 0)
        assert read_all(log)[-1].key == b"new"
    assert steps > 20, "the crash really went through the steps"
    assert expected is not None


def test_small_outputs_become_one_segment() -> None:
    log = filled(MemoryDisk(), HISTORY)
    before = len(log.segments)
    assert before > 5
    compact(log)
    assert len(log.segments) <= 3
    assert log.segments[0].base_offset == 0


def test_an_unchanged_segment_is_left_alone() -> None:
    disk = MemoryDisk()
    history: list[tuple[list[Row], Compression]] = [
        ([(100, b"key %d" % number, b"x" * 250)], Compression.NONE) for number in range(5)
    ]
    log = filled(disk, history)
    nodes = {path: node for path, node in disk.nodes.items() if path.endswith(".log")}
    compact(log)
    assert {path: node for path, node in disk.nodes.items() if path.endswith(".log")} == nodes
    assert not [path for path in disk.nodes if path.endswith(".cleaned")]


def test_minimum_lag_keeps_young_segments() -> None:
    log = filled(MemoryDisk(), HISTORY)
    log.config = LogConfig(cleanup_policy=frozenset({"compact"}), min_compaction_lag_ms=NOW)
    assert log.plan_compaction(100) is not None, "a lag longer than the clock is old is no lag"
    assert log.plan_compaction(NOW + 99) is None
    assert log.plan_compaction(NOW + 100) is not None


def test_only_compacted_topics() -> None:
    log = filled(MemoryDisk(), HISTORY)
    log.config = LogConfig()
    assert log.plan_compaction(NOW) is None


def test_sources_that_are_deleted_meanwhile_void_the_job() -> None:
    disk = MemoryDisk()
    log = filled(disk, HISTORY)
    job = log.plan_compaction(NOW)
    assert job is not None
    job.run()
    log.delete_records_before(8)
    after_delete = read_all(log)
    assert log.complete_compaction(job) is None
    assert read_all(log) == after_delete
    assert not [path for path in disk.nodes if path.endswith(".cleaned")]


def test_a_damaged_source_is_not_compacted() -> None:
    disk = MemoryDisk()
    log = filled(disk, HISTORY)
    disk.nodes[f"{DIRECTORY}/{0:020d}.log"].data[70] ^= 1
    job = log.plan_compaction(NOW)
    assert job is not None
    job.run()
    with pytest.raises(StorageError, match="CRC"):
        log.complete_compaction(job)
    assert len(read_all_raw(log)) > 0


def read_all_raw(log: Log) -> bytes:
    return b"".join(
        bytes(log.read(segment.base_offset, 1 << 20)) for segment in log.segments if segment[2]
    )


def test_a_full_disk_leaves_the_log_as_it_was() -> None:
    disk = MemoryDisk()
    log = filled(disk, HISTORY)
    before = read_all(log)
    disk.capacity = disk.used() + 300
    job = log.plan_compaction(NOW)
    assert job is not None
    job.run()
    with pytest.raises(StorageError, match="No space"):
        log.complete_compaction(job)
    assert read_all(log) == before
    disk.capacity = 1 << 30
    assert compact(log)
    assert state_of(read_all(log)) == state_of(before)


def test_producers_are_known_after_compaction() -> None:
    disk = MemoryDisk()
    log = filled(disk, HISTORY)
    compact(log)
    log.abandon()
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    again = batch(HISTORY[-1][0], producer_id=3, producer_epoch=0, base_sequence=19)
    assert log.find_duplicate(again[1][0][1]) is not None
