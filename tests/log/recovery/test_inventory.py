"""Files compared with `log.state`: what is trusted, missing, shorter, and which gaps are fine."""

from barnabas.log.compaction_progress import Progress
from barnabas.log.recovery.inventory import Inventory
from barnabas.log.state import LogState, SegmentState


def listed(base_offset: int, next_offset: int, size: int) -> SegmentState:
    return SegmentState(base_offset, size, next_offset, -1, -1, -1, 0, 0)


def state(*segments: SegmentState) -> LogState:
    return LogState(0, [], {each.base_offset: each for each in segments}, 0, Progress())


def files(sizes: dict[int, int]) -> dict[str, int]:
    others = {"log.state": 7, "00000000000000000000.index": 8, "x.log": 1, "5.log": 1}
    return {f"{offset:020d}.log": size for offset, size in sizes.items()} | others


def test_a_segment_of_the_listed_size_is_trusted() -> None:
    inventory = Inventory(
        files({0: 100, 10: 90, 20: 50}), state(listed(0, 10, 100), listed(10, 20, 100)), 0
    )
    assert inventory.base_offsets == [0, 10, 20]
    assert [inventory.is_trusted(base) for base in (0, 10, 20)] == [True, False, False]
    assert inventory.last_trusted == 0
    assert list(inventory.ends_of_shrunk()) == [20]


def test_without_a_state_nothing_is_trusted() -> None:
    inventory = Inventory(files({0: 100}), None, 0)
    assert not inventory.is_trusted(0)
    assert inventory.last_trusted == -1
    assert list(inventory.missing(0)) == []


def test_a_listed_segment_without_a_file_is_missing_unless_it_was_deleted() -> None:
    segments = [listed(base, base + 10, 100) for base in (0, 10, 20, 30)]
    inventory = Inventory(files({10: 100, 30: 100}), state(*segments), 0)
    assert [each.base_offset for each in inventory.missing(0)] == [0, 20]
    assert [each.base_offset for each in inventory.missing(10)] == [20]
    empty = Inventory({}, state(*segments), 0)
    assert [each.base_offset for each in empty.missing(0)] == [0, 10, 20, 30]


def test_gaps() -> None:
    segments = state(listed(0, 8, 100), listed(10, 18, 100), SegmentState.to_be_scanned(20))
    inventory = Inventory(files({0: 100, 10: 90, 20: 50, 30: 50}), segments, 0)
    assert inventory.explains_gap(30, 40, 40), "there is none"
    assert inventory.explains_gap(0, 8, 10), "it was there when the state was written"
    assert not inventory.explains_gap(10, 17, 20), "the segment has changed since"
    assert inventory.explains_gap(20, 28, 30), "a compaction was about to replace it"
    assert not inventory.explains_gap(30, 38, 40), "it is not listed"
    assert inventory.explains_gap(30, 38, 40 + 2**31), "wider than a segment"
    compacted = Inventory(files({30: 50}), segments, 39)
    assert compacted.explains_gap(30, 38, 40), "compaction leaves gaps"
    compacted = Inventory(files({30: 50}), segments, 38)
    assert not compacted.explains_gap(30, 38, 40), "but none behind what it has compacted"


def test_a_segment_that_was_there_is_missed_behind_one_that_was_to_be_replaced() -> None:
    segments = state(SegmentState.to_be_scanned(0))._replace(untrusted=frozenset({10}))
    inventory = Inventory(files({0: 100, 20: 50}), segments, 0)
    assert not inventory.explains_gap(0, 10, 20)
