"""Attempts that failed and may have been carried out all the same: the next one finds it done.

Who else might have done the same meanwhile can't be told apart, and need not be.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.errors import BrokerError, ConnectionLost, RequestTimedOut
from barnabas.wire.errors import ErrorCode


class Doubt:
    """About the attempts of one change."""

    def __init__(self) -> None:
        self.is_open = False

    @contextmanager
    def about_failures(self) -> Iterator[None]:
        """Around everything of an attempt that may fail without an answer."""
        try:
            yield
        except (ConnectionLost, RequestTimedOut):
            self.is_open = True
            raise
        except BrokerError as error:
            self.is_open = self.is_open or error.code is ErrorCode.REQUEST_TIMED_OUT
            raise

    @contextmanager
    def unless_done(self, code: ErrorCode) -> Iterator[None]:
        """Around an attempt at something that is answered with this code where it is done."""
        try:
            with self.about_failures():
                yield
        except BrokerError as error:
            if not self.is_open or error.code is not code:
                raise
