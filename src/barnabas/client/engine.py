"""The thread in which the cores of all public clients of this process run.

There is at most one, with one event loop. The first client starts it and the last one to be closed
stops it, so nothing is left behind. Because it is not the application's thread, a handler that
computes or blocks never holds up heartbeats, fetches or sends, in an asyncio program either.

    application's threads and loops              the engine's thread and loop
    registration.call(core.fetch(...))    ---->  a task that runs the coroutine
          Call  <------------------------------  its result, or its exception

Each client has a `Registration`. A core is created in the application's thread, without a running
loop; from then on only submitted coroutines touch it, unless it says otherwise.

A client that is not closed: when it is garbage collected, it is closed in the background; when the
interpreter exits, there are `EXIT_TIMEOUT_S` for closing it, so a producer still sends what it has.
Both give a ResourceWarning, and what fails at exit is raised there, where Python prints it.

In a simulation there is no thread: clients run in the loop in which they are made, if it has a true
attribute `runs_clients`.

A fork has no copy of the thread. A child process begins without an engine, and clients from before
the fork refuse to work in it.
"""

import asyncio
import atexit
import os
import threading
import time
import warnings
from asyncio.events import _get_running_loop
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, TypeVar

from barnabas.client.outcome import Call, Outcome
from barnabas.errors import BarnabasError, ClientClosed, UsedAfterFork, WaitsForItself
from barnabas.tls.broken_connections import take_broken_connections

EXIT_TIMEOUT_S = 10.0
"""How long an exiting program waits for clients that were not closed."""

_STOP_TIMEOUT_S = 5.0

T = TypeVar("T")
W = TypeVar("W", bound=Future[Any] | Call[Any])
Closed: TypeAlias = Outcome[BaseException | None]
"""Holds what went wrong in closing; as a value, because there may be no caller to raise it to."""


class Core(Protocol):
    """What a client is, apart from its waiting."""

    async def close(self) -> None:
        """Finish what was begun and let everything go; may be cancelled by an impatient user."""


class Registration:
    """One client's registration with the engine."""

    def __init__(
        self, engine: "_Host", core: Core, name: str, on_fork: Callable[[], object]
    ) -> None:
        self._engine = engine
        self._core = core
        self.name = name
        self.on_fork = on_fork
        self._waiting: set[Future[Any] | Call[Any]] = set()
        self._closed: Closed | None = None
        self._closing: asyncio.Task[None] | None = None
        self.warned = self.hurried = False

    @property
    def closed(self) -> bool:
        """Whether closing has begun."""
        return self._closed is not None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The engine's loop; from other threads only `call_soon_threadsafe` is of use."""
        return self._engine.loop

    def check(self) -> None:
        """Raise if this client can do nothing any more."""
        if self._engine.forked:
            raise UsedAfterFork(
                f"this {self.name} was made before the process was forked, and belongs to the "
                "parent: make a new one in the child"
            )
        if self._closed is not None:
            raise self._closed_error()

    def _closed_error(self) -> ClientClosed:
        return ClientClosed(f"this {self.name} is closed: make a new one")

    def cut_short(self) -> ClientClosed:
        """What to raise. Never returns while the program exits.

        All that can still wait then is a daemon thread, and those end without a word.
        """
        if _exiting:
            threading.Event().wait()
        return ClientClosed(f"this {self.name} was closed meanwhile")

    def call(self, coroutine: Coroutine[Any, Any, T]) -> "Call[T]":
        """Run a coroutine in the engine, for a thread that waits for it.

        Calls that still wait when the client is closed elsewhere are cancelled.
        """
        call = self._begin(coroutine, Call)
        call.when_set(lambda: self._waiting.discard(call))
        return call

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> "Future[T]":
        """The same, for who does something else meanwhile. Cancelling the future cancels it."""
        future = self._begin(coroutine, asyncio.run_coroutine_threadsafe)
        future.add_done_callback(self._waiting.discard)
        return future

    def _begin(
        self,
        coroutine: Coroutine[Any, Any, T],
        begin: Callable[[Coroutine[Any, Any, T], asyncio.AbstractEventLoop], W],
    ) -> W:
        try:
            self.check()
            waiting = begin(coroutine, self._engine.loop)
        except (BarnabasError, RuntimeError) as error:  # the latter of a loop that has just ended
            coroutine.close()
            raise error if isinstance(error, BarnabasError) else self._closed_error() from None
        self._waiting.add(waiting)
        if self._closed is not None:  # since the check, so perhaps the loop no longer runs it
            waiting.cancel()
        return waiting

    def check_thread(self) -> None:
        """Raise if the present thread is the engine's, which must never wait for itself."""
        thread = self._engine.thread
        if thread is not None and threading.get_ident() == thread.ident:
            raise WaitsForItself(
                f"a callback of this {self.name} called a method that waits for the thread in "
                "which callbacks run: let the callback only take note, and do this elsewhere"
            )

    def close(self) -> Closed:
        """Close the core and leave the engine, once; done when the last trace is gone.

        `hurry` is for those who cannot wait.
        """
        with _lock:
            if self._closed is None:
                self._closed = Outcome()
                if self._engine.forked:  # all that is here belongs to the parent
                    self._closed.set()
                else:
                    self._engine.loop.call_soon_threadsafe(self._begin_closing)
            return self._closed

    def join(self) -> None:
        """After `close` is done: wait the moment that the thread takes to end, if it does."""
        if self._engine.stopping and self._engine.thread is not None:
            self._engine.thread.join()

    def hurry(self) -> None:
        """Stop finishing: what a core that is being closed has not done by now stays undone."""
        self.hurried = True
        with suppress(RuntimeError):  # it has come to its end meanwhile
            self._engine.loop.call_soon_threadsafe(self._cancel_closing)

    def abandon(self, client: object) -> None:
        """The client was garbage collected. May be called at any point of any thread."""
        if self._closed is None and not self._engine.forked:
            self.warned = True
            warnings.warn(
                f"this {self.name} was not closed: use it in a `with` block, or call its close()",
                ResourceWarning,
                source=client,
                stacklevel=3,
            )
            self._engine.loop.call_soon_threadsafe(self.close)

    def _begin_closing(self) -> None:
        self._closing = self._engine.loop.create_task(self._core.close())
        self._closing.add_done_callback(self._leave)

    def _cancel_closing(self) -> None:
        if self._closing is not None:
            self._closing.cancel()

    def _leave(self, closing: "asyncio.Task[None]") -> None:
        for each in list(self._waiting):
            each.cancel()
        error = (
            ClientClosed(
                f"closing this {self.name} was interrupted: its remaining work is not done"
            )
            if closing.cancelled()
            else closing.exception()
        )
        assert self._closed is not None
        self._engine.leave(self, self._closed, error)


