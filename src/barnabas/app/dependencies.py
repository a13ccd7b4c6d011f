"""Dependencies of handlers: `Depends(function)`, as in FastAPI.

    async def session() -> AsyncIterator[Session]:
        async with pool.connect() as session:
            yield session

    @app.handler("orders", group="billing")
    async def bill(order: Order, session: Annotated[Session, Depends(session)]) -> None: ...

A dependency is a function, or a generator whose code after `yield` runs after the handler. It may
have dependencies itself, and each is called once per record. With `scope="app"` it is called once,
and its code after `yield` runs when the application stops.

Coroutine functions and asynchronous generators run in the event loop, plain ones in threads. A
plain handler and its plain dependencies have dedicated threads: one with `concurrency=1`, otherwise
each call runs in any of them. Values that they set in a `ContextVar` last for the attempt.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from barnabas.errors import InvalidArgument

RunSync: TypeAlias = Callable[..., Awaitable[Any]]
"""Calls a plain function with arguments, where it does not hold up the event loop."""


@dataclass(frozen=True)
class Depends:
    """Marks a parameter that receives what `function` returns or yields."""

    function: Callable[..., Any]
    scope: Literal["record", "app"] = "record"


def dependency_of(annotation: Any, default: Any) -> Depends | None:
    """The dependency of a parameter: `Annotated[T, Depends(f)]`, or `= Depends(f)`."""
    if isinstance(default, Depends):
        return default
    if get_origin(annotation) is Annotated:
        return next((each for each in get_args(annotation) if isinstance(each, Depends)), None)
    return None


class Resolver:
    """Calls dependencies; those of the application live in `stack`, and use `run_sync`."""

    def __init__(
        self, overrides: dict[Callable[..., Any], Callable[..., Any]], run_sync: RunSync
    ) -> None:
        self.stack = AsyncExitStack()
        self._overrides = overrides
        self._run_sync = run_sync
        self._of_app: dict[Callable[..., Any], asyncio.Task[Any]] = {}

    async def resolve(
        self,
        depends: Depends,
        stack: AsyncExitStack,
        cache: dict[Callable[..., Any], Any],
        run_sync: RunSync,
    ) -> Any:
        """What a dependency gives for one record; plain functions are called by `run_sync`."""
        function = self._overrides.get(depends.function, depends.function)
        if depends.scope == "app":
            return await self._once(function, ())
        if function not in cache:
            arguments = {
                name: await self.resolve(each, stack, cache, run_sync)
                for name, each in dependencies_of(function).items()
            }
            cache[function] = await _call(function, arguments, stack, run_sync)
        return cache[function]

    async def _once(self, function: Callable[..., Any], needed_by: tuple[Any, ...]) -> Any:
        """What one of the application gives; records that come at once wait for the same call."""
        if function in needed_by:
            raise InvalidArgument(f"dependency {_name(function)} depends on itself")
        task = self._of_app.get(function)
        if task is None:
            task = asyncio.ensure_future(self._begin(function, (*needed_by, function)))
            self._of_app[function] = task
        return await asyncio.shield(task)

    async def _begin(self, function: Callable[..., Any], needed_by: tuple[Any, ...]) -> Any:
        try:
            arguments = {
                name: await self._once(self._overrides.get(each.function, each.function), needed_by)
                for name, each in dependencies_of(function).items()
            }
            run_sync = partial(self._run_sync, copy_context().run)  # the rest runs in it as well
            return await _call(function, arguments, self.stack, run_sync)
        except BaseException:
            del self._of_app[function]  # the next record tries again
            raise


def dependencies_of(function: Callable[..., Any]) -> dict[str, Depends]:
    """Those that a dependency has itself."""
    hints = get_type_hints(function, include_extras=True) if hasattr(function, "__code__") else {}
    found = {}
    for name, each in inspect.signature(function).parameters.items():
        depends = dependency_of(hints.get(name), each.default)
        if depends is not None:
            found[name] = depends
        elif each.default is each.empty and each.kind is not each.VAR_KEYWORD:
            raise InvalidArgument(
                f"dependency {_name(function)}: nothing is known for its "
                f"parameter {name}; give it a default or Depends(...)"
            )
    return found


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", function))


async def _call(
    function: Any, arguments: dict[str, Any], stack: AsyncExitStack, run_sync: RunSync
) -> Any:
    if inspect.isasyncgenfunction(function):
        return await stack.enter_async_context(asynccontextmanager(function)(**arguments))
    if inspect.isgeneratorfunction(function):
        manager = contextmanager(function)(**arguments)
        return await stack.enter_async_context(_in_thread(manager, run_sync))
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    found = await run_sync(partial(function, **arguments))
    return await found if inspect.isawaitable(found) else found


@asynccontextmanager
async def _in_thread(manager: AbstractContextManager[Any], run_sync: RunSync) -> AsyncIterator[Any]:
    """A plain context manager whose two parts are called by `run_sync`."""
    value = await run_sync(manager.__enter__)
    try:
        yield value
    except BaseException as error:
        if not await run_sync(manager.__exit__, type(error), error, error.__traceback__):
            raise
    else:
        await run_sync(manager.__exit__, None, None, None)
