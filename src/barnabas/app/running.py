"""An application that runs: its clients, its runners, its timers."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from barnabas.app.abandoned_transactions import AbandonedTransactions
from barnabas.app.arguments import Takes
from barnabas.app.attempts import Attempts
from barnabas.app.cancelled import Cancelled
from barnabas.app.clock import Clock
from barnabas.app.dependencies import Resolver, RunSync
from barnabas.app.handler import Handler
from barnabas.app.opened_clients import OpenedClients
from barnabas.app.patience import Patience
from barnabas.app.ports import Connections, Delayed, Jobs, Sink, Source
from barnabas.app.rights import rights_of
from barnabas.app.runners.record_runner import RecordRunner
from barnabas.app.runners.retry_runner import RetryRunner
from barnabas.app.runners.rounds import RoundRunner
from barnabas.app.runners.share_runner import ShareRunner
from barnabas.app.runners.whole_topic import WholeTopic
from barnabas.app.schedules.schedule import by_group
from barnabas.app.schedules.scheduler import Scheduler
from barnabas.app.state.folder import state_folder
from barnabas.app.state.handler_states import HandlerStates
from barnabas.app.values.model_values import loaded
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.environment import surroundings
from barnabas.client.delays.delayed_record import due_ms_of
from barnabas.client.durations import Duration
from barnabas.client.producer.sent_record import Delivery
from barnabas.client.share.delivery_limit import DeliveryLimit
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.records.record import Header

if TYPE_CHECKING:
    from barnabas.app.app import App

_log = logging.getLogger("barnabas.app")
_LAG_S = 10.0
_TRANSACTION_ENDS_S = 30.0
Runner = RecordRunner | RoundRunner | ShareRunner


class _Begun(NamedTuple):
    """A runner with what it works with; `client` is what it reads from."""

    runner: Runner
    source: Source | None
    attempts: Attempts
    client: Source | Jobs


class Running:
    """From `start` to `stop`. `in_threads` is false in tests, where functions run in the loop."""

    def __init__(
        self, app: "App", connections: Connections, clock: Clock, *, in_threads: bool = True
    ) -> None:
        self._app = app
        self._connections = connections
        self._clock = clock
        self._in_threads = in_threads
        self._tasks: list[asyncio.Task[None]] = []
        self._timers: list[asyncio.Task[None]] = []
        self._opened = OpenedClients(connections, in_threads=in_threads)
        self._whole: list[WholeTopic] = []
        self._whole_tasks: set[asyncio.Task[None]] = set()
        self._sink: Sink | None = None
        self._delayed: Delayed | None = None
        self._resolver = Resolver(app.dependency_overrides, self._opened.run_sync(None))
        self.runners: dict[str, list[tuple[Runner, Source | None]]] = {}
        """With what they read from; members of share groups have no partitions."""
        self.attempts: list[Attempts] = []
        self.schedulers: list[Scheduler] = []
        self._schedule_tasks: list[asyncio.Task[None]] = []
        self._is_started = False
        self._stopping = asyncio.Event()
        self._owner: asyncio.Task[Any] | None = None

    async def start(self) -> None:
        """Enter the lifespan, make the clients, and begin."""
        self._owner = asyncio.current_task()
        if self._app.handlers or self._app.schedules:
            await self._patience("the application").until_done(self._connections.reach)
        await self._connections.check_rights(
            rights_of(self._app.handlers.values(), self._app.sends, self._app.schedules)
        )
        if self._app.lifespan is not None:
            self._app.state = await self._resolver.stack.enter_async_context(
                self._app.lifespan(self._app)
            )
        handlers = self._app.handlers.values()
        for handler in handlers:
            if handler.group is None:
                await self._start(handler)
                await self._catch_up(self._whole[-1])  # later ones may build on what it keeps
        for handler in handlers:
            if handler.group is not None:
                await self._start(handler)
        # A share group's queue moves its own.
        moved = {each: None for one in handlers if not one.share for each in one.topics}
        if moved:
            self._delayed = self._opened.delayed(tuple(moved))
            await self._delayed.start()
        self._start_schedules()
        if self._app.runs_timers:
            self._timers = [
                asyncio.ensure_future(each.run(self._clock, self._opened.run_sync(None)))
                for each in self._app.timers
            ]
        self._timers.append(asyncio.ensure_future(self._measure_lag()))
        self._is_started = True

    @property
    def states(self) -> list[HandlerStates]:
        """Those of all handlers that have one."""
        runners = (runner for each in self.runners.values() for runner, _ in each)
        found = (each.states for each in runners if isinstance(each, RoundRunner))
        return [each for each in found if each is not None]

    def state_of(self, handler: Handler) -> HandlerStates | None:
        """That of one handler, if it runs here."""
        runners = (runner for runner, _ in self.runners.get(handler.name, ()))
        found = (each.states for each in runners if isinstance(each, RoundRunner))
        return next((each for each in found if each is not None), None)

    def waits_for(self) -> list[str]:
        """Why it is not ready; nothing if it is."""
        if not self._is_started:
            return ["it is starting, or stopping"]
        return [each for states in self.states for each in states.restoring]

    def _start_schedules(self) -> None:
        for group, schedules in by_group(self._app.schedules).items():
            scheduler = Scheduler(
                group,
                schedules,
                self._connections,
                self._clock,
                self._patience(f"the scheduler of {group}"),
                self._opened.run_sync(None),
            )
            task = asyncio.ensure_future(scheduler.run())
            task.add_done_callback(partial(_tell_of_schedules, group))
            self.schedulers.append(scheduler)
            self._schedule_tasks.append(task)
            self._tasks.append(task)

    async def _catch_up(self, whole: WholeTopic) -> None:
        """Until a handler without a group has handled what was there; raises if one fails."""
        reached = asyncio.ensure_future(whole.reached.wait())
        try:
            await asyncio.wait({reached, *self._tasks}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            reached.cancel()
        failure = self.failure()
        if failure is not None:
            raise failure

    async def until_handled(self, handler: str, partition: TopicPartition, offset: int) -> None:
        """Until a handler without a group has handled a record; raises if a handler fails."""
        _, source = self.runners[handler][0]
        if not isinstance(source, WholeTopic):
            raise InvalidArgument(
                f"handler {handler} has a group, and may never get the record; wait for handlers "
                "with group=None only"
            )
        future = source.handled(partition, offset)
        try:
            await asyncio.wait({future, *self._whole_tasks}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            is_handled = future.done() and not future.cancelled()
            future.cancel()
        if not is_handled:
            raise self.failure() or InvalidArgument("the application was stopped")

    async def send(
        self,
        topic: str,
        value: Any,
        key: str | bytes | None,
        headers: Sequence[Header],
        delay: Duration | None = None,
        at: datetime | None = None,
    ) -> Delivery:
        """Send a record that belongs to none of a handler; returns when it is stored."""
        if self._sink is None:
            self._sink = self._opened.sink()
        data = key.encode() if isinstance(key, str) else key
        encoded = await loaded(partial(self._app.values.encode, topic, value))
        due_ms = due_ms_of(delay, at, self._clock.time_ms())
        if due_ms is not None:
            if self._delayed is None:
                self._delayed = self._opened.delayed(())
            return await self._delayed.send(topic, encoded, data, headers, due_ms)
        sent = await self._sink.send(topic, encoded, data, headers=headers)
        delivery: Delivery = await sent
        return delivery

    async def wait(self) -> None:
        """Until a handler has failed for good, which is raised, or all were stopped."""
        if not self._tasks:
            await asyncio.Event().wait()
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()

    def failure(self) -> BaseException | None:
        """What a handler has failed by."""
        ended = (each for each in self._tasks if each.done() and not each.cancelled())
        return next((each.exception() for each in ended), None)

    async def stop(self, grace_s: float | None = None) -> None:
        """Finish what is being handled, commit, and leave. Raises what a handler has failed by.

        What takes longer than `grace_s` is cancelled, and comes again, to those that are left.
        """
        self._is_started = False
        now_s = asyncio.get_running_loop().time()
        deadline = None if grace_s is None else now_s + grace_s
        self._stopping.set()
        for task in (*self._timers, *self._schedule_tasks):
            task.cancel()
        results: list[BaseException | None] = []
        for is_whole in (False, True):  # handlers of whole topics last: others may wait for them
            for runner, source in chain.from_iterable(self.runners.values()):
                if isinstance(source, WholeTopic) is is_whole:
                    runner.stop()
            tasks = [each for each in self._tasks if (each in self._whole_tasks) is is_whole]
            await self._cancel_late(tasks, deadline)
            results += await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*self._timers, return_exceptions=True)
        failures = [each for each in results if isinstance(each, Exception)]
        failures += await self._opened.close()
        await self._resolver.stack.aclose()
        if failures:
            raise failures[0]

    async def _cancel_late(self, tasks: list[asyncio.Task[None]], deadline: float | None) -> None:
        """Cancel what has not ended by then."""
        if deadline is None or not tasks:
            return
        left_s = max(0.0, deadline - asyncio.get_running_loop().time())
        _, late = await asyncio.wait(tasks, timeout=left_s)
        if late:
            _log.warning(
                "records that are being handled take longer than the grace period: they are "
                "cancelled, and come again"
            )
        for task in late:
            task.cancel()

    # -- one handler ---------------------------------------------------------------------------

    async def _start(self, handler: Handler) -> None:
        await self._patience(f"handler {handler.name}").until_done(
            partial(self._connections.ensure_topics, _own_topics(handler), handler.dead_letters)
        )
        await self._patience(f"handler {handler.name}").until_done(handler.prepare)
        executor = self._opened.executor(handler)
        run_sync = self._opened.run_sync(executor)
        if handler.share:
            self._share(handler, run_sync)
            return
        in_rounds = handler.exactly_once or handler.takes is not Takes.RECORD
        in_rounds = in_rounds or handler.state is not None

        def make(source: Source, attempts: Attempts) -> Runner:
            if in_rounds:
                return RoundRunner(handler, source, attempts, self._states(handler, source))
            return RecordRunner(handler, source, attempts, executor)

        def make_retries(source: Source, attempts: Attempts) -> Runner:
            return RetryRunner(
                handler, source, attempts, executor, pauses=pauses, clock=self._clock
            )

        commit = "manual" if in_rounds else "done"
        self._run(handler, handler.topics, handler.group, make, commit, run_sync)
        pauses: dict[str, float] = {}
        for topic in handler.topics:
            pauses |= handler.policy.topics_of(topic)
        if pauses:
            self._run(
                handler,
                tuple(pauses),
                handler.retry_group,
                make_retries,
                "done",
                run_sync,
            )

    def _states(self, handler: Handler, source: Source) -> HandlerStates | None:
        if handler.state is None:
            return None
        patience_s = 2 * handler.transaction_timeout_s + _TRANSACTION_ENDS_S
        return HandlerStates(
            handler,
            source,
            self._connections.changelog(handler.changelog_names, patience_s=patience_s),
            self._clock,
            self._patience(f"the state of handler {handler.name}"),
            state_folder(self._app.state_directory, handler.changelog)
            if self._in_threads
            else None,
        )

    def _share(self, handler: Handler, run_sync: RunSync) -> None:
        def begin() -> _Begun:
            return self._begin_share(handler, run_sync)

        self._keep(handler, begin)

    def _begin_share(self, handler: Handler, run_sync: RunSync) -> _Begun:
        jobs = self._connections.jobs(
            handler.topics,
            handler.group_name,
            prefetch=handler.concurrency,
            start=handler.start,
            schemas=handler.invocation.schemas,
            results_of=handler.results_of,
        )
        self._opened.keep_jobs(jobs)
        limit = DeliveryLimit(
            partial(self._connections.delivery_limit, handler.group_name),
            lambda: self._clock.time_ms() / 1000,
        )
        attempts = self._attempts(handler, run_sync)
        return _Begun(ShareRunner(handler, jobs, attempts, limit), None, attempts, jobs)

    def _attempts(self, handler: Handler, run_sync: RunSync) -> Attempts:
        """With a producer of its own: failures that one runner asks for are not another's."""
        worker = surroundings().token()  # until it is a member

        async def renew_sink() -> Sink:
            await self._opened.drop_sink(made.sink)
            made.sink = self._opened.sink(handler, handler.worker_id_prefix + worker)
            return made.sink

        async def use_member(member_id: str) -> None:
            nonlocal worker
            if member_id not in ("", worker):
                worker = member_id
                await renew_sink()

        sink = self._opened.sink(handler, handler.worker_id_prefix + worker)
        made = Attempts(handler, sink, self._clock, self._resolver, self._app.middlewares, run_sync)
        made.renew_sink = renew_sink
        made.use_member = use_member
        made.is_watched = not self._in_threads
        self.attempts.append(made)
        return made

    def _run(
        self,
        handler: Handler,
        topics: tuple[str, ...],
        group: str | None,
        make: Callable[[Source, Attempts], Runner],
        commit: str,
        run_sync: RunSync,
    ) -> None:
        def begin() -> _Begun:
            return self._begin(handler, topics, group, make, commit, run_sync)

        task = self._keep(handler, begin)
        if group is None:
            self._whole_tasks.add(task)

    def _begin(
        self,
        handler: Handler,
        topics: tuple[str, ...],
        group: str | None,
        make: Callable[[Source, Attempts], Runner],
        commit: str,
        run_sync: RunSync,
    ) -> _Begun:
        made: list[Runner] = []

        async def revoked(partitions: list[TopicPartition]) -> None:
            await made[0].revoked(partitions)

        async def lost(partitions: list[TopicPartition]) -> None:
            await made[0].lost(partitions)

        source = self._connections.source(
            topics,
            group,
            commit="auto" if group is None else commit,
            start=None if callable(handler.start) else handler.start,
            on_revoked=revoked,
            on_lost=lost,
            schemas=handler.invocation.schemas,
        )
        if group is None:
            whole = WholeTopic(source, handler.start if callable(handler.start) else None)
            self._whole.append(whole)
            source = cast("Source", whole)
        self._opened.keep_source(source)
        attempts = self._attempts(handler, run_sync)
        made.append(make(source, attempts))
        return _Begun(made[0], source, attempts, source)

    def _keep(self, handler: Handler, begin: Callable[[], _Begun]) -> asyncio.Task[None]:
        """Begin, and begin again after errors that waiting mends."""
        begun = begin()
        runners = self.runners.setdefault(handler.name, [])
        runners.append((begun.runner, begun.source))
        place = len(runners) - 1
        task = asyncio.ensure_future(self._keep_running(handler, begun, begin, place))
        task.add_done_callback(partial(_tell, handler.name))
        self._tasks.append(task)
        return task

    async def _keep_running(
        self, handler: Handler, begun: _Begun, begin: Callable[[], _Begun], place: int
    ) -> None:
        """A new consumer reads what was not committed; a new producer sends what was not sent.

        A handler without a group would read everything again, so it ends.
        """
        patience = self._patience(f"handler {handler.name}")
        while True:
            handled = handler.statistics.handled
            try:
                with self._transactions_watched(handler, begun.source):
                    await self._until_stopped(begun.runner)
            except BarnabasError as error:
                if handler.group is None:
                    raise
                if handler.statistics.handled > handled:
                    patience.succeeded()
                await patience.pause(error)
            else:
                return
            await self._opened.drop_source(begun.client)
            await self._opened.drop_sink(begun.attempts.sink)
            self.attempts.remove(begun.attempts)
            if self._stopping.is_set():
                return
            is_paused = begun.runner.is_paused
            begun = begin()
            begun.runner.is_paused = is_paused
            self.runners[handler.name][place] = (begun.runner, begun.source)

    @contextmanager
    def _transactions_watched(self, handler: Handler, source: Source | None) -> Iterator[None]:
        if not handler.exactly_once or source is None:
            yield
            return
        abandoned = AbandonedTransactions(handler, source, self._connections.fence_abandoned)
        watching = asyncio.ensure_future(abandoned.run())
        try:
            yield
        finally:
            watching.cancel()

    def _patience(self, who: str) -> Patience:
        return Patience(self._clock, who, self._stopping)

    async def _until_stopped(self, runner: Runner) -> None:
        """A handler that cancels its own task must not end its runner in silence."""
        try:
            await runner.run()
        except asyncio.CancelledError as error:
            is_ending = self._owner is not None and self._owner.cancelling()
            if self._stopping.is_set() or is_ending:  # the whole application is cancelled
                raise
            raise Cancelled from error

    async def _measure_lag(self) -> None:
        while True:
            for name, runners in self.runners.items():
                _, source = runners[0]
                if source is not None and source.assignment:
                    with suppress(BarnabasError):
                        lag = await source.lag()
                        self._app.handlers[name].statistics.lag = sum(lag.values())
            await asyncio.sleep(_LAG_S)  # a figure for people: a test's clock has no part in it


def _tell(name: str, task: asyncio.Task[None]) -> None:
    """At once: inside a web service it may be long until the failure is raised."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.error("handler %s has stopped: %s", name, error, extra={"handler": name})


def _tell_of_schedules(group: str, task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.error("the schedules of %s have stopped: %s", group, error)


def _own_topics(handler: Handler) -> dict[str, str]:
    """Topics that the handler itself needs, each with the one that it is made like."""
    found: dict[str, str] = {}
    for topic in handler.topics:
        found |= dict.fromkeys(handler.policy.topics_of(topic), topic)
    if handler.dead_letters is not None:
        found[handler.dead_letters] = handler.topics[0]
    return found
