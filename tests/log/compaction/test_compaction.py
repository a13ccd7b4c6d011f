"""Compaction against a dict, with transactions and crashes between any two disk operations."""

from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.log import CompactionLimits, Log, LogConfig, StorageError, checked_batches, compact
from barnabas.records.compression import Compression
from tests.log.batches import Row, batch, read_all
from tests.log.compaction.compacted_model import (
    IDEMPOTENT_ID,
    PLAIN,
    TRANSACTIONAL_IDS,
    Story,
    batches_of,
    committed_records,
    producers_of,
    state_of,
)
from tests.log.compaction.compacting import SMALL, compacted, run_job
from tests.log.memory_disk import Crash, CrashAfter, MemoryDisk
from tests.support.tier import examples

DIRECTORY = "data/t-0"
RETENTION_MS = 1000
CONFIG = LogConfig(
    segment_bytes=300,
    index_interval_bytes=100,
    cleanup_policy=frozenset({"compact"}),
    delete_retention_ms=RETENTION_MS,
    min_cleanable_dirty_ratio=0.0,
)
NOW = 5000


class Append(NamedTuple):
    rows: list[Row]
    producer_id: int
    compression: Compression


class End(NamedTuple):
    producer_id: int
    commit: bool


class Compact(NamedTuple):
    after_ms: int
    limits: CompactionLimits | None
    crash_after: int | None
    """So many operations on the disk, and then it is over."""
    power: bool


rows = st.lists(
    st.tuples(
        st.integers(90, 110),
        st.sampled_from([b"a", b"b", b"", None]),
        st.one_of(st.none(), st.binary(max_size=60)),
    ),
    min_size=1,
    max_size=5,
)
appends = st.builds(
    Append,
    rows,
    st.sampled_from([PLAIN, PLAIN, IDEMPOTENT_ID, *TRANSACTIONAL_IDS]),
    st.sampled_from(list(Compression)),
)
ends = st.builds(End, st.sampled_from(TRANSACTIONAL_IDS), st.booleans())
compactions = st.builds(
    Compact,
    st.sampled_from([0, 10, RETENTION_MS, 3 * RETENTION_MS]),
    st.sampled_from([None, SMALL, CompactionLimits(key_map_bytes=64)]),
    st.one_of(st.none(), st.integers(0, 40)),
    st.booleans(),
)
histories = st.lists(st.one_of(appends, appends, appends, ends, ends, compactions), max_size=40)
quiet_histories = st.lists(st.one_of(appends, appends, ends), min_size=8, max_size=40)


def opened(disk: MemoryDisk) -> Log:
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    log.committed_offset = log.log_end_offset
    return log


def checked(log: Log, story: Story) -> None:
    """All that has to be true of a log at any time."""
    stable = story.stable_offset()
    unstable = log.producer_state.first_unstable_offset
    assert (log.log_end_offset if unstable is None else unstable) == stable
    assert state_of(committed_records(log, 0, stable)) == story.state()
    told = {record.offset: record for record in story.told}
    for record in read_all(log):
        known = told[record.offset]
        assert (record.key, record.value) == (known.key, known.value), "offsets never change"
    for segment, following in pairwise(log.segment_infos()):
        assert segment.next_offset == following.base_offset, "nothing is missing between them"


def crashed(disk: MemoryDisk, story: Story, step: Compact, now_ms: int) -> None:
    """Compact, or as much of it as is done before the crash."""
    log = story.log
    if step.power:
        log.flusher.flush()
        log.checkpoint()
    disk.on_step = None if step.crash_after is None else CrashAfter(step.crash_after)
    try:
        compacted(log, disk, now_ms, limits=step.limits)
    except Crash:
        disk.on_step = None
        log.abandon()
        if step.power:
            disk.power_loss(Random(step.crash_after))
        story.log = opened(disk)
        leftovers = (".cleaned", ".deleted", ".tmp")
        assert not [path for path in disk.nodes if path.endswith(leftovers)]
    disk.on_step = None


@given(history=histories, bumps_epochs=st.booleans())
@settings(max_examples=examples(100))
def test_a_reader_of_committed_records_never_notices(
    history: list[Append | End | Compact], bumps_epochs: bool
) -> None:
    disk = MemoryDisk()
    story = Story(opened(disk), bumps_epochs)
    now_ms = NOW
    for step in history:
        match step:
            case Append():
                story.append(*step)
            case End():
                story.end(step.producer_id, commit=step.commit)
            case Compact():
                now_ms += step.after_ms
                known = producers_of(story.log)
                end = story.log.log_end_offset
                crashed(disk, story, step, now_ms)
                assert story.log.log_end_offset == end
                assert producers_of(story.log) == known
                checked(story.log, story)
    for after_ms in (0, RETENTION_MS, 2 * RETENTION_MS):
        compacted(story.log, disk, now_ms + after_ms)
        checked(story.log, story)
    story.log.close()
    log = opened(disk)
    assert log.recovery is None
    checked(log, story)


