"""The sparse index against a list."""

from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from barnabas.log.segment.open_files import Handle, OpenFiles
from barnabas.log.segment.sparse_index import OFFSET_ENTRY, TIME_ENTRY, SparseIndex
from tests.log.memory_disk import MemoryDisk


def growing(maximum: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    column = st.lists(st.integers(0, maximum), unique=True, max_size=2000).map(sorted)
    return st.tuples(column, column).map(lambda columns: list(zip(*columns, strict=False)))


@given(
    entries=growing(2**31 - 1),
    spill_after=st.integers(0, 2000),
    targets=st.lists(st.integers(0, 2**31 - 1), min_size=1),
    column=st.sampled_from([0, 1]),
)
def test_floor_finds_what_bisect_finds(
    entries: list[tuple[int, int]], spill_after: int, targets: list[int], column: int
) -> None:
    index = SparseIndex(Handle(OpenFiles(MemoryDisk()), "d/0.index"), OFFSET_ENTRY)
    for number, entry in enumerate(entries):
        if number == spill_after:
            assert index.spill()
        index.add(*entry)
    values = [entry[column] for entry in entries]
    for target in [*targets, *values[::7]]:
        found = bisect_right(values, target) - 1
        assert index.floor(column, target) == (entries[found] if found >= 0 else None)
    assert index.last() == (entries[-1] if entries else None)


def test_large_index_is_spilled_in_chunks_and_still_searched() -> None:
    disk = MemoryDisk()
    index = SparseIndex(Handle(OpenFiles(disk), "d/0.timeindex"), TIME_ENTRY)
    for number in range(20_000):
        index.add(number * 10, number)
    assert index.spilled > 10_000
    assert not index.is_spilled
    for number in (0, 1, 511, 512, 513, 9_999, 15_000, 19_999):
        assert index.floor(0, number * 10 + 9) == (number * 10, number)
    assert index.spill()
    assert len(disk.read_file("d/0.timeindex")) == 20_000 * TIME_ENTRY.size


def test_full_disk_keeps_entries_in_memory() -> None:
    disk = MemoryDisk()
    disk.capacity = 10
    index = SparseIndex(Handle(OpenFiles(disk), "d/0.index"), OFFSET_ENTRY)
    for number in range(10):
        index.add(number, number * 100)
    assert not index.spill()
    assert index.floor(0, 5) == (5, 500)
    disk.capacity = 1000
    assert index.spill()
    assert index.is_spilled
    assert index.floor(0, 5) == (5, 500)
