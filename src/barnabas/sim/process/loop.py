"""A simulated process: the event loop that its code runs on.

It is what asyncio expects of an event loop, as far as a broker and a client use it: callbacks,
timers, futures, tasks, streams, and jobs for other threads. Its time is virtual. A turn runs what
was ready when it began, as asyncio does, and takes a few microseconds of the simulated time, so
others come in between.

- *Killed*: nothing of it runs any more, not even what was ready; what it wrote to files stays.
- *Paused* (SIGSTOP): everything waits, and it all happens when the process goes on.
- *Clock*: a process' own clock may run fast or slow, but never backwards.
- *Jobs for threads* run in virtual time too: after a delay the job is done, and after another one
  the process gets its result. So a process may be killed before, in between and after. The workers
  of an executor are as many as it has; its jobs wait for each other.
"""

import asyncio
from asyncio import Future, Task
from asyncio.events import _set_running_loop
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Executor
from contextlib import suppress
from contextvars import Context
from functools import partial
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakSet

from barnabas.sim.process.callback import Callback, Timer
from barnabas.sim.process.executor import SimulatedExecutor
from barnabas.sim.process.simulator import Simulator, Stuck

if TYPE_CHECKING:
    from barnabas.client.connect.environment import ClientEnvironment

    # Typeshed calls every method abstract; at run time, those that are never called only raise.
    _EventLoop = Any
else:
    _EventLoop = asyncio.AbstractEventLoop

T = TypeVar("T")
ProtocolFactory = Callable[[], asyncio.BaseProtocol]

_TURN_US = 15
_HANDLES_IN_A_TURN = 50_000


class Killed(BaseException):
    """The process ends here. No Exception, so that nothing takes it for something to handle."""


_ENDINGS = 20


def _end(coroutine: Coroutine[Any, Any, Any] | Generator[Any, Any, Any]) -> None:
    """End it now: else that would happen whenever the garbage is collected.

    What its code does meanwhile has no effect, and may fail. It may await something while it cleans
    up, which never comes: so it is told once more. `close` would leave it there for the collector.
    """
    for _ in range(_ENDINGS):
        with suppress(Exception, Killed, asyncio.CancelledError):
            coroutine.throw(Killed())
            continue
        return  # it has ended, or it is what calls this


class Observer(Protocol):
    """Who looks at a process after each of its turns."""

    def turned(self, process: "ProcessLoop") -> None: ...

    def failed(self, process: "ProcessLoop", context: dict[str, Any]) -> None:
        """An unhandled exception."""


class ProcessNetwork(Protocol):
    """What a process asks of the network."""

    def listen(self, process: "ProcessLoop", port: int, accept: ProtocolFactory) -> object: ...

    async def connect(
        self, process: "ProcessLoop", host: str, port: int, factory: ProtocolFactory
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]: ...