@given(history=quiet_histories)
@settings(max_examples=examples(40))
def test_who_is_in_the_middle_of_reading_hears_of_deletions(history: list[Append | End]) -> None:
    """One part read before, the rest after, as long as it does not take `delete.retention.ms`."""
    disk = MemoryDisk()
    story = told(disk, history)
    log, stable = story.log, story.stable_offset()
    middles = [header.next_offset for header, _ in batches_of(log, 0, stable)]
    read_before = {middle: committed_records(log, 0, middle) for middle in middles}
    compacted(log, disk, NOW)
    compacted(log, disk, NOW + RETENTION_MS - 1)
    for middle, first in read_before.items():
        assert state_of(first + committed_records(log, middle, stable)) == story.state()


@given(history=quiet_histories)
@settings(max_examples=examples(40))
def test_what_is_left(history: list[Append | End]) -> None:
    """Of the finished part: the last of each key, and nothing that was aborted or is long gone."""
    disk = MemoryDisk()
    story = told(disk, history)
    log = story.log
    job = log.compaction.plan(NOW)
    if job is None:
        return
    end = job.sources[-1].next_offset
    run_job(log, job, disk)
    latest = {
        record.key: record
        for record in story.told
        if record.offset < end and record.is_committed and record.key is not None
    }
    expected = sorted(record.offset for record in latest.values())
    assert [record.offset for record in read_all(log) if record.offset < end] == expected
    entries = log.producer_state.aborted_transactions(0, end)
    assert not [aborted for aborted in entries if aborted.last_offset < end]
    now_ms, passes = NOW, 0
    while compacted(log, disk, now_ms := now_ms + RETENTION_MS):
        passes += 1
    assert passes <= 3, "tombstones go, then the markers of their transactions"
    assert [record.offset for record in read_all(log) if record.offset < end] == sorted(
        record.offset for record in latest.values() if record.value is not None
    )


@given(history=quiet_histories, bumps_epochs=st.booleans())
@settings(max_examples=examples(50))
def test_a_replica_that_copies_it_knows_every_producer(
    history: list[Append | End], bumps_epochs: bool
) -> None:
    disk = MemoryDisk()
    story = told(disk, history, bumps_epochs=bumps_epochs)
    log = story.log
    for now_ms in (NOW, NOW + RETENTION_MS, NOW + 3 * RETENTION_MS):
        compacted(log, disk, now_ms)
    copy = Log.open(MemoryDisk(), DIRECTORY, CONFIG, 0)
    while copy.log_end_offset < log.log_end_offset:
        data = memoryview(bytearray(log.read(copy.log_end_offset, 1 << 20)))
        copy.append_as_follower(*checked_batches(data, copy.log_end_offset), 0)
        copy.committed_offset = copy.log_end_offset
    assert producers_of(copy) == producers_of(log)
    assert copy.producer_state.first_unstable_offset == log.producer_state.first_unstable_offset
    stable = story.stable_offset()
    assert state_of(committed_records(copy, 0, stable)) == story.state()


def told(disk: MemoryDisk, history: list[Append | End], *, bumps_epochs: bool = True) -> Story:
    story = Story(opened(disk), bumps_epochs)
    for step in history:
        if isinstance(step, Append):
            story.append(*step)
        else:
            story.end(step.producer_id, commit=step.commit)
    for producer_id in TRANSACTIONAL_IDS:  # an open one would hold up all that follows it
        story.end(producer_id, commit=producer_id == TRANSACTIONAL_IDS[0])
    return story


# -- every single crash ----------------------------------------------------------------------------


def long_story(disk: MemoryDisk) -> Story:
    """Keys that are written again and again, one that is deleted, one that was never committed."""
    story = Story(opened(disk))
    for number in range(15):
        story.append([(100, b"%d" % (number % 3), b"%d" % number * 12)] * 2, IDEMPOTENT_ID)
        if number in (1, 5):
            story.append([(100, b"gone", b"x" * 50)])
        if number == 9:
            story.append([(100, b"gone", None)])
        if number in (4, 8, 12):
            story.append([(100, b"aborted", b"y" * 40), (100, b"0", b"never")], 7)
            story.append([(100, b"committed", b"%d" % number)], 8)
        if number in (6, 10, 14):
            story.end(7, commit=False)
            story.end(8, commit=True)
    return story


