"""A history for each promise about transactions that readers see broken, and valid ones."""

import pytest

from barnabas.sim.checks.history import History, Place, Violation
from barnabas.sim.checks.transaction_history import Source, Transaction, TransactionHistory

IN = Place("in", 0)
OUT = [Place("out", 0), Place("out", 1), Place("out", 2)]
GROUP = "g"


class Stage:
    """Transactions that take in one record after the other."""

    def __init__(self) -> None:
        self.transaction_history = TransactionHistory(History(), OUT)
        self._ends = dict.fromkeys(OUT, 0)

    def transact(self, name: str, *offsets: int, wanted: bool = True) -> Transaction:
        transaction = self.transaction_history.begin(name, GROUP, 0)
        for offset in offsets:
            self.transaction_history.take_in(transaction, Source(IN, offset))
        transaction.is_wanted = wanted
        return transaction

    def show(self, transaction: Transaction, places: list[Place] | None = None) -> None:
        """A reader of committed records sees what it wrote."""
        for place in places or OUT:
            for value in transaction.values[place]:
                self.transaction_history.read(place, self._ends[place], value)
                self._ends[place] += 1

    def ask(self, by: Transaction, *, least: int = 0) -> None:
        self.transaction_history.told_offset(GROUP, IN, by.offsets[IN], by.name, least)


def test_what_is_committed_is_seen_once_and_in_order() -> None:
    stage = Stage()
    first, second = stage.transact("a", 0, 1), stage.transact("b", 2)
    stage.transaction_history.answered(first, committed=True)
    for transaction in (first, second):  # of the second the answer was lost
        stage.show(transaction)
        stage.ask(transaction)
    stage.transaction_history.check({IN: 3})
    assert stage.transaction_history.committed == 2


def test_what_may_be_committed_or_not() -> None:
    stage = Stage()
    stage.transact("no answer came", 0, 1)
    again = stage.transact("again", 0, 1)
    stage.show(again)
    stage.ask(again)
    stage.transaction_history.check({IN: 2})


def test_nothing_is_seen_that_nobody_wanted() -> None:
    stage = Stage()
    with pytest.raises(Violation, match="never requested"):
        stage.show(stage.transact("a", 0, wanted=False))
    with pytest.raises(Violation, match="never requested"):
        stage.ask(stage.transact("b", 0, wanted=False))


def test_nothing_is_seen_that_was_aborted() -> None:
    stage = Stage()
    aborted = stage.transact("a", 0)
    stage.transaction_history.answered(aborted, committed=False)
    with pytest.raises(Violation, match="it was aborted before"):
        stage.show(aborted)


def test_what_was_seen_is_not_aborted() -> None:
    stage = Stage()
    seen = stage.transact("a", 0)
    stage.show(seen)
    with pytest.raises(Violation, match="it was committed before"):
        stage.transaction_history.answered(seen, committed=False)


def test_nothing_is_there_twice() -> None:
    stage = Stage()
    stage.show(stage.transact("a", 0))
    with pytest.raises(Violation, match="for in-0@0 stand"):
        stage.show(stage.transact("b", 0))


def test_a_torn_transaction() -> None:
    stage = Stage()
    torn = stage.transact("a", 0)
    stage.show(torn, OUT[:1])
    stage.ask(torn)
    with pytest.raises(Violation, match="out-1 has nothing for in-0@0"):
        stage.transaction_history.check({IN: 1})


def test_a_transaction_without_its_offsets() -> None:
    stage = Stage()
    stage.show(stage.transact("a", 0))
    with pytest.raises(Violation, match="of in-0 only 0 are"):
        stage.transaction_history.check({IN: 0})


def test_a_lost_commit() -> None:
    stage = Stage()
    stage.transaction_history.answered(stage.transact("a", 0), committed=True)
    again = stage.transact("again", 0)
    stage.show(again)
    with pytest.raises(Violation, match="transaction a is committed, and out-0 does not have"):
        stage.transaction_history.check({IN: 1})


def test_records_out_of_order() -> None:
    stage = Stage()
    first, second = stage.transact("a", 0), stage.transact("b", 1)
    stage.show(second)
    stage.show(first)
    with pytest.raises(Violation, match="stands behind"):
        stage.transaction_history.check({IN: 2})


def test_offsets_do_not_go_back() -> None:
    stage = Stage()
    first, second = stage.transact("a", 0), stage.transact("b", 1)
    stage.transaction_history.answered(second, committed=True)
    least = stage.transaction_history.known_offset(GROUP, IN)
    assert least == 2
    assert stage.transaction_history.shown_offset(GROUP, IN) == 0, (
        "its marker may not be written yet"
    )
    stage.ask(first)
    with pytest.raises(Violation, match="had committed 2"):
        stage.ask(first, least=least)


def test_an_offset_of_another_transaction() -> None:
    stage = Stage()
    stage.transact("a", 0)
    with pytest.raises(Violation, match="wrote no such"):
        stage.transaction_history.told_offset(GROUP, IN, 2, "a", 0)