class _Host(Protocol):
    """Where cores run."""

    loop: asyncio.AbstractEventLoop
    thread: threading.Thread | None
    forked: bool

    @property
    def stopping(self) -> bool: ...

    def leave(
        self, registration: Registration, closed: Closed, error: BaseException | None
    ) -> None: ...


class _OwnLoop:
    """A loop in which clients run next to their users; whoever runs it ends it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.thread: threading.Thread | None = None
        self.forked = False
        self.stopping = False

    def leave(
        self, _registration: Registration, closed: Closed, error: BaseException | None
    ) -> None:
        closed.set(error)


class _Engine:
    thread: threading.Thread | None

    def __init__(self) -> None:
        self.forked = False
        self.registrations: set[Registration] = set()
        self._runner = asyncio.Runner(loop_factory=_new_loop)
        self.loop = self._runner.get_loop()
        take_broken_connections(self.loop)
        self._stop = asyncio.Event()
        self._last_words: tuple[Closed, BaseException | None] | None = None
        self.thread = threading.Thread(target=self._run, name="barnabas-engine", daemon=True)
        self.thread.start()

    def leave(
        self, registration: Registration, closed: Closed, error: BaseException | None
    ) -> None:
        """Called in the engine's thread; the last one stops it."""
        global _engine  # noqa: PLW0603 - there is one for each process
        with _lock:
            self.registrations.discard(registration)
            last = not self.registrations
            if last and _engine is self:
                _engine = None
        if last:
            self._last_words = (closed, error)
            self._stop.set()
        else:
            closed.set(error)

    @property
    def stopping(self) -> bool:
        return self._last_words is not None

    def _run(self) -> None:
        with self._runner:
            self._runner.run(self._until_stopped())
        if self._last_words is not None:
            closed, error = self._last_words
            closed.set(error)

    async def _until_stopped(self) -> None:
        await self._stop.wait()


_lock = threading.Lock()
_engine: _Engine | None = None
_exiting = False
_of_parents: list[_Engine] = []  # their sockets are shared with the parent: never touched again


def register(core: Core, name: str, on_fork: Callable[[], object]) -> Registration:
    """Register a client with the engine of this process, which is started if there is none.

    `on_fork` is called in child processes: it disables what does not check the registration.
    """
    global _engine  # noqa: PLW0603 - there is one for each process
    own = _get_running_loop()
    if own is not None and getattr(own, "runs_clients", False):
        return Registration(_OwnLoop(own), core, name, on_fork)
    with _lock:
        if _engine is None:
            _engine = _Engine()
        registration = Registration(_engine, core, name, on_fork)
        _engine.registrations.add(registration)
        return registration


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def _close_all() -> None:
    """At exit: close the clients that are still open, and end the thread."""
    global _exiting  # noqa: PLW0603 - there is one for each process
    with _lock:
        _exiting = True
        engine = _engine
        registrations = [] if engine is None else list(engine.registrations)
    if engine is None:
        return
    for registration in registrations:
        if not registration.closed and not registration.warned:
            warnings.warn(
                f"this {registration.name} was not closed before the program ended: use it in a "
                "`with` block, or call its close()",
                ResourceWarning,
                stacklevel=1,
            )
    known = [
        registration.close() for registration in registrations if registration.hurried
    ]  # their callers got the error
    closing = [registration.close() for registration in registrations if not registration.hurried]
    _wait(known + closing, EXIT_TIMEOUT_S)
    for registration in registrations:
        registration.hurry()
    _wait(known + closing, _STOP_TIMEOUT_S)
    if engine.thread is not None:
        engine.thread.join(_STOP_TIMEOUT_S)
    for each in closing:
        if each.is_set and (error := each.result()) is not None:
            raise error


def _wait(closing: list[Closed], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    for each in closing:
        each.wait(deadline - time.monotonic())


def _after_fork() -> None:
    global _engine, _exiting, _lock  # noqa: PLW0603 - there is one for each process
    _lock = threading.Lock()
    _exiting = False
    if _engine is not None:
        _engine.forked = True
        for registration in _engine.registrations:
            registration.on_fork()
        _of_parents.append(_engine)
        _engine = None


atexit.register(_close_all)
os.register_at_fork(after_in_child=_after_fork)
