"""Damage in the middle of a log: nothing that is whole goes, and nothing is skipped in silence."""

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from barnabas.log import Log, LogConfig, RecordsLost
from barnabas.log.state import SegmentState, read_state
from barnabas.records.batch import HEADER_SIZE
from tests.log.batches import put, readable
from tests.log.compaction.compacting import compacted
from tests.log.memory_disk import Crash, MemoryDisk
from tests.support.tier import examples

CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=100)
DIRECTORY = "data/t-0"
COUNT = 20


def opened(disk: MemoryDisk, *, power_lost: bool = False, config: LogConfig = CONFIG) -> Log:
    return Log.open(disk, DIRECTORY, config, 0, power_lost=power_lost)


def value(number: int) -> bytes:
    return b"%04d" % number * 20


def filled(disk: MemoryDisk, *, vouched: bool, count: int = COUNT) -> None:
    log = opened(disk)
    for number in range(count):
        put(log, value(number), timestamp=number, epoch=number // 8)
    if vouched:
        log.close()
    else:
        log.abandon()


def segments(disk: MemoryDisk) -> list[str]:
    return sorted(path for path in disk.nodes if path.endswith(".log"))


def base_of(path: str) -> int:
    return int(path.rpartition("/")[2][:20])


def truncate(disk: MemoryDisk, path: str) -> None:
    del disk.nodes[path].data[-150:]


def delete(disk: MemoryDisk, path: str) -> None:
    disk.unlink(path)


def flip(disk: MemoryDisk, path: str) -> None:
    """The CRC of a batch is wrong; its length is right."""
    disk.nodes[path].data[HEADER_SIZE + 10] ^= 4


def flip_length(disk: MemoryDisk, path: str) -> None:
    """Nothing tells where the next batch begins."""
    disk.nodes[path].data[11] ^= 1


def unvouch(disk: MemoryDisk, path: str) -> None:
    """Make the size differ from the one that the state has, so that the segment is looked into."""
    disk.nodes[path].data += b"\0"


DAMAGES = [truncate, delete, flip, flip_length]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("vouched", [True, False])
@pytest.mark.parametrize("number", [1, 2])
def test_a_hole_is_reported_and_nothing_else_goes(
    damage: Callable[[MemoryDisk, str], None], vouched: bool, number: int
) -> None:
    disk = MemoryDisk()
    filled(disk, vouched=vouched)
    path, following = segments(disk)[number : number + 2]
    damage(disk, path)
    if vouched and damage in (flip, flip_length):
        unvouch(disk, path)
    log = opened(disk)
    found = readable(log)
    missing = set(range(COUNT)) - found.keys()
    assert all(found[offset] == value(offset) for offset in found)
    assert missing
    assert missing <= set(range(base_of(path), base_of(following)))
    lost = {offset for each in log.lost_ranges for offset in range(each.start, each.end)}
    assert lost == missing
    assert log.log_end_offset == COUNT
    assert log.recovery is not None
    if damage in (flip, flip_length):
        assert len(missing) == 1, "only what is damaged"
    with pytest.raises(RecordsLost, match=f"offsets {min(missing)} to {max(missing)}"):
        log.read(max(missing), 1000)
    before = log.read(min(missing) - 1, 1 << 20)
    assert len(before) < 200, "a read ends where the hole begins"
    # It is known until it is mended, whatever is done to the log meanwhile.
    assert put(log, b"more", epoch=log.latest_epoch).base_offset == COUNT
    log.close()
    log = opened(disk)
    assert {o for each in log.lost_ranges for o in range(each.start, each.end)} == missing
    assert readable(log) == {**found, COUNT: b"more"}


@pytest.mark.parametrize("damage", [flip, flip_length])
@pytest.mark.parametrize("power_lost", [False, True])
def test_damage_in_what_was_synced_is_no_torn_tail(
    damage: Callable[[MemoryDisk, str], None], power_lost: bool
) -> None:
    """A power loss tears what was written last, never what the state lists as synced."""
    disk = MemoryDisk()
    filled(disk, vouched=True)
    log = opened(disk)
    put(log, value(COUNT), timestamp=COUNT, epoch=2)  # to the segment that the state lists
    log.abandon()
    last = segments(disk)[-1]
    first = base_of(last)
    assert first < COUNT - 1
    damage(disk, last)
    log = opened(disk, power_lost=power_lost)
    assert readable(log) == {n: value(n) for n in range(COUNT + 1) if n != first}
    assert [(each.start, each.end) for each in log.lost_ranges] == [(first, first + 1)]


def test_behind_damage_the_rest_of_what_was_synced_is_no_torn_tail_either() -> None:
    disk = MemoryDisk()
    config = LogConfig(segment_bytes=2000, index_interval_bytes=100)
    log = opened(disk, config=config)
    for number in range(6):
        put(log, value(number), epoch=1)
    log.close()
    log = opened(disk, config=config)
    put(log, value(6), epoch=1)
    log.abandon()
    (path,) = segments(disk)
    data = disk.nodes[path].data
    size = len(data) // 7
    for damaged in (1, 3):
        data[damaged * size + HEADER_SIZE + 10] ^= 4
    del data[-1:]  # what was not synced is torn
    log = opened(disk, power_lost=True, config=config)
    assert readable(log) == {n: value(n) for n in (0, 2, 4, 5)}
    assert [(each.start, each.end) for each in log.lost_ranges] == [(1, 2), (3, 4)]


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_lost_can_be_skipped_by_a_setting(
    damage: Callable[[MemoryDisk, str], None],
) -> None:
    disk = MemoryDisk()
    filled(disk, vouched=False)
    damage(disk, segments(disk)[1])
    config = LogConfig(segment_bytes=500, index_interval_bytes=100, skip_lost_records=True)
    log = opened(disk, config=config)
    lost = next(iter(log.lost_ranges))
    assert log.read(lost.start, 1000) == log.read(lost.end, 1000)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_accepted_loss_is_passed_over(
    damage: Callable[[MemoryDisk, str], None], number: int
) -> None:
    disk = MemoryDisk()
    filled(disk, vouched=True)
    path = segments(disk)[number]
    damage(disk, path)
    if damage in (flip, flip_length):
        unvouch(disk, path)
    log = opened(disk)
    found = readable(log)
    accepted = log.damage.accept_loss()
    assert sum(each.end - each.start for each in accepted) == COUNT - len(found)
    assert not log.lost_ranges
    assert readable(log) == found
    offset = 0
    while offset < COUNT:  # as a consumer goes: a batch behind the other
        data = log.read(offset, 1)
        assert data
        last = int.from_bytes(data[:8], "big") + int.from_bytes(data[23:27], "big")
        assert last >= offset
        offset = last + 1
    log.abandon()
    log = opened(disk, power_lost=True)
    assert not log.lost_ranges
    assert readable(log) == found
    log.close()
    assert readable(opened(disk)) == found


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_cut_at_the_first_bad_offset_mends_it(
    damage: Callable[[MemoryDisk, str], None], number: int
) -> None:
    disk = MemoryDisk()
    filled(disk, vouched=True)
    path = segments(disk)[number]
    damage(disk, path)
    if damage in (flip, flip_length):
        unvouch(disk, path)
    log = opened(disk)
    found = readable(log)
    first = log.lost_ranges.first_offset
    assert first is not None
    log.truncate_to(first, set_aside="data/set-aside/t-0.1")
    assert not log.lost_ranges
    assert log.log_end_offset == first
    assert readable(log) == {offset: value(offset) for offset in range(first)}
    aside = Log.open(disk, "data/set-aside/t-0.1", CONFIG, 0)
    kept = {offset: found[offset] for offset in found if offset > first}
    assert readable(aside) == kept
    for offset in range(first, COUNT):
        put(log, value(offset))
    assert readable(log) == {offset: value(offset) for offset in range(COUNT)}
    log.abandon()
    assert not opened(disk).lost_ranges


def test_what_is_cut_off_is_kept() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=False)
    log = opened(disk)
    log.truncate_to(7, set_aside="data/set-aside/t-0.1")
    assert readable(log) == {offset: value(offset) for offset in range(7)}
    aside = Log.open(disk, "data/set-aside/t-0.1", CONFIG, 0)
    assert readable(aside) == {offset: value(offset) for offset in range(7, COUNT)}
    log.truncate_fully_and_start_at(3, set_aside="data/set-aside/t-0.2")
    aside = Log.open(disk, "data/set-aside/t-0.2", CONFIG, 0)
    assert readable(aside) == {offset: value(offset) for offset in range(7)}


