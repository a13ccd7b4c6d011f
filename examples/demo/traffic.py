"""What visitors of a website do, and when that reaches us: made up, but known exactly.

An event happens at one time and is sent at another, at most `LATEST` later: some phones are in a
tunnel. That is within what the pipelines wait for, so all of these have to count. Those of
`forgotten` are of the day before, too late by any measure. Nothing lies between the two: so it is
known of each event what has to become of it, whatever the order in which they are read.
"""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from math import pi, sin
from typing import Any, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["view", "search", "click", "malformed", "forgotten", "last view"]

OPENING = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(hours=2)
"""The half hour of the website, and the hour until the night watch, are over by now."""
LATEST = timedelta(minutes=5)

PAGES = {"/": 6, "/bread": 3, "/cheese": 4, "/olives": 3, "/wine": 5, "/cart": 2, "/checkout": 1}
"""And how often people go there."""
QUERIES = ["bread", "cheese", "figs", "olives", "salt", "wine"]
VISITORS = [f"visitor-{number:03}" for number in range(200)]

_LATE = 0.12
_CLICKED = 0.3
_MALFORMED = 0.01


class Event(NamedTuple):
    """Something that was sent, and what is known of it."""

    kind: Kind
    id: str
    at: datetime
    visitor: str
    page: str
    value: bytes
    view: str = ""
    """Of a click: what was clicked on."""
    sent_at: datetime = OPENING
    """By the clock of the website."""

    @property
    def minute(self) -> datetime:
        return self.at.replace(second=0, microsecond=0)

    @property
    def is_late(self) -> bool:
        """Whether it comes in a later minute than it belongs to."""
        return self.sent_at - self.minute >= timedelta(minutes=1)


class Traffic:
    """The same seed makes the same events."""

    def __init__(self, seed: int, minutes: int, events_per_minute: int) -> None:
        """`events_per_minute` is about the average."""
        self._random = random.Random(seed)
        self._count = 0
        self._minutes = minutes
        self._per_minute = events_per_minute

    def by_minute(self) -> list[list[Event]]:
        """What is sent in each minute, in order. The last of them are for what comes late."""
        events = [
            event
            for minute in range(self._minutes)
            for event in self._happening_in(OPENING + timedelta(minutes=minute))
        ]
        events.sort(key=lambda event: event.sent_at)
        last = int((events[-1].sent_at - OPENING) / timedelta(minutes=1))
        sent: list[list[Event]] = [[] for _ in range(last + 1)]
        for event in events:
            sent[int((event.sent_at - OPENING) / timedelta(minutes=1))].append(event)
        return sent

    def forgotten(self, count: int) -> list[Event]:
        """Views of yesterday, each in a minute of its own."""
        yesterday = OPENING - timedelta(days=1)
        return [
            self._event("forgotten", yesterday + timedelta(minutes=number))
            for number in range(count)
        ]

    def last(self) -> list[Event]:
        """Event time only goes on when something happens: the night watch has a look, and clicks.

        All that was before is complete then. The view itself is in a minute that stays open. Both
        are needed: Spark takes the time from rows that pass the conditions of a query.
        """
        at = OPENING + timedelta(minutes=self._minutes, hours=1)
        view = self._event("last view", at)
        return [view, self._event("click", at, view=view, after=timedelta(seconds=1))]

    # -- making things up ----------------------------------------------------------------------

    def _happening_in(self, minute: datetime) -> list[Event]:
        found: list[Event] = []
        busy = 1 - 0.5 * sin(2 * pi * (minute - OPENING) / timedelta(minutes=self._minutes))
        while len(found) < self._per_minute * busy:
            at = minute + timedelta(milliseconds=self._random.randrange(60_000))
            chance = self._random.random()
            if chance < _MALFORMED:
                found.append(self._spoilt(self._event("view", at)))
            elif chance < 0.2:
                found.append(self._event("search", at))
            else:
                view = self._event("view", at)
                found.append(view)
                if self._random.random() < _CLICKED:
                    after = timedelta(milliseconds=self._random.randrange(1_000, 90_000))
                    found.append(self._event("click", at, view=view, after=after))
        return found

    def _event(
        self,
        kind: Kind,
        at: datetime,
        view: Event | None = None,
        after: timedelta = timedelta(),
    ) -> Event:
        self._count += 1
        number = f"e{self._count}"
        happened = at + after
        page = view.page if view else self._random.choices([*PAGES], weights=[*PAGES.values()])[0]
        called = {"forgotten": "view", "last view": "view"}.get(kind, kind)
        value: dict[str, Any] = {
            "id": number,
            "kind": called,
            "at": happened.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "page": page,
        }
        if view is not None:
            value["view"] = view.id
        if kind == "search":
            value["query"] = self._random.choice(QUERIES)
        visitor = view.visitor if view else self._random.choice(VISITORS)
        return Event(
            kind,
            number,
            happened,
            visitor,
            page,
            json.dumps(value).encode(),
            view.id if view else "",
            happened + self._delay(),
        )

    def _delay(self) -> timedelta:
        if self._random.random() < _LATE:
            return LATEST * self._random.uniform(0.2, 1)
        return timedelta(milliseconds=self._random.randrange(2_000))

    def _spoilt(self, event: Event) -> Event:
        spoil = self._random.choice(_SPOILERS)
        return event._replace(kind="malformed", value=spoil(event.value))


def _without_page(value: bytes) -> bytes:
    fields = json.loads(value)
    del fields["page"]
    return json.dumps(fields).encode()


_SPOILERS: list[Callable[[bytes], bytes]] = [
    lambda value: value[: len(value) // 2],
    lambda value: value.replace(b'"at": "2', b'"at": "soon'),
    lambda value: value.replace(b'"/', b'"\xff/'),
    _without_page,
]
