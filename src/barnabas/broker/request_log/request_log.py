"""The way of requests while some of them are logged.

Without `request.log.clients` and `request.log.slow.ms` no request comes here: connections are
switched when one of them is set, and switched back when both are unset.
"""

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from barnabas.broker.net.connection import Answer, Connection, Dispatch
from barnabas.broker.request_log.client_filter import ClientFilter
from barnabas.broker.request_log.logged_request import LoggedRequest, logger
from barnabas.broker.request_log.request_text import request_text
from barnabas.broker.request_log.slow_rate import SlowRate
from barnabas.broker.settings.component_settings import MonitoringSettings
from barnabas.wire.framing import decode_request_header
from barnabas.wire.message import Request
from barnabas.wire.primitives import Reader

_NEVER_S = float("inf")


class RequestLog:
    def __init__(
        self,
        loop: AbstractEventLoop,
        now: Callable[[], float],
        kinds: Iterable[type[Request[Any]]],
    ) -> None:
        """`now` is a fine clock, the one that the event loop's time is taken from."""
        self._loop = loop
        self._now = now
        self._kinds = {kind.API_KEY: kind for kind in kinds}
        self._settings: tuple[str, int] = ("", -1)
        self._filter: ClientFilter | None = None
        self._slow_s = _NEVER_S
        self._rate = SlowRate(now, _report_left_out)
        self._inner: Dispatch | None = None

    def configure(self, settings: MonitoringSettings) -> bool:
        """Take over new settings; whether they differ from the ones before."""
        before, self._settings = (
            self._settings,
            (settings.request_log_clients, settings.request_log_slow_ms),
        )
        clients, slow_ms = self._settings
        if before != self._settings:
            self._filter = ClientFilter(clients) if clients else None
            self._slow_s = slow_ms / 1_000 if slow_ms >= 0 else _NEVER_S
        return before != self._settings

    def around(self, dispatch: Dispatch) -> Dispatch:
        """`dispatch`, or one that logs and calls it."""
        self._inner = dispatch
        is_on = self._filter is not None or self._slow_s < _NEVER_S
        return self.dispatch if is_on else dispatch

    def dispatch(self, frame: memoryview, connection: Connection) -> "Answer | Future[Answer]":
        """Raises what the dispatch around which it is raises."""
        assert self._inner is not None
        is_meant = self._filter is not None and self._filter.matches(frame, connection)
        if not is_meant and self._slow_s == _NEVER_S:
            return self._inner(frame, connection)
        request = self._begin(frame, connection, is_meant)
        if request is None:
            return self._inner(frame, connection)
        began = self._now()
        request.queue_s = max(0.0, began - connection.waiting_since)
        answer = self._inner(frame, connection)
        done = self._now()
        request.local_s = done - began
        if isinstance(answer, Future):
            answer.add_done_callback(partial(self._answered, request, done))
        elif is_meant or request.slow_s >= self._slow_s or _is_large(answer):
            request.answered(answer)
            self._watch(request, done, answer)
        return answer

    def _begin(
        self, frame: memoryview, connection: Connection, is_meant: bool
    ) -> LoggedRequest | None:
        """None for a request that will be refused."""
        kind = self._kinds.get(int.from_bytes(frame[:2]))
        if kind is None:
            return None
        header = decode_request_header(Reader(frame))
        text = request_text(frame, kind) if is_meant else None
        return LoggedRequest(connection, header, kind, len(frame), text)

    def _answered(self, request: LoggedRequest, began: float, done: "Future[Answer]") -> None:
        now = self._now()
        request.remote_s = now - began
        if done.cancelled() or done.exception() is not None:
            request.has_answer = False
            self._finish(request)
            return
        request.answered(done.result())
        self._watch(request, now, done)

    def _watch(
        self, request: LoggedRequest, answered: float, answer: "Answer | Future[Answer]"
    ) -> None:
        """Wait until the socket has taken the answer."""
        queued_until = answered

        def look() -> bool:
            """Whether it is over."""
            nonlocal queued_until
            connection = request.connection
            now = self._now()
            if connection.owes(answer):
                queued_until = now
                return False
            if not connection.is_writable:
                return False
            if queued_until > answered:
                request.response_queue_s = queued_until - answered
            request.send_s = now - queued_until
            self._finish(request)
            return True

        self._loop.call_soon(request.connection.when_sent, look)

    def _finish(self, request: LoggedRequest) -> None:
        is_slow = request.slow_s >= self._slow_s
        if request.is_of_interest or (is_slow and self._rate.allows_one()):
            request.log(is_slow=is_slow)


def _is_large(answer: Answer) -> bool:
    """Whether the socket may not take it at once."""
    return answer is not None and len(answer) > 1


def _report_left_out(count: int) -> None:
    logger.warning("%d more slow requests were not logged", count)