@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize("passes", [1, 2])
def test_a_crash_between_any_two_steps_changes_nothing_that_counts(
    power: bool, passes: int
) -> None:
    """In the first pass, or in the second, in which tombstones and markers go."""
    steps = 0
    finished = False
    while not finished:
        disk = MemoryDisk()
        story = long_story(disk)
        log, now_ms = story.log, NOW
        if passes == 2:
            assert compacted(log, disk, now_ms)
            now_ms += RETENTION_MS
        log.flusher.flush()
        log.checkpoint()
        before, end, known = log.size_bytes, log.log_end_offset, producers_of(log)
        disk.on_step = CrashAfter(steps)
        try:
            assert compacted(log, disk, now_ms)
            finished = True
        except Crash:
            steps += 1
        disk.on_step = None
        log.abandon()
        if power:
            disk.power_loss(Random(steps))
        story.log = log = opened(disk)
        assert log.log_end_offset == end
        assert producers_of(log) == known
        checked(log, story)
        assert not [path for path in disk.nodes if path.endswith((".cleaned", ".deleted"))]
        compacted(log, disk, now_ms)
        checked(log, story)
        assert log.size_bytes < before
        story.append([(NOW, b"new", b"value")])
        assert read_all(log)[-1].key == b"new"
    assert steps > 20, "the crash really went through the steps"


# -- one by one ------------------------------------------------------------------------------------


