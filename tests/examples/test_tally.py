"""The tally of the demo notices what transactions must never do."""

from collections.abc import Callable
from typing import Any

import pytest

from examples.demo.ledger import PageView
from examples.demo.tally import Tally

VIEWS = [PageView("ada", "/", click) for click in range(6)]


def count(transaction: str, view: PageView) -> dict[str, Any]:
    value = {"user": view.user, "click": view.click, "transaction": transaction}
    return {"key": view.page, "value": value}


def say(tally: Tally, transaction: str, *states: str) -> None:
    for state in states:
        tally.told({"transaction": transaction, "state": state})


def write(tally: Tally, transaction: str, *views: PageView, seen: bool) -> None:
    for view in views:
        tally.found(count(transaction, view))
        if seen:
            tally.saw(count(transaction, view))


def honest_tally() -> Tally:
    """A counter that rolls back, one that is killed, and one that goes on."""
    tally = Tally()
    say(tally, "1-1", "open", "committing", "rolled back")
    write(tally, "1-1", *VIEWS[:2], seen=False)
    say(tally, "1-2", "open", "committing", "committed")
    write(tally, "1-2", *VIEWS[:3], seen=True)
    say(tally, "1-3", "open")
    write(tally, "1-3", *VIEWS[3:5], seen=False)
    assert tally.crashed()
    say(tally, "2-1", "committing", "committed")  # there was nothing to count
    say(tally, "2-2", "open", "committing", "committed")
    write(tally, "2-2", *VIEWS[3:], seen=True)
    return tally


def broken(tally: Tally) -> list[str]:
    return [each.promise.split(":")[0] for each in tally.checks(VIEWS) if not each.kept]


def test_an_honest_tally_breaks_no_promise() -> None:
    tally = honest_tally()
    assert broken(tally) == []
    assert [each.evidence for each in tally.checks(VIEWS)] == [
        "6 of 6 counted, 0 lost, 0 counted again",
        "2 committed, 1 rolled back, 1 abandoned; 0 torn, 0 missing",
        "2 records of 1 transactions, 0 seen",
    ]


def lose(tally: Tally) -> None:
    del tally.times[VIEWS[0]]


def count_again(tally: Tally) -> None:
    say(tally, "2-3", "open", "committing", "committed")
    write(tally, "2-3", VIEWS[0], seen=True)


def count_what_never_was(tally: Tally) -> None:
    say(tally, "2-3", "open", "committing", "committed")
    write(tally, "2-3", PageView("eve", "/", 0), seen=True)


def tear(tally: Tally) -> None:
    say(tally, "2-3", "open", "committing")
    write(tally, "2-3", VIEWS[0], seen=True)
    write(tally, "2-3", VIEWS[1], seen=False)
    tally.times[VIEWS[0]] -= 1


def hide(tally: Tally) -> None:
    say(tally, "2-3", "open", "committing", "committed")
    write(tally, "2-3", VIEWS[0], seen=False)


def show_what_was_left(tally: Tally) -> None:
    tally.seen["1-3"] = 2


def show_what_was_rolled_back(tally: Tally) -> None:
    tally.seen["1-1"] = 2


def leave_nothing(tally: Tally) -> None:
    del tally.in_log["1-3"]


@pytest.mark.parametrize(
    ("wrong", "promises"),
    [
        (lose, ["exactly once"]),
        (count_again, ["exactly once"]),
        (count_what_never_was, ["exactly once"]),
        (tear, ["transactions"]),
        (hide, ["transactions"]),
        (show_what_was_left, ["isolation"]),
        (show_what_was_rolled_back, ["isolation"]),
        (leave_nothing, ["isolation"]),
    ],
)
def test_a_broken_promise_is_noticed(wrong: Callable[[Tally], None], promises: list[str]) -> None:
    tally = honest_tally()
    wrong(tally)
    assert broken(tally) == promises


def test_who_counts_nothing_keeps_no_promise() -> None:
    assert not any(each.kept for each in Tally().checks([]))


def test_a_commit_under_way_may_have_happened_so_it_is_not_abandoned() -> None:
    tally = Tally()
    assert not tally.crashed()
    say(tally, "1-1", "open", "committing")
    assert not tally.crashed()
    say(tally, "2-1", "open", "committing", "committed")
    assert not tally.crashed()
    say(tally, "3-1", "open")
    assert tally.crashed()
    assert tally.count("abandoned") == 1
