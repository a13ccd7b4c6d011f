"""What became of the counter's transactions: as it says itself, and as readers see it."""

from collections import Counter
from collections.abc import Collection
from typing import Any

from examples.demo.ledger import Check, PageView


class Tally:
    """The word of the counter, and afterwards all that is in its topic."""

    def __init__(self) -> None:
        self.counted = 0
        """How many page views lie before the offsets that were committed with the counts."""
        self.states: dict[str, str] = {}
        """The last word on each transaction; a dictionary keeps their order."""
        self.in_log: Counter[str] = Counter()
        """How many records of each transaction there are."""
        self.seen: Counter[str] = Counter()
        """How many of them somebody saw who reads committed records."""
        self.times: Counter[PageView] = Counter()
        """How often that one saw a page view counted."""

    def told(self, row: dict[str, Any]) -> None:
        """By the counter. A transaction without a record is of no interest."""
        if row["state"] == "open" or row["transaction"] in self.states:
            self.states[row["transaction"]] = row["state"]

    def crashed(self) -> bool:
        """The counter was killed; whether in mid-transaction, and not while it committed one."""
        last = next(reversed(self.states), "")
        if self.states.get(last) != "open":
            return False
        self.states[last] = "abandoned"
        return True

    def found(self, row: dict[str, Any]) -> None:
        """By somebody who reads everything."""
        self.in_log[row["value"]["transaction"]] += 1

    def saw(self, row: dict[str, Any]) -> None:
        """By somebody who reads what was committed."""
        value = row["value"]
        self.seen[value["transaction"]] += 1
        self.times[PageView(value["user"], row["key"], value["click"])] += 1

    def count(self, state: str) -> int:
        """How many transactions were left in this state."""
        return len(self._in_state(state))

    def _in_state(self, state: str) -> list[str]:
        return [each for each, its_state in self.states.items() if its_state == state]

    # -- the promises --------------------------------------------------------------------------

    def checks(self, views: Collection[PageView]) -> list[Check]:
        """`views` is what there was to count."""
        return [self._exactly_once(views), self._all_or_nothing(), self._hidden()]

    def _exactly_once(self, views: Collection[PageView]) -> Check:
        lost = len(set(views) - self.times.keys())
        unknown = len(self.times.keys() - set(views))
        again = self.times.total() - len(self.times)
        return Check(
            "exactly once: every page view was counted, and none twice",
            bool(views) and not (lost or unknown or again),
            f"{len(self.times):,} of {len(views):,} counted, {lost} lost, {again} counted again",
        )

    def _all_or_nothing(self) -> Check:
        """Also of those that nobody knows the outcome of, as the counter died meanwhile."""
        torn = sum(self.seen[each] not in (0, count) for each, count in self.in_log.items())
        committed = self._in_state("committed")
        missing = sum(self.seen[each] == 0 for each in committed)
        return Check(
            "transactions: readers of committed records saw all of each, or nothing",
            bool(committed) and not (torn or missing or self.seen.keys() - self.in_log.keys()),
            f"{len(committed)} committed, {self.count('rolled back')} rolled back, "
            f"{self.count('abandoned')} abandoned; {torn} torn, {missing} missing",
        )

    def _hidden(self) -> Check:
        abandoned = self._in_state("abandoned")
        seen = sum(self.seen[each] for each in [*abandoned, *self._in_state("rolled back")])
        in_log = sum(self.in_log[each] for each in abandoned)
        return Check(
            "isolation: what a killed counter left is in the log, and nobody saw it",
            bool(abandoned) and all(self.in_log[each] for each in abandoned) and not seen,
            f"{in_log:,} records of {len(abandoned)} transactions, {seen} seen",
        )