def filled(disk: MemoryDisk, count: int = 20, value_size: int = 24) -> Story:
    story = Story(opened(disk))
    for number in range(count):
        story.append([(100, b"%d" % (number % 3), b"%02d" % number * (value_size // 2))] * 2)
    return story


def offsets(log: Log) -> list[int]:
    return [record.offset for record in read_all(log)]


def test_small_outputs_become_one_segment() -> None:
    disk = MemoryDisk()
    log = filled(disk).log
    assert len(log.segment_infos()) > 5
    assert compacted(log, disk, NOW)
    assert len(log.segment_infos()) <= 3
    assert log.segment_infos()[0].base_offset == 0


def test_an_unchanged_segment_is_left_alone() -> None:
    disk = MemoryDisk()
    story = Story(opened(disk))
    for number in range(5):
        story.append([(100, b"key %d" % number, b"x" * 250)])
    nodes = {path: node for path, node in disk.nodes.items() if path.endswith(".log")}
    written: list[str] = []
    disk.on_step = written.append
    assert compacted(story.log, disk, NOW)
    assert {path: node for path, node in disk.nodes.items() if path.endswith(".log")} == nodes
    assert set(written) == {"sync", "sync_directory"}, "nor is a copy made of it"


def test_a_segment_that_is_all_superseded_keeps_its_place() -> None:
    disk = MemoryDisk()
    story = Story(opened(disk))
    for number in range(6):
        story.append([(100, b"key", b"%d" % number * 300)])
    log = story.log
    assert compacted(log, disk, NOW)
    assert offsets(log) == [4, 5]
    assert log.read(0, 1 << 20), "a reader from the start finds its way"
    sizes = [segment.size_bytes for segment in log.segment_infos()]
    assert not compacted(log, disk, NOW)
    assert [segment.size_bytes for segment in log.segment_infos()] == sizes


def test_a_follower_gets_to_the_end_of_what_is_compacted() -> None:
    """The active segment is empty, and the last finished batch is one that went."""
    disk = MemoryDisk()
    story = Story(opened(disk))
    story.append([(100, b"key", b"value")])
    story.append([(100, None, b"no key")])
    log = story.log
    log.config = LogConfig(
        cleanup_policy=frozenset({"compact"}),
        max_compaction_lag_ms=10,
        min_cleanable_dirty_ratio=0.0,
    )
    log.compaction.roll_if_due(NOW)
    assert compacted(log, disk, NOW)
    assert offsets(log) == [0]
    assert batches_of(log, 0, 2)[-1][0].next_offset == log.log_end_offset == 2


def test_timestamps_stay_when_a_tombstone_gets_its_time() -> None:
    disk = MemoryDisk()
    story = Story(opened(disk))
    story.append([(90, b"a", None), (110, b"b", b"value"), (95, b"a", None)])
    story.append([(100, b"c", b"x" * 400)])
    log = story.log
    assert compacted(log, disk, NOW)
    ((header, _), *_) = batches_of(log, 0, 3)
    assert header.delete_horizon_ms == NOW + RETENTION_MS
    assert [(r.offset, r.timestamp, r.key, r.value) for r in read_all(log)[:2]] == [
        (1, 110, b"b", b"value"),
        (2, 95, b"a", None),
    ]
    assert header.max_timestamp == 110
    found = log.reader.offset_for_timestamp(105)
    assert found is not None
    assert found.offset == 1
    assert not compacted(log, disk, NOW + RETENTION_MS - 1)
    assert compacted(log, disk, NOW + RETENTION_MS)
    assert offsets(log) == [1, 3]


def test_the_time_of_what_went_does_not_count() -> None:
    """The newest record is superseded by one with an older time."""
    disk = MemoryDisk()
    story = Story(opened(disk))
    story.append([(900, b"key", b"x" * 400)], IDEMPOTENT_ID)
    story.append([(800, b"other", b"y" * 400)])
    story.append([(100, b"key", b"z" * 400)])
    story.append([(100, b"more", b"z" * 400)])
    assert compacted(story.log, disk, NOW)
    for log in (story.log, opened(disk)):
        found = log.reader.offset_of_max_timestamp()
        assert found is not None
        assert (found.offset, found.timestamp) == (1, 800)
        log.abandon()


def test_snapshots_do_not_pile_up() -> None:
    disk = MemoryDisk()
    story = Story(opened(disk))
    for number in range(200):
        story.append([(100, b"key", b"%d" % number * 200)], IDEMPOTENT_ID)
        compacted(story.log, disk, NOW)
    snapshots = [path for path in disk.nodes if path.endswith(".snapshot")]
    assert 1 <= len(snapshots) <= len(story.log.segment_infos()) + 1
    known = producers_of(story.log)
    story.log.abandon()
    assert producers_of(opened(disk)) == known


def test_what_an_ended_process_left_is_removed() -> None:
    disk = MemoryDisk()
    log = filled(disk).log
    limits = CompactionLimits(label=".mine")
    for name in (".log.mine.cleaned", ".log.other.cleaned"):
        disk.open(f"{DIRECTORY}/{9:020d}{name}", create=True).close()
    assert compacted(log, disk, NOW, limits=limits)
    left = [path for path in disk.nodes if path.endswith(".cleaned")]
    assert left == [f"{DIRECTORY}/{9:020d}.log.other.cleaned"]


def test_a_torn_end_is_cut_off_before_a_segment_is_finished() -> None:
    disk = MemoryDisk()
    story = Story(opened(disk))
    story.append([(100, b"key", b"value")])
    log = story.log
    log.config = LogConfig(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=10)
    disk.capacity = disk.used() + 20

    def no_truncate(name: str) -> None:
        if name == "truncate":
            raise OSError("not now")

    disk.on_step = no_truncate
    with pytest.raises(StorageError):
        log.append(*batch([(100, b"key", b"value")]), 0, 0)
    disk.on_step, disk.capacity = None, 1 << 30
    log.compaction.roll_if_due(NOW)
    assert len(log.segment_infos()) == 1
    story.append([(100, b"key", b"next")])
    log.compaction.roll_if_due(NOW)
    assert len(log.segment_infos()) == 2


def test_a_tombstone_of_log_append_time() -> None:
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, CONFIG, 0)
    log.config = LogConfig(
        segment_bytes=400,
        cleanup_policy=frozenset({"compact"}),
        message_timestamp_type="LogAppendTime",
    )
    log.append(*batch([(1, b"a", None), (2, b"b", b"value")]), 0, 4000)
    log.append(*batch([(1, b"c", b"x" * 400)]), 0, 4001)
    assert compacted(log, disk, NOW)
    assert [record.timestamp for record in read_all(log)] == [4000, 4000, 4001]


def test_a_map_that_is_full_makes_several_passes() -> None:
    disk = MemoryDisk()
    story = Story(opened(disk))
    for number in range(60):
        story.append([(100, b"key-%d" % (number % 20), b"%d" % number)])
    log = story.log
    passes = 0
    while compacted(log, disk, NOW, limits=CompactionLimits(key_map_bytes=8 * 16)):
        passes += 1
        checked(log, story)
    assert passes > 5
    sealed = log.segment_infos()[-1].base_offset
    last = {record.key: record.offset for record in story.told if record.offset < sealed}
    assert [offset for offset in offsets(log) if offset < sealed] == sorted(last.values())


def test_one_batch_with_more_keys_than_the_map_takes() -> None:
    disk = MemoryDisk()
    story = Story(opened(disk))
    for _ in range(4):
        story.append([(100, b"key-%d" % number, b"v") for number in range(30)])
    log = story.log
    while compacted(log, disk, NOW, limits=CompactionLimits(key_map_bytes=64)):
        checked(log, story)
    assert len(offsets(log)) == 60, "one in the active segment, and the last before"


def test_an_open_transaction_holds_it_up() -> None:
    disk = MemoryDisk()
    story = filled(disk, 6)
    story.append([(100, b"0", b"open")], 7)
    began = story.log.log_end_offset - 1
    for number in range(10):
        story.append([(100, b"0", b"%d" % number * 100)])
    job = story.log.compaction.plan(NOW)
    assert job is not None
    assert job.sources[-1].next_offset <= began
    story.end(7, commit=True)
    story.append([(100, b"z", b"x" * 300)])
    job = story.log.compaction.plan(NOW)
    assert job is not None
    assert job.sources[-1].next_offset > began


def test_only_compacted_topics() -> None:
    log = filled(MemoryDisk()).log
    log.config = LogConfig()
    assert log.compaction.plan(NOW) is None
    assert log.compaction.urgency(NOW) == 0


def test_sources_that_are_deleted_meanwhile_void_the_job() -> None:
    disk = MemoryDisk()
    log = filled(disk).log
    job = log.compaction.plan(NOW)
    assert job is not None
    log.retention.delete_records_before(8)
    left = read_all(log)
    run_job(log, job, disk)
    assert read_all(log) == left
    assert not [path for path in disk.nodes if path.endswith(".cleaned")]
    assert compacted(log, disk, NOW)


def test_a_log_that_is_cut_meanwhile_voids_the_job() -> None:
    """What has grown there again may have the size of before."""
    disk = MemoryDisk()
    story = filled(disk)
    log = story.log
    job = log.compaction.plan(NOW)
    assert job is not None
    end = log.log_end_offset
    log.truncate_to(job.sources[-1].base_offset)
    while log.log_end_offset < end:
        log.append(*batch([(100, b"0", b"other" * 4 + b"1234")] * 2), 0, 0)
    there = read_all(log)
    run_job(log, job, disk)
    assert read_all(log) == there


def test_a_damaged_source_is_not_compacted() -> None:
    disk = MemoryDisk()
    log = filled(disk).log
    disk.nodes[f"{DIRECTORY}/{0:020d}.log"].data[70] ^= 1
    size = log.size_bytes
    with pytest.raises(StorageError, match="CRC"):
        compacted(log, disk, NOW)
    assert log.size_bytes == size
    assert not [path for path in disk.nodes if path.endswith(".cleaned")]


def test_a_full_disk_leaves_the_log_as_it_was() -> None:
    disk = MemoryDisk()
    story = filled(disk)
    before = read_all(story.log)
    disk.capacity = disk.used() + 200
    with pytest.raises(StorageError, match="No space"):
        compacted(story.log, disk, NOW)
    assert read_all(story.log) == before
    assert not [path for path in disk.nodes if path.endswith(".cleaned")]
    disk.capacity = 1 << 30
    assert compacted(story.log, disk, NOW)
    checked(story.log, story)


@pytest.mark.parametrize("failing", range(12))
def test_a_disk_that_refuses_in_the_middle_of_a_swap(failing: int) -> None:
    """Whatever rename fails, the log is whole, now and when it is opened again."""
    disk = MemoryDisk()
    story = long_story(disk)
    job = story.log.compaction.plan(NOW)
    assert job is not None
    renames = 0

    def refuse(name: str) -> None:
        nonlocal renames
        renames += name == "rename"
        if name == "rename" and renames == failing + 2:  # the first is that of the state
            raise OSError("not this one")

    result = compact(job, disk)
    swap = story.log.compaction.begin_swap(job, result)
    disk.on_step = refuse
    with suppress(OSError):
        while swap.step():
            swap.settle()
    disk.on_step = None
    assert renames >= failing
    deletion = story.log.compaction.end_swap(swap)
    checked(story.log, story)
    if deletion is not None:
        deletion.run()
    checked(story.log, story)
    story.log.abandon()
    story.log = opened(disk)
    checked(story.log, story)
    compacted(story.log, disk, NOW)
    checked(story.log, story)


def test_how_far_it_is_compacted_is_remembered() -> None:
    disk = MemoryDisk()
    log = filled(disk).log
    assert compacted(log, disk, NOW)
    log.close()
    log = opened(disk)
    assert log.compaction.plan(NOW) is None
    assert log.compaction.urgency(NOW) == 0