def test_a_torn_last_append_is_no_damage() -> None:
    for size in range(1, 100, 7):
        disk = MemoryDisk()
        filled(disk, vouched=False)
        last = segments(disk)[-1]
        del disk.nodes[last].data[-size:]
        log = opened(disk)
        assert not log.lost_ranges
        assert readable(log) == {offset: value(offset) for offset in range(COUNT - 1)}
        assert log.recovery is not None
        assert log.recovery.expected_end <= COUNT - 1


@pytest.mark.parametrize("vouched", [True, False])
def test_a_lost_end_that_was_synced_is_noticed(vouched: bool) -> None:
    disk = MemoryDisk()
    filled(disk, vouched=vouched)
    disk.unlink(segments(disk)[-1])
    log = opened(disk)
    assert log.recovery is not None
    assert (log.recovery.expected_end == COUNT) == vouched
    end = log.log_end_offset
    log.damage.mark_end_lost(COUNT, "its end is gone", 0)
    assert [tuple(each) for each in log.lost_ranges] == [(end, COUNT, "its end is gone")]
    assert put(log, b"more").base_offset == COUNT
    log.abandon()
    log = opened(disk)
    assert readable(log) == {**{o: value(o) for o in range(end)}, COUNT: b"more"}
    assert [each[:2] for each in log.lost_ranges] == [(end, COUNT)]