class ProcessLoop(_EventLoop):  # type: ignore[misc]
    """One process. `host` is the name of the machine, by which others reach it."""

    client_environment: "ClientEnvironment"
    runs_clients = False
    """Whether it runs public clients: `barnabas.client.engine`; by `client_environment` then."""

    def __init__(
        self,
        simulator: Simulator,
        network: ProcessNetwork,
        name: str,
        host: str,
        random: Random,
        *,
        clock_rate: float = 1.0,
        observer: Observer | None = None,
        job_delay_us: Callable[[], int] = lambda: 200,
    ) -> None:
        self.simulator = simulator
        self.network = network
        self.name = name
        self.host = host
        self.random = random
        self.is_alive = True
        self.is_paused = False
        self.job_delay_us = job_delay_us
        self._observer = observer
        self._ready: deque[Callback] = deque()
        self._awake = False
        self._turning = False
        self._rate = clock_rate
        self._began_us = simulator.now_us
        self._default_executor = SimulatedExecutor(4)
        self._jobs = 0
        self._tasks: WeakSet[Task[Any]] = WeakSet()
        """Its own: `asyncio.all_tasks` looks through those of all processes there ever were."""

    # -- life --------------------------------------------------------------------------------------

    def kill(self) -> None:
        """Nothing runs any more. The caller has to notify the network."""
        self.is_alive = False
        self._ready.clear()
        for task in tuple(self._tasks):
            if task.done():
                continue
            _end(task.get_coro())

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False
        if self._ready:
            self._wake(0)

    def _is_dead(self) -> bool:
        return not self.is_alive

    def _wake(self, delay_us: int) -> None:
        if not self._awake:
            self._awake = True
            self.simulator.after(delay_us, self._turn)

    def _turn(self) -> None:
        self._awake = False
        if not self.is_alive or self.is_paused:
            return
        ready = self._ready
        self._turning = True
        _set_running_loop(self)
        try:
            for _ in range(len(ready)):
                handle = ready.popleft()
                callback = handle.callback
                if callback is None:
                    continue
                try:
                    callback(*handle.args)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as error:  # noqa: BLE001 - handed over, as asyncio does
                    what = {"message": f"Exception in {callback}", "exception": error}
                    self.call_exception_handler(what)
                if self._is_dead():
                    break
        finally:
            _set_running_loop(None)
            self._turning = False
        if ready:
            if len(ready) > _HANDLES_IN_A_TURN:
                raise Stuck(f"{self.name} has {len(ready)} callbacks to run")
            self._wake(_TURN_US)
        if self._observer is not None and self.is_alive:
            self._observer.turned(self)

    # -- time --------------------------------------------------------------------------------------

    def time(self) -> float:
        """Seconds on a clock that is never set, but may be fast or slow."""
        return (1_000_000 + int((self.simulator.now_us - self._began_us) * self._rate)) / 1e6

    def local_us(self) -> int:
        """The same in microseconds. It begins at a different number in each process."""
        return 1_000_000 + int((self.simulator.now_us - self._began_us) * self._rate)

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Callback:
        del context
        handle = Callback(callback, args)
        if self.is_alive:
            self._ready.append(handle)
            if not self._turning and not self._awake:
                self._awake = True
                self.simulator.after(0, self._turn)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Timer:
        del context
        return self.call_at(self.time() + delay, callback, *args)

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Timer:
        del context
        handle = Timer(when, callback, args)
        if when == inf:
            return handle  # never due; event loops take it so
        delay_us = int((when * 1e6 - self.local_us()) / self._rate) + 1
        self.simulator.after(delay_us, partial(self._due, handle))
        return handle

    def _due(self, handle: Timer) -> None:
        """A timer that was cancelled stays among the events, and does nothing."""
        if handle.callback is not None and self.is_alive:
            self._ready.append(handle)
            self._wake(0)

    # -- futures, tasks, threads -------------------------------------------------------------------

    def create_future(self) -> "Future[Any]":
        return Future(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> "Task[T]":
        task = Task(coro, loop=self, name=name or self.name, context=context)
        self._tasks.add(task)
        return task

    def new_executor(self, workers: int) -> SimulatedExecutor:
        return SimulatedExecutor(workers)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> "Future[T]":
        if executor is None:
            executor = self._default_executor
        assert isinstance(executor, SimulatedExecutor), "threads would not be repeatable"
        threads = executor
        future: Future[T] = self.create_future()
        self._jobs += 1
        number = self._jobs

        def work() -> None:
            """What the thread does; at once if the executor is shut down."""
            if threads.unfinished.pop(number, None) is None or not self.is_alive:
                return
            outcome: Callable[[], None]
            try:
                result = func(*args)
            except Killed:
                return
            except BaseException as error:  # noqa: BLE001 - handed over, as a thread pool does
                outcome = _fail(future, error)
            else:
                outcome = _succeed(future, result)
            self.simulator.after(
                self.random.randint(1, 200), lambda: self._finish(threads, outcome)
            )

        def begin() -> None:
            threads.running += 1
            self.simulator.after(self.job_delay_us(), lambda: self._when_awake(work))

        threads.unfinished[number] = work
        if threads.running < threads.workers:
            begin()
        else:
            threads.queued.append(begin)
        return future

    def _when_awake(self, action: Callable[[], None]) -> None:
        """A paused process' threads are paused too."""
        if self.is_paused and self.is_alive:
            self.simulator.after(1_000, lambda: self._when_awake(action))
        else:
            action()

    def _finish(self, threads: SimulatedExecutor, outcome: Callable[[], None]) -> None:
        if not self.is_alive:
            return
        threads.running -= 1
        if threads.queued:
            threads.queued.popleft()()
        self.call_soon(outcome)

    # -- streams -----------------------------------------------------------------------------------

    async def create_server(
        self,
        protocol_factory: ProtocolFactory,
        *,
        sock: Any,
        **_: Any,
    ) -> object:
        return self.network.listen(self, sock.getsockname()[1], protocol_factory)

    async def create_connection(
        self,
        protocol_factory: ProtocolFactory,
        host: str | None = None,
        port: int | None = None,
        **_: Any,
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        assert host is not None
        assert port is not None
        return await self.network.connect(self, host, port, protocol_factory)

    # -- the rest of what asyncio asks -------------------------------------------------------------

    def is_running(self) -> bool:
        return self.is_alive

    def is_closed(self) -> bool:
        return not self.is_alive

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self.is_alive and self._observer is not None:
            self._observer.failed(self, context)

    default_exception_handler = call_exception_handler


def _fail(future: "Future[Any]", error: BaseException) -> Callable[[], None]:
    return lambda: None if future.done() else future.set_exception(error)


def _succeed(future: "Future[T]", result: T) -> Callable[[], None]:
    return lambda: None if future.done() else future.set_result(result)
