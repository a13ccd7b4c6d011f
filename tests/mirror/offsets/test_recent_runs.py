"""What is committed with a position says where records are, whoever reads it."""

from barnabas.mirror.offsets.recent_runs import (
    MAX_CHARACTERS,
    RecentRuns,
    RunsInTarget,
    recent_runs,
    segments_of,
)
from barnabas.mirror.offsets.segment import Segment
from barnabas.mirror.offsets.translation import Translation
from barnabas.mirror.positions import SourcePosition, position_of

KNOWN = segments_of([(0, 100, 10), (10, 111, 5)])
PENDING = segments_of([(15, 0, 5), (30, 5, 10)])


def test_a_text_says_the_same_to_others() -> None:
    recent = RecentRuns(7, 116, KNOWN, PENDING)
    assert recent_runs(recent.text) == recent
    position = SourcePosition(40, bytes(range(16)), "the-cluster", recent)
    assert position_of(40, position.text) == position
    for text in ("", "1:2", "1:2:3:4:5", "x:1::", "1:1:AAAA:!"):
        assert recent_runs(text) is None


def test_the_last_transaction_is_where_its_producer_has_written() -> None:
    recent = RecentRuns(7, 116, KNOWN, PENDING)
    found = Translation(recent.located([RunsInTarget(117, 5), RunsInTarget(122, 10)]))
    exact = {0: 100, 9: 109, 10: 111, 14: 115, 15: 117, 19: 121, 30: 122, 39: 131, 40: 132}
    assert {each: found.translate(each) for each in exact} == exact


def test_records_of_others_in_between_make_a_lower_bound() -> None:
    recent = RecentRuns(7, 116, KNOWN, PENDING)
    found = Translation(recent.located([RunsInTarget(117, 5), RunsInTarget(150, 10)]))
    assert found.translate(15) == 117
    assert found.translate(30) == 122, "it is at 150"
    assert found.invert(150) == 30
    assert (found.invert(140) or 0) <= 30


def test_other_records_than_the_transaction_has_are_not_taken_for_it() -> None:
    recent = RecentRuns(7, 116, KNOWN, PENDING)
    for found in ([], [RunsInTarget(117, 5)], [RunsInTarget(117, 5), RunsInTarget(122, 11)]):
        assert recent.located(found) == KNOWN


def test_texts_are_short_however_many_runs_there_are() -> None:
    many = Translation()
    for number in range(1_000):
        many.add(number * 1_000_003, number * 700_001, 400_000)
    gaps = segments_of((each * 3, each, 1) for each in range(5_000))
    text = RecentRuns(2**40, 2**50, many.segments, gaps).text
    assert len(text) <= MAX_CHARACTERS
    read = recent_runs(text)
    assert read is not None
    assert read.records == 5_000
    assert read.known[-1].downstream_end == many.segments[-1].downstream_end


def test_what_is_known_already_is_not_taken_twice() -> None:
    known = Translation(KNOWN)
    known.extend(KNOWN)
    assert known.segments == KNOWN
    known.extend([Segment(12, 12, 113, 10)])
    assert known.segments == [*KNOWN, Segment(15, 12, 113, 10)]
    assert known.translate(16) == 117
