"""`barnabas.App`: functions that handle records."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.app.asgi import AppLifespan, Asgi
from barnabas.app.clock import SystemClock
from barnabas.app.cluster_connections import ClusterConnections
from barnabas.app.handler import FailureName, Handler, Middleware
from barnabas.app.retry_policy import BackoffChoice, retry_policy
from barnabas.app.runners.whole_topic import Offsets
from barnabas.app.running import Running
from barnabas.app.schedules.schedule import Schedule
from barnabas.app.schedules.ticks import ticks_of
from barnabas.app.serving import AppPages, metrics_of
from barnabas.app.state.opening import opened_reader, stateful
from barnabas.app.state.reader import StateReader
from barnabas.app.timers import Timer
from barnabas.app.values.model_values import ModelValues
from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.option_checks import check_at_least
from barnabas.client.connect.security_settings import SecurityValue
from barnabas.client.durations import Duration, seconds
from barnabas.client.offsets.offset_spec import Where
from barnabas.client.producer.sent_record import Delivery
from barnabas.errors import InvalidArgument
from barnabas.formats import FormatName
from barnabas.records.message import Message
from barnabas.records.record import Header

if TYPE_CHECKING:
    from barnabas.app.testing import TestRun
    from barnabas.formats import Registry

F = TypeVar("F", bound=Callable[..., Any])

GRACE_S = 20.0
"""Kubernetes kills after 30 seconds, and leaving the groups takes a moment."""
_TOKEN = re.compile("[!-~]+")  # what every client puts into a header unchanged
Lifespan = Callable[["App"], AbstractAsyncContextManager[Any]]


class App:
    """Handles records with typed functions, concurrently and with retries.

        app = barnabas.App("localhost:9092")

        @app.handler("orders", group="billing", retries=3, dead_letters="orders-dead")
        async def bill(order: Order) -> None: ...

    Run it with `barnabas app run orders:app`, `app.run()`, `await app.serve()`, or inside FastAPI
    with `app.lifespan_of()`, inside Django with `app.asgi()`; test it with `app.test()`.
    """

    def __init__(
        self,
        bootstrap_servers: BootstrapServers = "localhost:9092",
        *,
        title: str = "barnabas",
        lifespan: Lifespan | None = None,
        security: Mapping[str, SecurityValue] | None = None,
        consumer_options: Mapping[str, Any] | None = None,
        sends: Iterable[str] = (),
        state_directory: str | Path | None = None,
        serves_state: bool = False,
        state_token: str | None = None,
        registry: "str | Registry | None" = None,
        value_format: FormatName | None = None,
    ) -> None:
        """Nothing connects before the application runs.

        - `lifespan`: an async context manager function that takes the application, for database
          pools and the like; the value it yields is `app.state`.
        - `consumer_options`: options for the handlers' consumers, such as
          {"group_protocol": "consumer"}.
        - `security`: Kafka's client settings for encryption and authentication, such as
          {"security.protocol": "SASL_SSL", "sasl.username": "billing", ...}.
        - `sends`: topics that `app.send` and `Outgoing(topic=...)` send to: the right to write them
          is checked at the start, as those of the handlers are.
        - `state_directory`: for the files of handlers with a `State`, about as large as the values.
          They are a cache. By default they are in `barnabas/state` in the user's cache folder.
        - `serves_state`: serve the values of states at `/state/HANDLER/KEY`, next to `/readyz`.
        - `state_token`: requests for them need `Authorization: Bearer TOKEN`. Required unless they
          are served to this machine only.
        - `registry`: the URL of a schema registry, or a `barnabas.formats.Registry` with options.
          Values that handlers take and return as models are then in the format `value_format`:
          "avro" (the default) or "json-schema". Other types are as without a registry.
        """
        self.title = title
        self.bootstrap_servers = bootstrap_servers
        self.security = security
        self.consumer_options = dict(consumer_options or {})
        self.sends = (sends,) if isinstance(sends, str) else tuple(sends)
        self.lifespan = lifespan
        self.state_directory = state_directory
        self.serves_state = serves_state
        if state_token is not None and not _TOKEN.fullmatch(state_token):
            raise InvalidArgument(
                "state_token: give a token of visible ASCII characters, without spaces and line "
                "breaks, or None to need none"
            )
        self.state_token = state_token
        self.values = ModelValues(registry, value_format)
        self.state: Any = None
        self.handlers: dict[str, Handler] = {}
        self.timers: list[Timer] = []
        self.schedules: list[Schedule] = []
        self.middlewares: list[Middleware] = []
        self.dependency_overrides: dict[Callable[..., Any], Callable[..., Any]] = {}
        """For tests: another function in the place of a dependency."""
        self.runs_timers = True
        """Whether this process calls timers: `app run --workers` has the first worker do so."""
        self._running: Running | None = None

    # -- what it does --------------------------------------------------------------------------

    def handler(
        self,
        topics: str | Iterable[str],
        *,
        group: str | None,
        retries: int = 0,
        backoff: BackoffChoice = "exponential",
        retry_topics: Sequence[Duration] = (),
        dead_letters: str | None = None,
        on_failure: FailureName = "stop",
        concurrency: int = 1,
        produces: str | None = None,
        exactly_once: bool = False,
        share: bool = False,
        results_of: str | Iterable[str] = (),
        standby: bool = False,
        max_batch: int = 500,
        start: Where | Offsets | None = None,
        transaction_timeout_s: float = 60.0,
        name: str | None = None,
    ) -> Callable[[F], F]:
        """Register a function that handles the records of topics, as a member of a group.

        - `group`: None for no group: every process handles all records from `start` on, each time
          it starts. It is ready, and other handlers begin, once it has caught up.
        - `retries`: further attempts after a failure, with the pauses of `backoff`: "exponential",
          a duration ("1s"), or one for each. Later records wait meanwhile; with `concurrency`,
          only those with the same key.
        - `retry_topics`: pauses such as ("30s", "10m"), each with a topic (`orders.retry.30s`) in
          which a failed record waits while others continue.
        - `dead_letters`: a topic for records that fail every attempt, or can't be decoded. Without
          it, `on_failure` decides: "stop" the application or "skip" the record.
        - `concurrency`: how many records, of different keys, are handled at a time.
        - `produces`: the topic for return values; None is not sent. The same as an annotation:
          `-> Annotated[Invoice, SentTo("invoices")]`.
        - `exactly_once`: commit results and offsets in one transaction.
        - `share`: use a share group: any worker gets any record, in any order, and brokers count
          deliveries. `retries` are further deliveries, to any worker.
        - `results_of`: with `share`, topics whose jobs are continued here: results go to their
          topics of results too, and to no others.
        - `standby`: follow the state of partitions that another worker has, so that this one
          takes over without reading all of it.
        - `max_batch`: maximum number of records in a batch, if the function takes a list, or in a
          transaction.
        - `start`: where to start without a committed offset: "earliest" (the default), "latest" or
          a datetime. Without a group, also a function that returns the first offset of each
          partition as a dict; it is called at the start, after the lifespan was entered.
        - `transaction_timeout_s`: the broker rolls back a transaction that takes longer. For slow
          functions a transaction has fewer records, so that it takes at most half of this.
        """

        def register(function: F) -> F:
            made = Handler(
                name or function.__name__,
                function,
                (topics,) if isinstance(topics, str) else tuple(topics),
                group,
                retry_policy(retries, backoff, retry_topics),
                dead_letters=dead_letters,
                on_failure=on_failure,
                concurrency=concurrency,
                produces=produces,
                exactly_once=exactly_once,
                share=share,
                results_of=(results_of,) if isinstance(results_of, str) else tuple(results_of),
                standby=standby,
                max_batch=max_batch,
                start=start,
                transaction_timeout_s=transaction_timeout_s,
                description=(function.__doc__ or "").strip(),
                values=self.values,
            )
            self._add(made)
            return function

        return register

    def _add(self, made: Handler) -> None:
        if not made.topics or not all(made.topics):
            raise InvalidArgument(f"handler {made.name}: name a topic")
        if made.name in self.handlers:
            raise InvalidArgument(f'a handler {made.name} exists; give this one a name="..."')
        for other in self.handlers.values():
            both = set(other.topics) & set(made.topics)
            if made.group is not None and other.group == made.group and both:
                raise InvalidArgument(
                    f"handlers {other.name} and {made.name} would share the records of "
                    f"{', '.join(sorted(both))} in group {made.group}; give one another group"
                )
        self.handlers[made.name] = made

    def every(self, period: Duration) -> Callable[[F], F]:
        """Call a function periodically: `@app.every("10s")`."""
        every_s = seconds(period, "every")
        if not every_s:
            raise InvalidArgument("every(0): the pause between two calls is more than 0")

        def register(function: F) -> F:
            self.timers.append(Timer(function.__name__, function, every_s))
            return function

        return register

    def schedule(
        self,
        cron: str | None = None,
        *,
        every: Duration | None = None,
        produces: str,
        group: str,
        time_zone: str = "UTC",
        catch_up: Duration = "1h",
        name: str | None = None,
    ) -> Callable[[F], F]:
        """Send what a function returns to a topic at certain times, once for all workers.

            @app.schedule("0 6 * * mon-fri", produces="reports", group="reporting")
            def daily(tick: datetime) -> Report: ...

        One worker of the group calls it; if that worker dies, another one goes on. No tick is
        missed or doubled: its results are sent in a transaction that remembers it. The function
        gets the time of the tick, if it has a parameter; it may be called again for the same one.

        - `cron`: minute, hour, day, month, day of the week; with six fields seconds come first.
          Needs `pip install 'barnabas[schedules]'`.
        - `every`: a duration in place of `cron`, counted from 1970 in UTC: "1h" is each full hour.
        - `produces`: the topic of the results: a value, an `Outgoing`, a list, or None for nothing.
        - `group`: workers with the same group share their schedules. It has the topic
          GROUP.schedules.
        - `time_zone`: of the cron expression, such as "Europe/Berlin".
        - `catch_up`: ticks that were due while no worker ran are made up for if they are not older
          than this. The latest one always is.
        """
        ticks = ticks_of(cron, every, time_zone)
        catch_up_ms = round(seconds(catch_up, "catch_up") * 1000)

        def register(function: F) -> F:
            called = name or function.__name__
            if any(each.name == called for each in self.schedules):
                raise InvalidArgument(f'a schedule {called} exists; give this one a name="..."')
            made = Schedule(
                called, function, produces, group, ticks, time_zone, catch_up_ms, self.values
            )
            self.schedules.append(made)
            return function

        return register

    def middleware(self, function: Middleware) -> Middleware:
        """Call a coroutine function around each attempt: `await call_next(message)`.

        The first registered middleware is the outermost. It does not apply to batches and tables.
        """
        self.middlewares.append(function)
        return function

    # -- running -------------------------------------------------------------------------------

    def run(self, *, http: tuple[str, int] | None = None, grace_s: float | None = GRACE_S) -> None:
        """Run until Ctrl-C or SIGTERM, and finish the records being handled."""
        asyncio.run(self.serve(http=http, grace_s=grace_s))

    async def serve(
        self, *, http: tuple[str, int] | None = None, grace_s: float | None = GRACE_S
    ) -> None:
        """Like `run`, in an event loop that is already running.

        - `http`: a host and a port for `/livez`, `/readyz` and `/metrics`.
        - `grace_s`: how long records that are being handled may take at the end. Those that take
          longer are cancelled, and come again. None: as long as they take.
        """
        if grace_s is not None:
            check_at_least(0, grace_s=grace_s)
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        with suppress(RuntimeError, ValueError):  # not in the main thread
            for each in signals:
                loop.add_signal_handler(each, stop.set)
        pages = AppPages(self)
        try:
            if http is not None:
                await pages.start(*http)
            async with self._opened(grace_s) as running:  # whose end no signal cuts short
                await _run_until(stop, running)
        finally:
            await pages.close()
            with suppress(RuntimeError, ValueError):
                for each in signals:
                    loop.remove_signal_handler(each)

    @asynccontextmanager
    async def started(self) -> AsyncIterator[Running]:
        """Run for the duration of the block; leaving it finishes the records being handled.

        async with app.started(): ...
        """
        async with self._opened() as running:
            await running.start()
            yield running

    @asynccontextmanager
    async def _opened(self, grace_s: float | None = None) -> AsyncIterator[Running]:
        """To be started; stopped at the end, also if the start fails."""
        if self._running is not None:
            raise InvalidArgument("this application is already running")
        connections = ClusterConnections(
            self.bootstrap_servers,
            self.title,
            self.security,
            self.consumer_options,
        )
        running = self._running = Running(self, connections, SystemClock())
        try:
            yield running
        finally:
            try:
                await running.stop(grace_s)
            finally:
                self._running = None

    def lifespan_of(self) -> Callable[[Any], AbstractAsyncContextManager[None]]:
        """For FastAPI and Starlette: `FastAPI(lifespan=app.lifespan_of())`."""

        @asynccontextmanager
        async def lifespan(_: Any) -> AsyncIterator[None]:
            async with self.started():
                yield

        return lifespan

    def asgi(self, inner: Asgi) -> Asgi:
        """For Django, and any other ASGI service: `application = app.asgi(application)`.

        The handlers run as long as the server does. The server must support lifespan events, as
        uvicorn, hypercorn and granian do.
        """
        return AppLifespan(self, inner)

    def test(self) -> "TestRun":
        """Run the handlers in memory, with a clock that the test advances."""
        from barnabas.app.testing import TestRun

        return TestRun(self)

    # -- while it runs -------------------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        """Whether all handlers were started, and have the state of their partitions."""
        return self._running is not None and not self._running.waits_for()

    @property
    def waits_for(self) -> list[str]:
        """Why the application is not ready, such as state that is restored; nothing if it is."""
        return ["it is not running"] if self._running is None else self._running.waits_for()

    @property
    def failure(self) -> BaseException | None:
        """The error of a failed handler, if any."""
        return None if self._running is None else self._running.failure()

    def metrics(self) -> str:
        """The metrics of all handlers, in Prometheus text format."""
        return metrics_of(self).decode()

    async def send(
        self,
        topic: str,
        value: Any,
        key: str | bytes | None = None,
        *,
        headers: Sequence[Header] = (),
        delay: Duration | None = None,
        at: datetime | None = None,
    ) -> Delivery:
        """Send a record from a timer, a web endpoint or the lifespan; returns when it is stored.

        The value is encoded according to its type. Results sent with `produces` belong to the
        handled record (and to its transaction with `exactly_once`); records sent here do not.

        With a `delay`, such as "10m", or at a time, the record is in the topic then and not before.
        Until then it is in the topic TOPIC.delayed, and so is what this returns.
        """
        if self._running is None:
            raise InvalidArgument(
                "the application is not running: send while it is, in a handler, a timer, or "
                "`async with app.started()`"
            )
        return await self._running.send(topic, value, key, headers, delay, at)

    async def read_state(self, handler: str, key: str | bytes) -> Any:
        """The value that a handler keeps for a key; None if there is none.

        Whoever has the key: what this process does not have is read from the changelog. The value
        is what was committed when this was called, or later. The application need not run here.
        """
        found = stateful(self.handlers.values(), handler)
        data = key.encode() if isinstance(key, str) else key
        async with self.state_reader(found) as reader:
            row = await reader.get(data)
        assert found.state is not None
        return None if row is None else found.state.value_of(row)

    @asynccontextmanager
    async def state_reader(self, handler: Handler) -> AsyncIterator[StateReader]:
        """Reads the state of a handler, with the copies that this process has."""
        states = None if self._running is None else self._running.state_of(handler)
        if states is not None:
            yield await states.reader()
            return
        connections = ClusterConnections(self.bootstrap_servers, self.title, self.security, {})
        async with opened_reader(connections, handler) as reader:
            yield reader

    async def until_handled(self, handler: str, record: Delivery | Message) -> None:
        """Wait until a handler without a group has handled a record.

        Pass a sent record, so that a client reads its own writes (`await app.send(...)`), or the
        `Message` of another handler.
        """
        self._runners(handler)
        assert self._running is not None
        partition = TopicPartition(record.topic, record.partition)
        await self._running.until_handled(handler, partition, record.offset)

    async def pause(self, handler: str) -> None:
        """Read no further records for this handler until `resume`; finish those in progress."""
        for runner, source in self._runners(handler):
            runner.is_paused = True
            if source is not None and source.assignment:
                await source.pause()

    async def resume(self, handler: str) -> None:
        """Resume a paused handler."""
        for runner, source in self._runners(handler):
            runner.is_paused = False
            if source is not None and source.assignment:
                await source.resume()

    async def rewind(self, handler: str, when: datetime | None = None) -> None:
        """Handle the records since `when` again, or all: those of the partitions of this process.

        Records being handled are finished first. Called in the handler itself, it returns at once.
        """
        await self._runners(handler)[0][0].rewinds.ask(when)

    def _runners(self, handler: str) -> list[tuple[Any, Any]]:
        if self._running is None:
            raise InvalidArgument("the application is not running")
        if handler not in self._running.runners:
            known = ", ".join(self.handlers) or "none"
            raise InvalidArgument(f"no handler named {handler!r}; there are: {known}")
        return self._running.runners[handler]


async def _run_until(stop: asyncio.Event, running: Running) -> None:
    """Until it has failed, which is raised, or is to stop."""

    async def start_and_wait() -> None:
        await running.start()
        await running.wait()

    waiting = asyncio.ensure_future(start_and_wait())
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
