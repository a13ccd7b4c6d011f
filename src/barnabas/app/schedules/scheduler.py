"""Calls the schedules of a group when they are due: once, in one of the workers.

The topic GROUP.schedules has one partition, and the worker that has it in the group GROUP.schedules
is on duty. It makes the records of a tick visible in one transaction with a record that remembers
the tick:

    tick -> [ send the results; send NAME = tick to GROUP.schedules ]

The transactional id is the same for all workers. So the next worker on duty rolls back what a dead
one has left open and shuts a living one out, and only then reads which ticks were done: none is
missed, and none comes twice. The function may be called twice for a tick; its results are stored
once.
"""

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Sequence
from contextlib import suppress

from barnabas.app.clock import Clock
from barnabas.app.dependencies import RunSync
from barnabas.app.logs import current_handler
from barnabas.app.opened_clients import close_soon
from barnabas.app.outgoing import Encoded
from barnabas.app.patience import Patience
from barnabas.app.ports import Connections, Sink, Source
from barnabas.app.schedules.schedule import Schedule, schedules_topic
from barnabas.app.schedules.ticks import due
from barnabas.app.schedules.wall_clock import WallClock
from barnabas.backoff import Backoff
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consequences import Consequence, consequence_of
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.records.message import Message

_POLL_S = 1.0
_LAST_COMMIT_S = 1.0
_COMMIT_MS = 10_000
_TRANSACTION_S = 30.0
_AGAIN = Backoff(1.0, 60.0)
_log = logging.getLogger("barnabas.app")


