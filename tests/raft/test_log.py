"""The log in memory, held against a plain list of entries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.raft import Batch, BrokenInvariant, Entry, OffsetAndEpoch, Snapshot, VoterSet
from barnabas.raft.log import RaftLog
from tests.raft.single import voter_key

NO_VOTERS = VoterSet()
ONE = VoterSet.of([voter_key(1)])
TWO = VoterSet.of([voter_key(1), voter_key(2)])


@st.composite
def entries(draw: st.DrawFn) -> list[Entry]:
    result: list[Entry] = []
    offset, epoch = 0, 1
    for step, count in draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)))):
        epoch += step
        result.append(Entry(offset, epoch, Batch(b"x", count)))
        offset += count
    return result


@given(entries(), st.data())
def test_points_of_the_log_are_those_of_the_list(plain: list[Entry], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(plain)))
    snapshot = None
    if cut:
        point = OffsetAndEpoch(plain[cut - 1].end_offset, plain[cut - 1].epoch)
        snapshot = Snapshot(point, NO_VOTERS, b"")
    log = RaftLog(snapshot, plain, NO_VOTERS)
    kept = plain[cut:]
    start = OffsetAndEpoch(0, 0) if snapshot is None else snapshot.snapshot_id
    points = [start] + [OffsetAndEpoch(e.end_offset, e.epoch) for e in kept]
    end = points[-1].end_offset
    assert (log.start_offset, log.end_offset) == (start.end_offset, end)
    for offset in range(end + 2):
        for epoch in range(points[-1].epoch + 2):
            assert log.has(offset, epoch) == (OffsetAndEpoch(offset, epoch) in points)
        ends = [point.end_offset for point in points if point.end_offset <= offset]
        assert log.end_up_to(offset) == max(ends, default=start.end_offset)
    for epoch in range(points[-1].epoch + 2):
        known = [point for point in points if point.epoch <= epoch]
        assert log.end_of_epoch(epoch) == (known[-1] if known else None)


@given(entries(), st.integers(0, 10))
def test_a_read_returns_whole_entries_and_at_least_one(plain: list[Entry], limit: int) -> None:
    log = RaftLog(None, plain, NO_VOTERS)
    for index, entry in enumerate(plain):
        expected = tuple(plain[index : index + max(limit, 1)])
        assert log.read(entry.base_offset, limit) == expected
    assert log.read(log.end_offset, limit) == ()


def test_voters_come_with_their_entry_and_go_with_it() -> None:
    log = RaftLog(None, [], ONE)
    log.append(Entry(0, 1, Batch(b"x")))
    log.append(Entry(1, 1, TWO))
    assert (log.voters, log.voters_offset) == (TWO, 1)
    assert (log.voters_at(1), log.voters_at(2)) == (ONE, TWO)
    log.truncate(1)
    assert (log.voters, log.voters_offset) == (ONE, -1)


def test_a_snapshot_keeps_the_voters_it_was_taken_with() -> None:
    log = RaftLog(None, [Entry(0, 1, TWO), Entry(1, 1, Batch(b"x")), Entry(2, 1, ONE)], NO_VOTERS)
    log.drop_before(Snapshot(OffsetAndEpoch(2, 1), log.voters_at(2), b""))
    assert (log.voters_at(2), log.voters) == (TWO, ONE)
    log.truncate(2)
    assert log.voters == TWO


@pytest.mark.parametrize("entry", [Entry(2, 2, Batch(b"")), Entry(1, 1, Batch(b""))])
def test_an_entry_must_follow(entry: Entry) -> None:
    log = RaftLog(None, [Entry(0, 2, Batch(b"x"))], NO_VOTERS)
    with pytest.raises(BrokenInvariant):
        log.append(entry)


def test_neither_half_an_entry_nor_a_snapshot_can_be_truncated() -> None:
    snapshot = Snapshot(OffsetAndEpoch(5, 1), ONE, b"")
    log = RaftLog(snapshot, [Entry(5, 1, Batch(b"x", 3))], NO_VOTERS)
    for offset in (4, 6):
        with pytest.raises(BrokenInvariant):
            log.truncate(offset)