def test_a_log_that_is_gone_goes_on_where_it_ended() -> None:
    disk = MemoryDisk()
    log = opened(disk)
    log.damage.mark_end_lost(50, "its directory is gone", 0)
    assert (log.log_start_offset, log.log_end_offset) == (0, 50)
    with pytest.raises(RecordsLost):
        log.read(0, 100)
    log.abandon()
    log = opened(disk)
    assert (log.log_start_offset, log.log_end_offset) == (0, 50)
    assert put(log, b"a").base_offset == 50
    log.damage.accept_loss()
    assert readable(log) == {50: b"a"}


def test_retention_leaves_no_hole() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=True)
    log = opened(disk, config=LogConfig(segment_bytes=500, retention_bytes=1000))
    assert log.retention.apply(0) is not None
    start = log.log_start_offset
    assert start > 0
    log.abandon()
    log = opened(disk)
    assert not log.lost_ranges
    assert log.log_start_offset == start
    assert log.retention.delete_records_before(start + 1) is None
    log.abandon()
    assert not opened(disk).lost_ranges


@pytest.mark.parametrize("power_lost", [False, True])
@pytest.mark.parametrize("state", ["as written", "torn", "gone"])
def test_a_missing_first_segment_is_a_hole_and_no_retention(power_lost: bool, state: str) -> None:
    disk = MemoryDisk()
    filled(disk, vouched=True)
    _change_state(disk, state)
    first, second = segments(disk)[:2]
    disk.unlink(first)
    log = opened(disk, power_lost=power_lost)
    assert log.log_start_offset == 0
    assert [each[:2] for each in log.lost_ranges] == [(0, base_of(second))]


def _change_state(disk: MemoryDisk, state: str) -> None:
    path = f"{DIRECTORY}/log.state"
    if state == "torn":
        del disk.nodes[path].data[10:]
    elif state == "gone":
        disk.unlink(path)


