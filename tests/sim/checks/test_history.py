"""A history for each promise that clients see broken, and what is no breach."""

import pytest

from barnabas.sim.checks.history import History, Place, Violation

P = Place("t", 0)
Q = Place("t", 1)


def _history() -> History:
    history = History()
    for value in (b"a:0", b"a:1", b"a:2", b"b!:0", b"b!:1"):
        history.sending(P, value)
    return history


def test_what_was_acknowledged_is_read_where_it_stands() -> None:
    history = _history()
    history.acknowledge(P, 0, b"a:0")
    history.read(P, 0, b"a:0")
    history.read(P, 1, b"a:0")  # a plain producer may have repeated itself
    history.check_order(P)


def test_another_record_where_one_was_acknowledged() -> None:
    history = _history()
    history.acknowledge(P, 0, b"a:0")
    with pytest.raises(Violation, match="was there before"):
        history.read(P, 0, b"a:1")


def test_a_record_that_changes_between_two_readers() -> None:
    history = _history()
    history.read(P, 0, b"a:0")
    with pytest.raises(Violation, match="was there before"):
        history.read(P, 0, b"b!:0")


def test_a_record_that_nobody_sent_or_that_was_sent_elsewhere() -> None:
    history = _history()
    with pytest.raises(Violation, match="never sent"):
        history.read(P, 0, b"c:0")
    with pytest.raises(Violation, match="never sent"):
        history.read(Q, 0, b"a:0")


def test_an_idempotent_producer_is_stored_once() -> None:
    history = _history()
    history.read(P, 0, b"b!:0")
    with pytest.raises(Violation, match="idempotent"):
        history.read(P, 3, b"b!:0")


def test_the_order_of_a_producer() -> None:
    history = _history()
    history.read(P, 0, b"a:1")
    history.read(P, 1, b"a:0")
    history.acknowledge(P, 0, b"a:1")
    history.check_order(P)  # the first one was given up, and came late
    history.acknowledge(P, 1, b"a:0")
    with pytest.raises(Violation, match="stands behind"):
        history.check_order(P)
    history.check_order(P, is_compacted=True)  # what is left may be a repetition
    history.read(P, 2, b"b!:1")
    history.read(P, 3, b"b!:0")
    with pytest.raises(Violation, match="stands behind"):
        history.check_order(P, is_compacted=True)


def test_an_end_that_goes_back() -> None:
    history = _history()
    least = history.known_end(P)
    history.end(P, 5, least)
    history.end(P, 3, least)  # asked before the other was answered
    with pytest.raises(Violation, match="ended at 5"):
        history.end(P, 4, history.known_end(P))


def test_a_commit_that_goes_back() -> None:
    history = _history()
    history.commit("g", P, 7)
    history.committed("g", P, 9, 7)  # a later one may be there before its answer is
    with pytest.raises(Violation, match="had committed 7"):
        history.committed("g", P, 6, 7)


def test_two_owners_in_a_generation() -> None:
    history = _history()
    history.assigned("g", 1, "m", [P])
    history.assigned("g", 2, "n", [P, Q])
    with pytest.raises(Violation, match="belongs to"):
        history.assigned("g", 2, "m", [Q])


def test_an_empty_partition_needs_no_commit() -> None:
    history = History()
    assert history.is_all_committed("g", P)
    history.commit("g", P, -1)  # what a client reads that asks for a committed offset
    assert history.is_all_committed("g", P)
    history.sending(P, b"a:0")
    history.acknowledge(P, 0, b"a:0")
    assert not history.is_all_committed("g", P)
    history.commit("g", P, 1)
    assert history.is_all_committed("g", P)
