"""Levels of delays, without brokers: when records leave them, and how often they are moved."""

import heapq
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.delays.delayed_record import DUE_HEADER, due_ms, with_due, without_due
from barnabas.client.delays.levels import LEVELS_S, leaves_at, level_of
from barnabas.client.delays.waiting_records import (
    ENOUGH_BYTES,
    ENOUGH_RECORDS,
    WaitingRecords,
    behind,
)
from barnabas.records.message import Message

DAY_MS = 86_400_000
MANY = 100_000


def record(level: int, offset: int, since_ms: int, due: int, value: bytes = b"") -> Message:
    return Message("jobs.delayed", level, offset, since_ms, None, value, tuple(with_due((), due)))


class Log:
    """The levels as a cluster has them; time stands still while records are moved."""

    def __init__(self) -> None:
        self.levels: list[deque[tuple[int, int]]] = [deque() for _ in LEVELS_S]
        self.waiting = WaitingRecords()
        self.delivered: list[tuple[int, int]] = []
        self.moves = 0

    def put(self, now_ms: int, due: int) -> None:
        self.levels[level_of(due - now_ms)].append((now_ms, due))

    def read(self) -> None:
        full = {each.partition for each in self.waiting.full}
        for number, level in enumerate(self.levels):
            if number not in full:
                some = [level.popleft() for _ in range(min(len(level), ENOUGH_RECORDS))]
                self.waiting.add(record(number, 0, *each) for each in some)

    def move(self, now_ms: int) -> None:
        for _, due, level in self.waiting.take(now_ms, MANY):
            self.moves += 1
            if level is None:
                self.delivered.append((due, now_ms))
            else:
                assert level_of(due - now_ms) == level
                self.levels[level].append((now_ms, due))

    def run(self, puts: list[tuple[int, int]]) -> None:
        """Puts at a time, with a delay; then whatever comes of them, until all are delivered."""
        coming = sorted(puts)
        count, now_ms = len(puts), 0
        while len(self.delivered) < count:
            self.read()
            times = [each for each in (self.waiting.next_ms(now_ms),) if each is not None]
            times += [at for at, _ in coming[:1]]
            now_ms = max(now_ms, min(times))
            while coming and coming[0][0] <= now_ms:
                at, delay = coming.pop(0)
                self.put(at, at + delay)
            self.read()
            self.move(now_ms)


DELAYS = st.one_of(
    st.integers(1, 2_000), st.integers(1, 100_000), st.integers(1, DAY_MS), st.integers(1, 10**11)
)


@given(st.lists(st.tuples(st.integers(0, 10_000), DELAYS), min_size=1, max_size=40))
def test_records_are_moved_when_they_are_due_and_never_before(puts: list[tuple[int, int]]) -> None:
    log = Log()
    log.run(puts)
    assert sorted(due for due, _ in log.delivered) == sorted(at + delay for at, delay in puts)
    for due, at in log.delivered:
        assert due <= at <= due + 1_000


@pytest.mark.parametrize("level", range(1, len(LEVELS_S)))
def test_a_delay_that_is_as_long_as_a_level_is_moved_once(level: int) -> None:
    log = Log()
    log.run([(0, LEVELS_S[level] * 1000)])
    assert (log.delivered, log.moves) == ([(LEVELS_S[level] * 1000,) * 2], 1)


def test_any_delay_of_a_day_is_moved_a_few_times() -> None:
    log = Log()
    log.run([(0, DAY_MS - 1)])
    assert log.moves <= 2 * len([each for each in LEVELS_S if each * 1000 < DAY_MS])


def test_little_of_a_level_is_in_memory() -> None:
    log = Log()
    dues = list(range(600_000, 600_000 + 5_000))
    heapq.heapify(dues)
    for due in dues:
        log.put(0, due)
    log.read()
    log.read()
    assert len(log.waiting) == ENOUGH_RECORDS
    assert log.waiting.full == {TopicPartition("jobs.delayed", level_of(600_000))}
    log.move(600_000)
    assert (len(log.waiting), log.waiting.full) == (0, set())


def test_large_records_fill_a_level_too() -> None:
    waiting = WaitingRecords()
    waiting.add([record(3, 0, 0, 5_000, bytes(ENOUGH_BYTES))])
    assert waiting.full == {TopicPartition("jobs.delayed", 3)}
    waiting.take(5_000, MANY)
    assert waiting.full == set()
    assert waiting.is_empty(TopicPartition("jobs.delayed", 3))


def test_the_first_due_is_moved_first() -> None:
    waiting = WaitingRecords()
    dues = {(3, 7): 5_300, (3, 8): 5_100, (1, 0): 5_200}
    waiting.add(record(*place, 0, due) for place, due in dues.items())
    moves = waiting.take(6_000, MANY)
    assert [each.due_ms for each in moves] == [5_100, 5_200, 5_300]
    assert behind(moves) == {
        TopicPartition("jobs.delayed", 3): 9,
        TopicPartition("jobs.delayed", 1): 1,
    }


def test_no_more_are_taken_than_a_transaction_has_room_for() -> None:
    waiting = WaitingRecords()
    waiting.add(record(1, offset, 0, 1_000) for offset in range(5))
    moves = waiting.take(1_000, 3)
    assert behind(moves) == {TopicPartition("jobs.delayed", 1): 3}
    assert len(waiting) == 2


def test_what_is_behind_does_not_wait_for_a_writer_whose_clock_is_ahead() -> None:
    hour = LEVELS_S.index(3_600)
    assert leaves_at(hour, since_ms=DAY_MS, due_ms=DAY_MS + 3_600_000, now_ms=0) == 0
    assert leaves_at(0, since_ms=0, due_ms=DAY_MS, now_ms=5) == 5
    waiting = WaitingRecords()
    waiting.add([record(1, 0, DAY_MS, DAY_MS + 1_000), record(1, 1, 0, 1_000)])
    due, ahead = waiting.take(1_000, MANY)
    assert ahead.level == LEVELS_S.index(86_400)
    assert due.level is None


def test_a_level_of_a_later_version_is_left_at_once() -> None:
    assert leaves_at(len(LEVELS_S), since_ms=0, due_ms=DAY_MS, now_ms=7) == 7


def test_the_header_is_the_movers() -> None:
    headers = with_due([("a", b"1"), (DUE_HEADER, b"5")], 17)
    assert headers == [("a", b"1"), (DUE_HEADER, b"17")]
    assert without_due(headers) == [("a", b"1")]


@pytest.mark.parametrize(
    "text",
    [b"", b"soon", b"-3", None, b"9" * 400, b"9" * 5_000],
    ids=["empty", "text", "negative", "none", "too long for a float", "too long for an int"],
)
def test_a_record_that_does_not_say_when_is_due_now(text: bytes | None) -> None:
    assert due_ms(Message("jobs.delayed", 1, 0, 42, None, b"", ((DUE_HEADER, text),))) == 42
    assert due_ms(Message("jobs.delayed", 1, 0, 42, None, b"", ())) == 42


def test_a_record_for_the_end_of_time_waits() -> None:
    waiting = WaitingRecords()
    waiting.add([record(len(LEVELS_S) - 1, 0, 0, 2**63 - 1)])
    (move,) = waiting.take(LEVELS_S[-1] * 1000, MANY)
    assert move.level == len(LEVELS_S) - 1
