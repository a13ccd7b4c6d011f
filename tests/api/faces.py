"""Both faces of the clients behind blocking calls, so that a test can ask the same of both."""

import asyncio
from collections.abc import Iterator
from inspect import isawaitable
from typing import Any, Protocol, Self

import barnabas
import barnabas.aio


class Face(Protocol):
    def producer(self, *args: Any, **settings: Any) -> Any: ...

    def consumer(self, *args: Any, **settings: Any) -> Any: ...

    def queue(self, *args: Any, **settings: Any) -> Any: ...


class Blocking:
    def producer(self, *args: Any, **settings: Any) -> barnabas.Producer:
        return barnabas.Producer(*args, **settings)

    def consumer(self, *args: Any, **settings: Any) -> barnabas.Consumer:
        return barnabas.Consumer(*args, **settings)

    def queue(self, *args: Any, **settings: Any) -> barnabas.Queue:
        return barnabas.Queue(*args, **settings)


class Waited:
    """A client for asyncio; every call is waited for in a loop of its own."""

    def __init__(self, client: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._client = client
        self._loop = loop

    def __enter__(self) -> Self:
        self._loop.run_until_complete(self._client.__aenter__())
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.run_until_complete(self._client.__aexit__(*error))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not callable(found):
            return found

        def call(*args: Any, **named: Any) -> Any:
            result = found(*args, **named)
            if hasattr(result, "__anext__"):
                return self._iterate(result)
            return self._loop.run_until_complete(result) if isawaitable(result) else result

        return call

    def __iter__(self) -> Iterator[Any]:
        return self._iterate(aiter(self._client))

    def _iterate(self, iterator: Any) -> Iterator[Any]:
        while True:
            try:
                yield self._loop.run_until_complete(anext(iterator))
            except StopAsyncIteration:
                return


class Asyncio:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def producer(self, *args: Any, **settings: Any) -> Waited:
        return Waited(barnabas.aio.Producer(*args, **settings), self._loop)

    def consumer(self, *args: Any, **settings: Any) -> Waited:
        return Waited(barnabas.aio.Consumer(*args, **settings), self._loop)

    def queue(self, *args: Any, **settings: Any) -> Waited:
        return Waited(barnabas.aio.Queue(*args, **settings), self._loop)
