"""When the simulator reports that compaction has lost something, and when it must not."""

import pytest

from barnabas.records.batch import parse_header
from barnabas.records.encode import encode_batch
from barnabas.sim.checks.compacted_log import CompactedLog, Stored
from barnabas.sim.checks.history import Violation

Value = bytes | None


def batch(offset: int, key: bytes, value: Value, *, producer_id: int = -1) -> Stored:
    data = memoryview(
        bytes(
            encode_batch(
                [(0, key, value, ())],
                base_offset=offset,
                producer_id=producer_id,
                producer_epoch=0 if producer_id >= 0 else -1,
                base_sequence=0 if producer_id >= 0 else -1,
                transactional=producer_id >= 0,
            )
        )
    )
    return [(parse_header(data), data)]


COMMITTED = [*batch(0, b"a", b"1"), *batch(1, b"b", b"1"), *batch(2, b"a", b"2")]


def compare(
    stored: Stored,
    committed: Stored = COMMITTED,
    *,
    end: int = 3,
    finished: int = 9,
    keeps_tombstones: bool = False,
) -> None:
    log = CompactedLog()
    log.keeps_tombstones = keeps_tombstones
    log.finished(finished)
    for header, data in committed:
        log.add(header, data)
    log.check("t-0", stored, 0, end, whole=True)


@pytest.mark.parametrize(
    "stored",
    [
        COMMITTED,
        [*batch(1, b"b", b"1"), *batch(2, b"a", b"2")],
    ],
)
def test_what_is_replaced_may_be_there_or_not(stored: Stored) -> None:
    compare(stored)


def test_the_newest_value_of_a_key_stays() -> None:
    with pytest.raises(Violation, match="lacks 2, the newest value of b'a'"):
        compare([*batch(0, b"a", b"1"), *batch(1, b"b", b"1")])


def test_what_is_not_yet_known_as_committed_may_have_replaced_a_value() -> None:
    compare([*batch(1, b"b", b"1")], end=2)


def test_another_value_is_not_what_was_committed() -> None:
    with pytest.raises(Violation, match="was committed"):
        compare([*batch(1, b"b", b"x"), *batch(2, b"a", b"2")])


def test_the_order_stays() -> None:
    with pytest.raises(Violation, match="1 behind 2"):
        compare([*batch(2, b"a", b"2"), *batch(1, b"b", b"1")], end=4)


@pytest.mark.parametrize(
    "newest", [batch(3, b"b", None), batch(3, b"b", b"2", producer_id=7)], ids=["tombstone", "txn"]
)
def test_tombstones_and_records_of_transactions_may_go(newest: Stored) -> None:
    compare([*batch(2, b"a", b"2")], [*COMMITTED, *newest], end=4)


def test_a_deleted_record_does_not_come_back() -> None:
    tombstone = batch(3, b"b", None)
    compare([*batch(2, b"a", b"2")], [*COMMITTED, *tombstone], end=4)
    with pytest.raises(Violation, match="has 1, of the key b'b', and lacks 3, which deletes it"):
        compare([*batch(1, b"b", b"1"), *batch(2, b"a", b"2")], [*COMMITTED, *tombstone], end=4)


def test_tombstones_whose_time_is_not_over_stay() -> None:
    with pytest.raises(Violation, match="lacks 3, the newest value of b'b'"):
        compare(
            [*batch(2, b"a", b"2")],
            [*COMMITTED, *batch(3, b"b", None)],
            end=4,
            keeps_tombstones=True,
        )


def test_behind_the_finished_segments_everything_stays() -> None:
    stored = [*batch(1, b"b", b"1"), *batch(2, b"a", b"2")]
    compare(stored, finished=1)
    with pytest.raises(Violation, match="lacks 0, and only what is below 0 can be compacted"):
        compare(stored, finished=0)


def test_a_key_is_replaced_where_its_newest_record_is() -> None:
    log = CompactedLog()
    for header, data in COMMITTED:
        log.add(header, data)
    assert log.is_replaced_behind(b"a", 2)
    assert not log.is_replaced_behind(b"a", 3)
    assert not log.is_replaced_behind(b"c", 0)
