"""The calls of one attempt share what they set in context variables.

Plain functions run in threads, each in a `Context`. A generator that sets a variable before its
`yield` and resets it after must be in the same one for both, and the handler is to see the value.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar, Token, copy_context
from typing import Any

_UNSET = object()


class OneContext:
    """Of the task that makes it, which makes one call after the other."""

    def __init__(self, run_sync: Callable[..., Awaitable[Any]]) -> None:
        self._run_sync = run_sync
        self._context = copy_context()
        self._seen = dict(self._context.items())
        self._tokens: list[tuple[ContextVar[Any], Token[Any]]] = []

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a plain function with what coroutines of this task have set, and the reverse."""
        self._context.run(self._take, dict(copy_context().items()))
        try:
            return await self._run_sync(self._context.run, function, *arguments)
        except asyncio.CancelledError:
            self._context = self._context.copy()  # the thread may still be in the other
            raise
        finally:
            self._give()

    def restore(self) -> None:
        """The task goes on with what it had."""
        while self._tokens:
            variable, token = self._tokens.pop()
            variable.reset(token)

    def _take(self, given: dict[ContextVar[Any], Any]) -> None:
        for variable, value in given.items():
            if self._seen.get(variable, _UNSET) is not value:
                variable.set(value)

    def _give(self) -> None:
        for variable, value in self._context.items():
            if variable.get(_UNSET) is not value:
                self._tokens.append((variable, variable.set(value)))
        self._seen = dict(copy_context().items())