class Scheduler:
    """Of one group, in one process."""

    def __init__(
        self,
        group: str,
        schedules: Sequence[Schedule],
        connections: Connections,
        clock: Clock,
        patience: Patience,
        run_sync: RunSync,
    ) -> None:
        self._topic = schedules_topic(group)
        self._group = group
        self._who = f"process {os.getpid()}"
        self._partition = TopicPartition(self._topic, 0)
        self._schedules = list(schedules)
        self._connections = connections
        self._clock = clock
        self._patience = patience
        self._run_sync = run_sync
        self._duty: asyncio.Task[None] | None = None
        self._transaction = asyncio.Lock()  # one at a time, for all schedules
        self._asleep: set[str] = set()
        self._wall_clock: WallClock | None = None  # while on duty
        self._committed = (0, 0)  # an offset, and when

    @property
    def is_busy(self) -> bool:
        """Whether it has to do something before the clock goes on."""
        if self._duty is None:
            return True
        return not self._duty.done() and len(self._asleep) < len(self._schedules)

    async def run(self) -> None:
        """Until this is cancelled."""
        like = self._schedules[0].produces
        await self._patience.until_done(
            lambda: self._connections.ensure_memory(self._topic, like=like)
        )
        while True:
            try:
                await self._be_member()
            except BarnabasError as error:
                await self._patience.pause(error)

    async def _be_member(self) -> None:
        """Until something fails that a new member may not meet."""

        async def lost(_: list[TopicPartition]) -> None:
            await self._off_duty()

        source = self._connections.source(
            (self._topic,),
            self._topic,
            commit="manual",
            start="earliest",
            on_revoked=lost,
            on_lost=lost,
            isolation="read_committed",  # a tick of a transaction that was rolled back is not done
        )
        try:
            while True:
                await source.poll(_POLL_S, None)
                if self._duty is not None and self._duty.done():
                    await self._duty
                if self._duty is None and self._partition in source.assignment:
                    await self._on_duty(source)
                await self._commit(source, _COMMIT_MS)
                if self._duty is not None:
                    await self._commit(source)
                if self._wall_clock is not None:
                    self._wall_clock.now_ms()  # ticks may be far away
        finally:
            try:
                await self._off_duty()
                with suppress(BarnabasError, TimeoutError):
                    async with asyncio.timeout(_LAST_COMMIT_S):
                        await self._commit_last(source)
            finally:  # also when cancelled once more: a member that is left behind stays on duty
                await close_soon(source)

    async def _commit(self, source: Source, every_ms: int = _COMMIT_MS) -> None:
        """The offsets of the group are for people only, who see no lag where nothing is late."""
        offset, at_ms = self._committed
        now_ms = self._clock.time_ms()
        if self._partition not in source.assignment or abs(now_ms - at_ms) < every_ms:
            return
        position = source.position(self._partition)
        if position != offset:
            self._committed = position, now_ms
            with suppress(BarnabasError):
                await source.commit({self._partition: position})

    async def _commit_last(self, source: Source) -> None:
        while self._partition in source.assignment and (await source.lag())[self._partition]:
            await source.poll(_POLL_S / 10, None)
        await self._commit(source, 0)

    async def _on_duty(self, source: Source) -> None:
        sink = self._connections.sink(
            transactional_id=self._topic, transaction_timeout_s=_TRANSACTION_S
        )
        try:
            async with sink.transaction(None):
                pass  # from here on no other worker ends one
            done = await self._read(source)
        except BaseException:
            await close_soon(sink)
            raise
        if done is None:
            await close_soon(sink)
            return
        self._patience.succeeded()
        self._duty = asyncio.ensure_future(self._do_duty(sink, done))

    async def _off_duty(self) -> None:
        duty, self._duty = self._duty, None
        if duty is not None:
            duty.cancel()
            await asyncio.gather(duty, return_exceptions=True)

    async def _read(self, source: Source) -> dict[str, tuple[int, str]] | None:
        """The latest tick of each schedule that was done, and the text of its times.

        None if the partition is given to another worker meanwhile.
        """
        done: dict[str, tuple[int, str]] = {}
        try:
            await source.seek_to_beginning(self._partition)
            lag = await source.lag()
            end = source.position(self._partition) + lag[self._partition]
            while source.position(self._partition) < end:
                for message in await source.poll(_POLL_S, None):
                    if message.partition == self._partition.partition:
                        done |= _remembered(message)
        except (InvalidArgument, KeyError):
            if self._partition in source.assignment:
                raise
            return None
        return done

    async def _do_duty(self, sink: Sink, done: dict[str, tuple[int, str]]) -> None:
        tasks: list[asyncio.Task[None]] = []
        try:
            await self._begin_new(sink, done)
            names = ", ".join(each.name for each in self._schedules)
            _log.info("%s calls the schedules of %s: %s", self._who, self._group, names)
            clock = self._wall_clock = WallClock(
                self._clock,
                f"{self._who}, schedules of {self._group}",
                max(done[each.name][0] for each in self._schedules),
            )
            tasks += [
                asyncio.ensure_future(self._keep(each, sink, done[each.name][0], clock))
                for each in self._schedules
            ]
            await asyncio.gather(*tasks)
        finally:
            self._wall_clock = None
            for task in tasks:
                task.cancel()
            try:
                await asyncio.gather(*tasks, return_exceptions=True)
            finally:
                await close_soon(sink)

    async def _begin_new(self, sink: Sink, done: dict[str, tuple[int, str]]) -> None:
        """A schedule that is new, or has other times, begins now: it has missed nothing."""
        now_ms = self._clock.time_ms()
        new = [one for one in self._schedules if done.get(one.name, (0, ""))[1] != one.ticks.text]
        if new:
            async with sink.transaction(None):
                for each in new:
                    await self._remember(each, now_ms, sink)
        done |= {each.name: (now_ms, each.ticks.text) for each in new}

    # -- one schedule --------------------------------------------------------------------------

    async def _keep(self, schedule: Schedule, sink: Sink, last_ms: int, clock: WallClock) -> None:
        """Do each tick, one after the other, until this is cancelled."""
        current_handler.set(schedule.name)
        ticks, failed = schedule.ticks, 0
        while True:
            next_ms = ticks.after(last_ms)
            while (now_ms := clock.now_ms()) < next_ms:
                await self._asleep_during(schedule, self._clock.sleep_until(next_ms))
            found = due(ticks, last_ms, now_ms, schedule.catch_up_ms)
            if found[0] != next_ms:
                what = "%s: schedule %s leaves out ticks: they are too old"
                _log.warning(what, self._who, schedule.name)
            for tick_ms in found:
                if not await self._do(schedule, tick_ms, sink):
                    failed += 1
                    pause = self._clock.sleep(_AGAIN.pause(failed))
                    await self._asleep_during(schedule, pause)
                    break
                last_ms, failed = tick_ms, 0

    async def _do(self, schedule: Schedule, tick_ms: int, sink: Sink) -> bool:
        """Call the function and store what it returns. Raises what is not about this tick."""
        try:
            results = await schedule.call(tick_ms, self._run_sync)
        except Exception:  # noqa: BLE001 - whatever a function raises
            _log.exception("%s: schedule %s failed; it is called again", self._who, schedule.name)
            return False
        try:
            await self._store(schedule, tick_ms, results, sink)
        except BarnabasError as error:
            if consequence_of(error) is not Consequence.GIVES_UP:
                raise
            what = "%s: what schedule %s returned is not stored; it is called again: %s"
            _log.error(what, self._who, schedule.name, error)
            return False
        return True

    async def _store(
        self, schedule: Schedule, tick_ms: int, results: Sequence[Encoded], sink: Sink
    ) -> None:
        async with self._transaction, sink.transaction(None):
            for each in results:
                await sink.send(each.topic, each.value, each.key, headers=each.headers)
            await self._remember(schedule, tick_ms, sink)

    async def _remember(self, schedule: Schedule, tick_ms: int, sink: Sink) -> None:
        value = json.dumps({"tick": tick_ms, "times": schedule.ticks.text}).encode()
        partition = self._partition.partition  # the only one, unless somebody has added more
        await sink.send(self._topic, value, schedule.name.encode(), partition=partition)

    async def _asleep_during(self, schedule: Schedule, pause: Awaitable[None]) -> None:
        self._asleep.add(schedule.name)
        try:
            await pause
        finally:
            self._asleep.discard(schedule.name)


def _remembered(message: Message) -> dict[str, tuple[int, str]]:
    """The tick that a record remembers; none if something else has written it."""
    try:
        found = json.loads(message.value or b"")
        tick, times = found["tick"], found["times"]
        name = (message.key or b"").decode()
    except (ValueError, TypeError, KeyError):
        return {}
    return {name: (tick, times)} if type(tick) is int and isinstance(times, str) else {}
