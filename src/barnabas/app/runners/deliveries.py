"""Results on their way: a record is done when all of its results are delivered."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from barnabas.app.attempts import SentResult
from barnabas.app.outgoing import Encoded
from barnabas.records.message import Message


class Deliveries:
    """Of one handler. Results of a record may go to several topics, and so to several brokers.

    `done` and `failed`, the latter with what was not delivered and the error, are called in the
    thread that sends.
    """

    def __init__(
        self,
        done: Callable[[Message], object],
        failed: Callable[[Message, list[Encoded], BaseException], object],
    ) -> None:
        self._done = done
        self._failed = failed
        self._lock = threading.Lock()
        self.pending = 0
        """Records whose results are on their way."""

    def expect(self, message: Message, results: Sequence[SentResult]) -> None:
        """The record is done when these are delivered, and has failed if one of them has."""
        if not results:
            self._done(message)
            return
        awaited = _Awaited(message, len(results))
        with self._lock:
            self.pending += 1
        for each in results:
            each.receipt.add_done_callback(partial(self._settled, awaited, each.record))

    def _settled(self, awaited: "_Awaited", record: Encoded, sent: Any) -> None:
        error = sent.exception()
        with self._lock:
            awaited.left -= 1
            if error is not None:
                awaited.error = awaited.error or error
                awaited.undelivered.append(record)
            if awaited.left:
                return
        if awaited.error is None:
            self._done(awaited.message)
        else:
            self._failed(awaited.message, awaited.undelivered, awaited.error)
        with self._lock:
            self.pending -= 1


class _Awaited:
    """A record, and how many of its results are on their way."""

    __slots__ = ("error", "left", "message", "undelivered")

    def __init__(self, message: Message, left: int) -> None:
        self.message = message
        self.left = left
        self.error: BaseException | None = None
        self.undelivered: list[Encoded] = []
