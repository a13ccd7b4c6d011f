"""Closes connections whose request does not arrive: uvicorn itself waits for ever.

A client that sends a byte now and then would hold a connection for each of its requests, until no
other client gets one. For the same reason a new connection takes the place of one that waits for a
request, if there are too many: of the address that has the most of them, the oldest.
"""

from asyncio import TimerHandle, Transport
from collections import Counter
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 60.0
"""A whole request, with its body, has to arrive in that time."""
MAX_CONNECTIONS = 500


class TimedProtocol(H11Protocol):
    """HTTP/1.1 as of uvicorn, with a limit on how long a request takes to arrive."""

    request_s = REQUEST_S
    _deadline: TimerHandle | None = None
    _made_s = 0.0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._made_s = self.loop.time()
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._make_room()
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE and self.conn.their_state is not h11.SEND_BODY:
            self._stop_waiting()
        elif self._deadline is None:
            self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _make_room(self) -> None:
        timed = (each for each in self.connections if isinstance(each, TimedProtocol))
        waiting = [each for each in timed if each is not self and each._waits]
        held = Counter(each._peer for each in waiting)
        if waiting:
            chosen = max(waiting, key=lambda each: (held[each._peer], -each._made_s))
            self.connections.discard(chosen)
            chosen.transport.abort()

    @property
    def _waits(self) -> bool:
        """For a request, or for the rest of one."""
        return self._deadline is not None or self.cycle.response_complete

    @property
    def _peer(self) -> str:
        return self.client[0] if self.client else ""

    def _wait_for_request(self) -> None:
        self._deadline = self.loop.call_later(self.request_s, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self, *_: Any) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()
