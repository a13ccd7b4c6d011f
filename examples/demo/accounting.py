"""What was sent against what came out: every event in one place, once.

The website knows what it has sent, and so what has to come of it. Readers bring what they have
found. What is missing, there twice, or not as it has to be, is counted.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from examples.demo.traffic import Event

K = TypeVar("K", bound=Hashable)

Row = Mapping[str, Any]


class Check(NamedTuple):
    """One promise, whether it was kept, and the figures."""

    promise: str
    kept: bool
    evidence: str


class Differences(NamedTuple):
    """Between what has to be there and what was found."""

    lost: int
    again: int
    wrong: int
    """Different from what it has to be, or made up."""

    def __bool__(self) -> bool:
        return any(self)

    def __str__(self) -> str:
        return f"{self.lost} lost, {self.again} twice, {self.wrong} wrong"


def compare(expected: Mapping[K, Any], found: Iterable[tuple[K, Any]]) -> Differences:
    """Each has a name, which must be there once, with just this value."""
    times: Counter[K] = Counter()
    wrong = 0
    for name, value in found:
        times[name] += 1
        if name not in expected or expected[name] != value:
            wrong += 1
    lost = sum(name not in times for name in expected)
    return Differences(lost, times.total() - len(times), wrong)


class Account:
    """What has to come of these events."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events = list(events)
        self.views: Counter[tuple[str, datetime]] = Counter()
        self.clicks: dict[str, tuple[str, str]] = {}
        self.searches: dict[str, str] = {}
        self.malformed: dict[bytes, str] = {}
        for event in self.events:
            if event.kind == "view":
                self.views[event.page, event.minute] += 1
            elif event.kind == "click":
                self.clicks[event.id] = (event.view, event.page)
            elif event.kind == "search":
                self.searches[event.id] = event.page
            elif event.kind == "malformed":
                self.malformed[event.value] = event.visitor

    def count(self, kind: str) -> int:
        return sum(event.kind == kind for event in self.events)

    @property
    def late(self) -> int:
        """How many came late, and have to count all the same."""
        return sum(event.is_late for event in self.events)

    # -- the promises --------------------------------------------------------------------------

    def check_sent(self, acknowledged: int, in_topic: int) -> Check:
        return Check(
            "every event that was sent is in the topic, once",
            0 < len(self.events) == acknowledged == in_topic,
            f"{len(self.events):,} sent, {acknowledged:,} acknowledged, {in_topic:,} in the topic",
        )

    def check_views(self, place: str, rows: Iterable[Row]) -> Check:
        """The counts of pages and minutes."""
        found = [((row["page"], time_of(row["minute"])), row["views"]) for row in rows]
        differences = compare(self.views, found)
        return Check(
            f"every page view is in one count, in the {place}",
            bool(self.views) and not differences,
            f"{self.views.total():,} views in {len(found):,} counts: {differences}",
        )

    def check_clicks(self, place: str, rows: Iterable[Row]) -> Check:
        """The pairs of clicks and views."""
        found = [(row["click"], (row["view"], row["page"])) for row in rows]
        differences = compare(self.clicks, found)
        return Check(
            f"every click is joined to its view, in the {place}",
            bool(self.clicks) and not differences,
            f"{len(self.clicks):,} clicks: {differences}",
        )

    def check_searches(self, place: str, rows: Iterable[Row]) -> Check:
        differences = compare(self.searches, [(row["id"], row["page"]) for row in rows])
        return Check(
            f"every search is in the {place}",
            bool(self.searches) and not differences,
            f"{len(self.searches):,} searches: {differences}",
        )

    def check_malformed(self, records: Iterable[tuple[bytes, str]]) -> Check:
        """The dead letters: values, as they were, with their keys."""
        differences = compare(self.malformed, records)
        return Check(
            "every malformed record is a dead letter, as it was",
            bool(self.malformed) and not differences,
            f"{len(self.malformed):,} records: {differences}",
        )

    def check_forgotten(self, dropped: int) -> Check:
        """Spark says how many it has left out."""
        sent = self.count("forgotten")
        return Check(
            "what came a day late, and only that, was left out",
            0 < sent == dropped,
            f"{sent:,} too late, {dropped:,} left out; {self.late:,} up to 5 minutes late, counted",
        )

    def check_sum(self) -> Check:
        """Every record that was sent is of a known kind."""
        kinds = {
            "views": self.views.total(),
            "clicks": len(self.clicks),
            "searches": len(self.searches),
            "malformed": len(self.malformed),
            "too late": self.count("forgotten"),
            "in a minute that is not over": self.count("last view"),
        }
        return Check(
            "that is all of them",
            sum(kinds.values()) == len(self.events),
            " + ".join(f"{count:,} {kind}" for kind, count in kinds.items())
            + f" = {sum(kinds.values()):,}",
        )


def time_of(value: str | datetime) -> datetime:
    """Topics have times as texts, Parquet tables as times."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value