@pytest.mark.parametrize("power_lost", [False, True])
@pytest.mark.parametrize("state", ["as written", "torn", "gone"])
@pytest.mark.parametrize("way", ["retention", "a later start", "an earlier start"])
def test_a_first_segment_that_goes_after_the_start_has_moved_is_a_hole(
    way: str, state: str, power_lost: bool
) -> None:
    disk = MemoryDisk()
    filled(disk, vouched=True)
    log = opened(disk)
    job = log.retention.delete_records_before(COUNT // 2)
    assert job is not None
    job.run()
    if way != "retention":
        log.truncate_fully_and_start_at(50 if way == "a later start" else 3)
        for number in range(COUNT):
            put(log, value(number))
    start = log.segment_infos()[0].base_offset
    log.close()
    first, second = segments(disk)[:2]
    assert base_of(first) == start
    _change_state(disk, state)

    log = opened(disk, power_lost=power_lost)
    assert not log.lost_ranges
    assert log.segment_infos()[0].base_offset == start
    log.close()
    _change_state(disk, state)
    disk.unlink(first)
    log = opened(disk, power_lost=power_lost)
    assert log.log_start_offset >= start
    assert [each.end for each in log.lost_ranges] == [base_of(second)]


def test_a_start_that_an_earlier_release_left_is_marked() -> None:
    disk = MemoryDisk()
    filled(disk, vouched=True)
    log = opened(disk)
    job = log.retention.delete_records_before(COUNT // 2)
    assert job is not None
    job.run()
    start = log.segment_infos()[0].base_offset
    log.close()
    disk.unlink(f"{DIRECTORY}/{start:020d}.start")
    opened(disk).abandon()
    assert f"{start:020d}.start" in disk.list_files(DIRECTORY)


def test_a_crash_between_state_and_mark_leaves_a_log_with_a_mark() -> None:
    """The state says where the log starts; it is torn when the mark is needed."""
    disk = MemoryDisk()
    filled(disk, vouched=True)
    log = opened(disk)
    disk.on_step = lambda step: _crash_at(step, "create", disk)
    with pytest.raises(Crash):
        log.truncate_fully_and_start_at(50)
    disk.on_step = None
    log.abandon()
    log = opened(disk)
    assert log.log_start_offset == 50
    assert put(log, b"a").base_offset == 50
    log.close()
    _change_state(disk, "torn")
    log = opened(disk, power_lost=True)
    assert not log.lost_ranges
    assert readable(log) == {50: b"a"}


def _crash_at(step: str, crash: str, disk: MemoryDisk) -> None:
    names = disk.list_files(DIRECTORY)
    if step == crash and read_state(disk, DIRECTORY).log_start_offset == 50:  # type: ignore[union-attr]
        assert not any(name.endswith(".start") for name in names)
        raise Crash


def test_retention_before_a_power_loss_is_no_hole_at_the_start_after_next() -> None:
    """A power loss brings an older state back; the start after it has to write a new one."""
    disk = MemoryDisk()
    filled(disk, vouched=True)
    older = bytes(disk.nodes[f"{DIRECTORY}/log.state"].data)
    log = opened(disk)
    job = log.retention.delete_records_before(COUNT // 2)
    assert job is not None
    job.run()
    start = log.segment_infos()[0].base_offset
    log.close()
    assert start > 0
    disk.nodes[f"{DIRECTORY}/log.state"].data[:] = older
    log = opened(disk, power_lost=True)
    assert log.log_start_offset == start
    log.close()
    log = opened(disk)
    assert not log.lost_ranges
    assert log.recovery is None
    assert log.log_start_offset == start


@pytest.mark.parametrize("has_state", [True, False])
def test_compaction_leaves_no_hole(has_state: bool) -> None:
    from tests.log.batches import batch

    config = LogConfig(segment_bytes=300, cleanup_policy=frozenset({"compact"}))
    disk = MemoryDisk()
    log = opened(disk, config=config)
    for number in range(12):
        log.append(*batch([(number, b"%d" % (number % 2), value(number))]), 0, 0)
    log.flusher.flush()
    assert compacted(log, disk, 0)
    found = readable(log)
    assert len(found) < 12
    log.close() if has_state else log.abandon()
    if not has_state:
        disk.unlink(f"{DIRECTORY}/log.state")
    for policy in ({"compact"}, {"delete"}) if has_state else ({"compact"},):
        again = opened(disk, config=LogConfig(segment_bytes=300, cleanup_policy=frozenset(policy)))
        assert not again.lost_ranges
        assert readable(again) == found
        again.abandon()
        if not has_state:
            disk.unlink(f"{DIRECTORY}/log.state")
    assert opened(disk, power_lost=True, config=config).gap_from is None


def test_a_segment_behind_what_is_compacted_is_missed() -> None:
    """It was finished and not compacted yet, and no state lists it."""
    from tests.log.batches import batch

    config = LogConfig(
        segment_bytes=300, cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.0
    )
    disk = MemoryDisk()
    log = opened(disk, config=config)

    def append(numbers: range) -> None:
        for number in numbers:
            log.append(*batch([(number, b"%d" % (number % 2), value(number))]), 0, 0)

    append(range(12))
    assert compacted(log, disk, 0)
    compacted_end = log.segment_infos()[-1].base_offset
    append(range(12, 18))
    lost, following = [
        info.base_offset for info in log.segment_infos() if info.base_offset >= compacted_end
    ][:2]
    log.abandon()
    delete(disk, next(path for path in segments(disk) if base_of(path) == lost))
    again = opened(disk, config=config)
    assert [(each.start, each.end) for each in again.lost_ranges] == [(lost, following)]


def test_a_segment_of_a_log_that_was_never_compacted_is_missed() -> None:
    """No state was written yet, as a compaction would have done; the snapshot tells of it."""
    config = LogConfig(segment_bytes=500, cleanup_policy=frozenset({"compact"}))
    disk = MemoryDisk()
    filled(disk, vouched=False)
    assert f"{DIRECTORY}/log.state" not in disk.nodes
    path, following = segments(disk)[1:3]
    delete(disk, path)
    log = opened(disk, power_lost=True, config=config)
    assert not log.lost_ranges, (
        "a power loss may take a state back, and leave what compaction has removed"
    )
    assert log.gap_from == base_of(path), "but another replica has to say so"
    again = opened(disk, config=config)
    lost = [(each.start, each.end) for each in again.lost_ranges]
    assert lost == [(base_of(path), base_of(following))]


def test_damage_stays_known_where_a_compaction_was_about_to_begin() -> None:
    """A gap behind a segment that was to be replaced is explained, unless damage has left it."""
    from tests.log.batches import batch

    config = LogConfig(
        segment_bytes=300, cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.0
    )
    disk = MemoryDisk()
    log = opened(disk, config=config)
    for number in range(12):
        log.append(*batch([(number, b"%d" % (number % 2), value(number))]), 0, 0)
    log.flusher.flush()
    log.state_file.write(replaced=[info.base_offset for info in log.segment_infos()[:-1]])
    damaged = log.segment_infos()[1]
    log.abandon()
    path = next(path for path in segments(disk) if base_of(path) == damaged.base_offset)
    del disk.nodes[path].data[-7:]
    for _ in range(2):
        again = opened(disk, config=config)
        (lost,) = again.lost_ranges
        assert lost.end == damaged.next_offset
        assert lost.start == lost.end - 1
        again.abandon()


DAMAGE = st.tuples(
    st.sampled_from(["truncate", "delete", "flip"]), st.integers(0, 5), st.integers(0, 499)
)


@given(
    synced=st.integers(0, COUNT),
    damages=st.lists(DAMAGE, min_size=1, max_size=3),
    reopenings=st.integers(1, 2),
)
@example(synced=10, damages=[("truncate", 2, 300), ("flip", 2, 8)], reopenings=2)
@settings(max_examples=examples(300))
def test_no_silent_gap(synced: int, damages: list[tuple[str, int, int]], reopenings: int) -> None:
    """Whatever happens to the files: a record is read as it was, or is known to be lost."""
    disk = MemoryDisk()
    log = opened(disk)
    places: dict[int, tuple[str, int, int]] = {}
    for number in range(COUNT):
        put(log, value(number))
        segment = log.segment_infos()[-1]
        path = f"{DIRECTORY}/{segment.base_offset:020d}.log"
        places[number] = (path, segment.size_bytes, segment.size_bytes)
        if number + 1 == synced:
            log.flusher.flush()
            log.checkpoint()
    size = places[0][2]
    places = {n: (path, end - size, end) for n, (path, _, end) in places.items()}
    vouched = {
        f"{DIRECTORY}/{base:020d}.log": state.size for base, state in (_state(disk) or {}).items()
    }
    log.abandon()
    whole = dict(places)
    for kind, number, at in damages:
        paths = segments(disk)
        path = paths[number % len(paths)]
        data = disk.nodes[path].data
        if kind == "delete" and len(paths) > 1:
            disk.unlink(path)
            whole = {n: place for n, place in whole.items() if place[0] != path}
        elif kind == "truncate" and data:
            del data[at % len(data) :]
            end = len(data)
            whole = {n: p for n, p in whole.items() if p[0] != path or p[2] <= end}
        elif data and at < len(data):
            in_batch = at % size
            is_checked = in_batch >= 21 or 8 <= in_batch < 12 or 16 <= in_batch < 21
            if not is_checked or vouched.get(path) == len(data):
                continue
            data[at] ^= 1
            whole = {n: p for n, p in whole.items() if p[0] != path or not p[1] <= at < p[2]}
    for _ in range(reopenings):
        log = opened(disk)
        found = readable(log)
        lost = {offset for each in log.lost_ranges for offset in range(each.start, each.end)}
        assert found.keys() >= whole.keys(), "nothing that is whole goes"
        assert all(found[offset] == value(offset) for offset in found)
        has = range(log.log_start_offset, log.log_end_offset)
        assert {offset for offset in has if offset not in found} == lost
        log.abandon()
    log = opened(disk)
    expected = log.recovery.expected_end if log.recovery else 0
    assert max(expected, log.log_end_offset) >= max(
        (n + 1 for n, place in places.items() if place[2] <= vouched.get(place[0], 0)), default=0
    )


def _state(disk: MemoryDisk) -> dict[int, SegmentState] | None:
    state = read_state(disk, DIRECTORY)
    return state.segments if state else None


def test_a_segment_that_is_not_trusted_is_missed_when_it_is_gone() -> None:
    """It is not listed between those before and after it: that is not a gap of old."""
    disk = MemoryDisk()
    filled(disk, vouched=True)
    log = opened(disk)
    second = base_of(segments(disk)[1])
    log.state_file.distrust([second])  # as if it had been cut, and filled again
    log.checkpoint()
    log.abandon()
    state = read_state(disk, DIRECTORY)
    assert state is not None
    assert state.untrusted == {second}
    delete(disk, segments(disk)[1])
    damaged = opened(disk)
    assert damaged.lost_ranges.at(second) is not None
    assert damaged.lost_ranges.at(second - 1) is None
