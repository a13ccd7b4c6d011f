"""A dispatcher that measures requests: see `request_times`.

Each request is counted. Each that waits is timed, and each of the APIs that are not frequent. Of
Produce and Fetch requests that are answered at once, every sixteenth is timed and stands for
sixteen: reading clocks and sorting into buckets costs a microsecond, of the fifteen that such a
request takes.

Without `metrics.listeners` a node has the plain `Dispatcher`, which measures nothing.
"""

from asyncio import Future
from collections.abc import Sequence
from time import perf_counter

from barnabas.broker.net.connection import Answer, Connection
from barnabas.broker.net.dispatcher import Dispatcher, NodeT, Route
from barnabas.broker.net.request_times import EVERY, AllRequestTimes, RequestTimes
from barnabas.broker.quotas.request_quota import RequestQuota


class MeasuredDispatcher(Dispatcher[NodeT]):
    def __init__(self, node: NodeT, routes: Sequence[Route[NodeT]]) -> None:
        super().__init__(node, routes)
        self._plain = super().dispatch
        self.times = AllRequestTimes(route.request_type for route in routes)
        self._by_key = self.times.by_key

    def dispatch(
        self, frame: memoryview, connection: Connection, quota: RequestQuota | None = None
    ) -> Answer | Future[Answer]:
        try:
            times = self._by_key[frame[1]]  # a key above 255 is not served
        except IndexError:
            return self._plain(frame, connection, quota)
        times.count += 1
        if times.is_frequent and times.count % EVERY:
            answer = self._plain(frame, connection, quota)
            if isinstance(answer, Future):
                _time_wait(answer, times, perf_counter(), 0.0)
            return answer
        began = perf_counter()
        answer = self._plain(frame, connection, quota)
        local_s = perf_counter() - began
        times.worked(local_s, len(frame))
        if isinstance(answer, Future):
            _time_wait(answer, times, began, local_s)
        else:
            times.answered_at_once(local_s, answer)
        return answer


def _time_wait(answer: "Future[Answer]", times: RequestTimes, began: float, local_s: float) -> None:
    times.waiting += 1

    def answered(done: "Future[Answer]") -> None:
        times.waiting -= 1
        failed = done.cancelled() or done.exception() is not None
        total_s = perf_counter() - began
        times.answered_later(total_s, total_s - local_s, None if failed else done.result())

    answer.add_done_callback(answered)
