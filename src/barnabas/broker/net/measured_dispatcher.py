"""A dispatcher that measures requests: see `request_times`.

Each request is counted. Each that waits is timed, and each of the APIs that are not frequent. Of
Produce and Fetch requests that are answered at once, one of 32 is timed and stands for them all:
reading clocks and sorting into buckets costs some microseconds, and such a request takes fifteen.

Without `metrics.listeners` a node has the plain `Dispatcher`, which measures nothing.
"""

from asyncio import Future
from collections.abc import Sequence
from concurrent.futures import Executor
from time import perf_counter

from barnabas.broker.net.connection import Answer, Connection
from barnabas.broker.net.dispatcher import Dispatcher, NodeT, Route, internal_error
from barnabas.broker.net.request_errors import RequestErrors
from barnabas.broker.net.request_times import AllRequestTimes, RequestTimes
from barnabas.broker.quotas.request_quota import RequestQuota
from barnabas.wire.primitives import WireError


class MeasuredDispatcher(Dispatcher[NodeT]):
    def __init__(
        self,
        node: NodeT,
        routes: Sequence[Route[NodeT]],
        errors: RequestErrors | None = None,
        decoder: Executor | None = None,
    ) -> None:
        super().__init__(node, routes, errors, decoder)
        self._plain = super().dispatch
        self.times = AllRequestTimes(route.request_type for route in routes)
        self._by_key = self.times.by_key
        self._in_place_by_key = list(map(self._in_place.get, range(len(self._by_key))))

    def dispatch(
        self, frame: memoryview, connection: Connection, quota: RequestQuota | None = None
    ) -> Answer | Future[Answer]:
        """As `Dispatcher.dispatch`, which it does not call for a request that takes the short cut:
        that call would be most of what counting costs."""
        try:
            key = frame[0] << 8 | frame[1]
            times = self._by_key[key]
        except IndexError:  # no API has such a key
            return self._plain(frame, connection, quota)
        left = times.until_timed
        if not left:
            return self._timed(times, frame, connection, quota)
        times.until_timed = left - 1
        answer: Answer | Future[Answer] = None
        in_place = self._in_place_by_key[key]
        if in_place is None or (quota is not None and not quota.is_brief):
            answer = self._plain(frame, connection, quota)
        else:
            try:
                answer = in_place(self._node, frame, connection)
                if answer is None:
                    answer = self._handle(frame, connection, quota)
            except WireError:
                raise
            except Exception as error:  # as in `Dispatcher.dispatch`
                raise internal_error(connection, error) from error
        if type(answer) is not list and isinstance(answer, Future):  # the second is slower
            _time_wait(answer, times, perf_counter(), 0.0)
        return answer

    def _timed(
        self,
        times: RequestTimes,
        frame: memoryview,
        connection: Connection,
        quota: RequestQuota | None,
    ) -> Answer | Future[Answer]:
        times.time_next()
        began = perf_counter()
        answer = self._plain(frame, connection, quota)
        local_s = perf_counter() - began
        if isinstance(answer, Future):
            times.worked(local_s, len(frame))
            _time_wait(answer, times, began, local_s)
        else:
            times.answered_at_once(local_s, len(frame), answer)
        return answer


def _time_wait(answer: "Future[Answer]", times: RequestTimes, began: float, local_s: float) -> None:
    times.waiting += 1

    def answered(done: "Future[Answer]") -> None:
        times.waiting -= 1
        failed = done.cancelled() or done.exception() is not None
        total_s = perf_counter() - began
        times.answered_later(total_s, total_s - local_s, None if failed else done.result())

    answer.add_done_callback(answered)
