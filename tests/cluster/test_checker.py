"""The checker finds each thing it looks for: one bad history for each, made from a good one."""

from collections.abc import Callable

import pytest

from tests.cluster.checker import check
from tests.cluster.history import (
    Acked,
    Assigned,
    Committed,
    History,
    Polled,
    ProducerMode,
    SawCommitted,
    Sent,
    Stored,
)


def _good() -> History:
    """Ten records of two producers in one partition, read by a group whose members took turns."""
    history = History(
        producers={"exact": ProducerMode(idempotent=True), "plain": ProducerMode(idempotent=False)},
        assigned=[
            Assigned(1, "first", 0, 0),
            Assigned(2, "second", 0, 5),
            Assigned(3, "lone", 0, 0),
        ],
        committed=[Committed("g", 0, 5, 5.0, 5.5), Committed("g", 0, 10, 10.0, 10.5)],
        saw_committed=[SawCommitted("g", 0, 0, 0.0), SawCommitted("g", 0, 5, 6.0)],
        groups={"g": ["first", "second"]},
    )
    for offset in range(10):
        producer = "exact" if offset % 2 else "plain"
        value = f"{producer}/{offset}"
        history.sent.append(Sent(producer, value, 0, offset))
        history.acked.append(Acked(value, 0, offset, offset, offset + 0.1))
        history.stored.append(Stored(0, offset, value))
        history.polled.append(Polled(1 if offset < 5 else 2, 0, offset, value, offset + 0.2))
        history.polled.append(Polled(3, 0, offset, value, offset + 0.3))
    return history


def _lose_write(history: History) -> None:
    del history.stored[9]
    history.polled = [p for p in history.polled if p.offset != 9]


def _ack_at_another_offset(history: History) -> None:
    history.acked[4] = history.acked[4]._replace(offset=3)


def _poll_another_value(history: History) -> None:
    history.polled[0] = history.polled[0]._replace(value="exact/1")


def _poll_what_is_truncated_later(history: History) -> None:
    history.sent.append(Sent("plain", "plain/10", 0, 10))
    history.polled.append(Polled(3, 0, 10, "plain/10", 11))


def _store_twice(value: str) -> Callable[[History], None]:
    def store(history: History) -> None:
        history.stored.append(Stored(0, 10, value))
        history.polled.append(Polled(2, 0, 10, value, 11))

    return store


def _store_in_another_order(history: History) -> None:
    first, second = history.stored[1], history.stored[3]
    history.stored[1] = first._replace(value=second.value)
    history.stored[3] = second._replace(value=first.value)
    history.acked.clear()
    history.polled.clear()
    history.groups.clear()


def _store_what_nobody_sent(history: History) -> None:
    history.stored.append(Stored(0, 10, "plain/99"))
    history.polled.append(Polled(2, 0, 10, "plain/99", 11))


def _store_in_another_partition(history: History) -> None:
    history.sent[2] = history.sent[2]._replace(partition=1)


def _poll_twice(history: History) -> None:
    history.polled.append(history.polled[-1])


def _poll_out_of_order(history: History) -> None:
    lone = [i for i, polled in enumerate(history.polled) if polled.assignment == 3]
    one, other = lone[3], lone[4]
    history.polled[one], history.polled[other] = history.polled[other], history.polled[one]


def _skip(history: History) -> None:
    history.polled = [p for p in history.polled if (p.assignment, p.offset) != (3, 4)]


def _skip_at_the_start(history: History) -> None:
    history.polled = [p for p in history.polled if (p.assignment, p.offset) != (3, 0)]


def _start_behind_what_was_read(history: History) -> None:
    history.assigned[1] = history.assigned[1]._replace(start=6)
    history.polled = [p for p in history.polled if (p.assignment, p.offset) != (2, 5)]


def _see_an_older_commit(history: History) -> None:
    history.saw_committed.append(SawCommitted("g", 0, 5, 11.0))


def _see_no_commit(history: History) -> None:
    history.saw_committed.append(SawCommitted("g", 0, 0, 5.6))


def _see_an_error(history: History) -> None:
    history.client_errors.append("lone: offset out of range")


def test_a_good_history_is_clean() -> None:
    assert check(_good()) == []


@pytest.mark.parametrize(
    ("spoil", "kinds"),
    [
        (_lose_write, {"lost write"}),
        (_ack_at_another_offset, {"inconsistent offset"}),
        (_poll_another_value, {"inconsistent offset"}),
        (_poll_what_is_truncated_later, {"lost read"}),
        (_store_twice("exact/9"), {"duplicate"}),
        (_store_twice("plain/8"), {"duplicate"}),
        (_store_in_another_order, {"reordered"}),
        (_store_what_nobody_sent, {"invented"}),
        (_store_in_another_partition, {"invented"}),
        (_poll_twice, {"non-monotonic poll"}),
        (_poll_out_of_order, {"non-monotonic poll", "skipped poll"}),
        (_skip, {"skipped poll"}),
        (_skip_at_the_start, {"skipped poll"}),
        (_start_behind_what_was_read, {"unread"}),
        (_see_an_older_commit, {"commit went back"}),
        (_see_no_commit, {"commit went back"}),
        (_see_an_error, {"client error"}),
    ],
)
def test_what_is_wrong_is_found(spoil: Callable[[History], None], kinds: set[str]) -> None:
    history = _good()
    spoil(history)
    assert {violation.kind for violation in check(history)} == kinds


def test_who_sends_again_without_idempotence_may_store_as_often() -> None:
    history = _good()
    _store_twice("plain/8")(history)
    history.producers["plain"].resent[1] = 1
    assert {violation.kind for violation in check(history)} == {"duplicate"}
    history.producers["plain"].resent[0] = 1
    assert check(history) == []
    history.stored.append(Stored(0, 11, "plain/8"))
    history.polled.append(Polled(2, 0, 11, "plain/8", 11))
    assert {violation.kind for violation in check(history)} == {"duplicate"}


def test_an_idempotent_producer_may_not_store_twice_whatever_it_sends_again() -> None:
    history = _good()
    _store_twice("exact/9")(history)
    history.producers["exact"].resent[0] = 1
    assert {violation.kind for violation in check(history)} == {"duplicate"}


def test_a_commit_under_way_may_or_may_not_be_seen() -> None:
    history = _good()
    history.saw_committed.append(SawCommitted("g", 0, 5, 10.2))
    assert check(history) == []


def test_a_write_that_failed_may_be_stored_or_not() -> None:
    history = _good()
    history.acked = [acked for acked in history.acked if acked.offset != 9]
    assert check(history) == []
    _lose_write(history)
    assert check(history) == []
