"""The website: sends what its visitors do, and knows what it has sent.

Its clock runs fast, a minute in a second or so, but never gets more than `AHEAD` minutes ahead of
what the cluster has acknowledged. So a reader of all partitions up to their ends sees no event
much later than others that were sent after it, even while a partition waits for a new leader. That
is what a watermark relies on; no real clock is so fast that one would have to care.
"""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Sequence

import barnabas
from barnabas.client.producer.sent_record import Sent
from examples.demo.traffic import OPENING, Event

AHEAD = 2

_ROUND = 20


class Website:
    """Sends to a topic. Use one producer for all of its life."""

    def __init__(self, producer: barnabas.aio.Producer, topic: str) -> None:
        self._producer = producer
        self._topic = topic
        self._unacknowledged: deque[list[Sent]] = deque()
        self.clock = OPENING
        self.sent: list[Event] = []
        self.acknowledged_at: defaultdict[int, list[float]] = defaultdict(list)
        """For each partition the times of the acknowledgements, by the clock of this machine."""

    @property
    def acknowledged(self) -> int:
        return sum(map(len, list(self.acknowledged_at.values())))

    async def send(self, events: Sequence[Event], seconds: float = 0.0) -> None:
        """Send what belongs to one minute of the website's, in so much of ours."""
        while len(self._unacknowledged) >= AHEAD:
            await self._wait_for(self._unacknowledged.popleft())
        on_their_way: list[Sent] = []
        self._unacknowledged.append(on_their_way)
        began = time.monotonic()
        for number, event in enumerate(events, 1):
            sent = await self._producer.send(self._topic, event.value, key=event.visitor.encode())
            sent.add_done_callback(self._note)
            on_their_way.append(sent)
            self.sent.append(event)
            self.clock = max(self.clock, event.sent_at)
            if number % _ROUND == 0 or number == len(events):
                due = began + seconds * number / len(events)
                await asyncio.sleep(max(due - time.monotonic(), 0))

    async def settle(self) -> None:
        """Wait until everything is acknowledged."""
        while self._unacknowledged:
            await self._wait_for(self._unacknowledged.popleft())

    async def _wait_for(self, on_their_way: list[Sent]) -> None:
        for sent in on_their_way:
            await sent

    def _note(self, sent: Sent) -> None:
        """In another thread; it only takes a note."""
        if sent.exception() is None:
            self.acknowledged_at[sent.result().partition].append(time.monotonic())
