"""Requests to handle records again: a runner applies them when it has nothing in hand.

A consumer that goes back forgets what is not done. If records were still being handled then, their
end would be taken for that of records that are read again, and those would never be handled.
"""

import asyncio
from contextvars import ContextVar
from datetime import datetime

from barnabas.app.ports import Source
from barnabas.errors import BarnabasError, InvalidArgument


class Rewinds:
    """Of one runner."""

    def __init__(self) -> None:
        self._asked: list[tuple[datetime | None, asyncio.Future[None]]] = []

    @property
    def are_asked(self) -> bool:
        """Whether a request waits."""
        return bool(self._asked)

    def enter(self) -> None:
        """This task, and those it starts, are the runner's."""
        _current.set(self)

    async def ask(self, when: datetime | None) -> None:
        """Go back to `when`, or to the beginning; returns when that is done.

        In the handler itself it returns at once, since the handler has to end first.
        """
        applied: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asked.append((when, applied))
        if _current.get() is not self:
            await applied

    async def apply(self, source: Source) -> None:
        """Nothing is in hand now."""
        while self._asked:
            when, applied = self._asked.pop(0)
            try:
                if when is None:
                    await source.seek_to_beginning()
                else:
                    await source.seek_to_time(when)
            except BarnabasError as error:
                _answer(applied, error)
            else:
                _answer(applied)

    def end(self) -> None:
        """The runner has ended."""
        for _, applied in self._asked:
            _answer(applied, InvalidArgument("the application is not running"))
        self._asked.clear()


def _answer(applied: asyncio.Future[None], error: BarnabasError | None = None) -> None:
    if applied.done():
        return  # cancelled
    if error is None:
        applied.set_result(None)
    else:
        applied.set_exception(error)
        applied.exception()  # it may be that none waits


_current: ContextVar[Rewinds | None] = ContextVar("rewinds", default=None)
