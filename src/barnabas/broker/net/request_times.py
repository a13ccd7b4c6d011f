"""What is counted of requests, by API: how many, how long they took, and how large the answers are.

The time of a request has two parts: that in which the node works on it, in one turn of the event
loop, and that in which it waits, for other replicas or for records for instance.
"""

from collections.abc import Iterable
from typing import Any

from barnabas.broker.net.connection import Answer
from barnabas.metrics.histogram import SIZES, TIMES_S, Histogram
from barnabas.wire.message import Request
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.produce import ProduceRequest

EVERY = 16
"""Of a frequent API, one request of so many is timed."""
_API_KEYS = 256
_FREQUENT = (ProduceRequest, FetchRequest)


class RequestTimes:
    """Of one API."""

    __slots__ = (
        "_weight",
        "answer_bytes",
        "count",
        "is_frequent",
        "local",
        "name",
        "remote",
        "request_bytes",
        "total",
        "waiting",
    )

    def __init__(self, name: str = "", *, is_frequent: bool = False) -> None:
        self.name = name
        """As Kafka names it: Produce, Fetch, ..."""
        self.is_frequent = is_frequent
        self._weight = EVERY if is_frequent else 1
        self.count = 0
        self.waiting = 0
        """Requests that wait now."""
        self.local = Histogram(TIMES_S)
        self.remote = Histogram(TIMES_S)
        """The waits only, not the requests without one."""
        self.total = Histogram(TIMES_S)
        self.request_bytes = 0
        self.answer_bytes = Histogram(SIZES)

    def worked(self, local_s: float, request_bytes: int) -> None:
        """The node has worked on a request."""
        self.request_bytes += request_bytes * self._weight
        self.local.observe(local_s, self._weight)

    def answered_at_once(self, total_s: float, answer: Answer) -> None:
        self.total.observe(total_s, self._weight)
        if answer is not None:
            self.answer_bytes.observe(sum(map(len, answer)), self._weight)

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
