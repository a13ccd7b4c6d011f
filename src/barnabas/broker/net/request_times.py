"""What is counted of requests, by API: how many, how long they took, and how large the answers are.

The time of a request has two parts: that in which the node works on it, in one turn of the event
loop, and that in which it waits, for other replicas or for records for instance.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from barnabas.broker.net.connection import Answer
from barnabas.metrics.histogram import SIZES, TIMES_S, Histogram
from barnabas.wire.message import Request
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.produce import ProduceRequest

EVERY = 32
"""Of a frequent API, one request of so many is timed."""
_API_KEYS = 256
_FREQUENT = (ProduceRequest, FetchRequest)


class RequestTimes:
    """Of one API."""

    __slots__ = (
        "_weight",
        "answer_bytes",
        "local",
        "name",
        "remote",
        "request_bytes",
        "timed",
        "total",
        "until_timed",
        "waiting",
    )

    def __init__(self, name: str = "", *, is_frequent: bool = False) -> None:
        self.name = name
        """As Kafka names it: Produce, Fetch, ..."""
        self._weight = EVERY if is_frequent else 1
        self.timed = 0
        """Requests that were timed, each of which stands for `_weight`."""
        self.until_timed = 0
        """How many are only counted before the next one is timed."""
        self.waiting = 0
        """Requests that wait now."""
        self.local = Histogram(TIMES_S)
        self.remote = Histogram(TIMES_S)
        """The waits only, not the requests without one."""
        self.total = Histogram(TIMES_S)
        self.request_bytes = 0
        self.answer_bytes = Histogram(SIZES)

    @property
    def count(self) -> int:
        """All requests so far."""
        return self.timed * self._weight - self.until_timed

    def time_next(self) -> None:
        """A request is timed, and the next ones are not."""
        self.timed += 1
        self.until_timed = self._weight - 1

    def worked(self, local_s: float, request_bytes: int) -> None:
        """The node has worked on a request, which waits now."""
        self.request_bytes += request_bytes * self._weight
        self.local.observe(local_s, self._weight)

    def answered_at_once(self, local_s: float, request_bytes: int, answer: Answer) -> None:
        """The node has worked on a request, and that was all: the time is looked up once."""
        weight = self._weight
        self.request_bytes += request_bytes * weight
        bucket = bisect_left(TIMES_S, local_s)
        for each in (self.local, self.total):
            each.counts[bucket] += weight
            each.sum += local_s * weight
        if answer is not None:
            size = len(answer[0]) if len(answer) == 1 else sum(map(len, answer))
            self.answer_bytes.observe(size, weight)

    def answered_later(self, total_s: float, remote_s: float, answer: Answer) -> None:
        self.total.observe(total_s)
        self.remote.observe(remote_s)
        if answer is not None:
            self.answer_bytes.observe(sum(map(len, answer)))

    def rotate(self) -> None:
        for each in (self.local, self.remote, self.total):
            each.rotate()


class AllRequestTimes:
    """Of all APIs, by key."""

    def __init__(self, kinds: Iterable[type[Request[Any]]]) -> None:
        self.by_key = [RequestTimes() for _ in range(_API_KEYS)]
        for kind in kinds:
            self.by_key[kind.API_KEY] = RequestTimes(
                kind.__name__.removesuffix("Request"), is_frequent=kind in _FREQUENT
            )

    def used(self) -> list[RequestTimes]:
        """Those of APIs that had a request."""
        return [each for each in self.by_key if each.name and each.count]

    def rotate(self) -> None:
        for each in self.used():
            each.rotate()
