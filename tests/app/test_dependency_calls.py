"""Dependencies in threads: context variables, and those of the application that are made once."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Annotated, Any, cast

import pytest

from barnabas import App, Depends, Message
from barnabas.app.attempts import Attempts
from barnabas.app.dependencies import Resolver
from barnabas.app.opened_clients import OpenedClients

TENANT: ContextVar[str] = ContextVar("tenant", default="none")
USER: ContextVar[str] = ContextVar("user", default="none")
MESSAGE = Message("orders", 0, 0, 0, None, b"")
Attempt = Callable[[Message], Awaitable[Any]]


def with_attempts(function: Callable[..., Any], use: Callable[[Attempt], Awaitable[Any]]) -> Any:
    """Attempts of a handler, with threads as in an application that runs."""

    async def main() -> Any:
        app = App()
        app.handler("orders", group="g", concurrency=4)(function)
        (handler,) = app.handlers.values()
        opened = OpenedClients(cast("Any", None), in_threads=True)
        with ThreadPoolExecutor(4) as executor:
            resolver = Resolver({}, opened.run_sync(None))
            nothing = cast("Any", None)
            run_sync = opened.run_sync(executor)
            attempts = Attempts(handler, nothing, nothing, resolver, [], run_sync)
            found = await use(attempts.attempt)
            await resolver.stack.aclose()
        return found

    return asyncio.run(main())


def tenant() -> Iterator[str]:
    token = TENANT.set("ada")
    yield TENANT.get()
    TENANT.reset(token)


async def user(tenant: Annotated[str, Depends(tenant)]) -> AsyncIterator[str]:
    token = USER.set(f"{TENANT.get()}'s user")
    yield tenant
    USER.reset(token)


async def handle(value: bytes, user: Annotated[str, Depends(user)]) -> list[str]:
    return [user, TENANT.get(), USER.get()]


def handle_plainly(value: bytes, user: Annotated[str, Depends(user)]) -> list[str]:
    return [user, TENANT.get(), USER.get()]


@pytest.mark.parametrize("function", [handle, handle_plainly])
def test_what_a_dependency_sets_in_a_context_variable_holds_for_the_attempt(
    function: Callable[..., Any],
) -> None:
    async def use(attempt: Attempt) -> list[Any]:
        return [await attempt(MESSAGE), await attempt(MESSAGE), TENANT.get(), USER.get()]

    seen = ["ada", "ada", "ada's user"]
    assert with_attempts(function, use) == [seen, seen, "none", "none"]


def test_one_of_the_application_is_made_once_for_records_that_come_at_once() -> None:
    calls: list[str] = []
    go_on = threading.Event()

    def pool() -> Iterator[str]:
        token = TENANT.set("of the pool")
        calls.append("open")
        go_on.wait()
        if len(calls) == 1:
            raise ValueError("not yet")
        yield "pool"
        TENANT.reset(token)  # where it was set
        calls.append("close")

    async def store(value: bytes, pool: Annotated[str, Depends(pool, scope="app")]) -> str:
        return pool

    async def use(attempt: Attempt) -> list[Any]:
        found: list[Any] = []
        for _ in range(2):
            go_on.clear()
            several = [asyncio.ensure_future(attempt(MESSAGE)) for _ in range(3)]
            await asyncio.wait(several, timeout=0.05)
            go_on.set()
            found += await asyncio.gather(*several, return_exceptions=True)
        return [str(each) for each in found]

    assert with_attempts(store, use) == ["not yet"] * 3 + ["pool"] * 3
    assert calls == ["open", "open", "close"]


def test_one_of_the_application_that_needs_itself_is_an_error() -> None:
    def pool(of: Any) -> str:
        return str(of)

    pool.__annotations__["of"] = Annotated[Any, Depends(pool)]

    async def store(value: bytes, pool: Annotated[str, Depends(pool, scope="app")]) -> str:
        return pool

    async def use(attempt: Attempt) -> None:
        await attempt(MESSAGE)

    with pytest.raises(ValueError, match="pool depends on itself"):
        with_attempts(store, use)
