"""The play: a broker, a shop, two groups, a member that joins, one that leaves, and the reckoning.

The group `offers` is a queue: its members share the page views. The group `audit` gets
its own copy of all of them: publish-subscribe. Both read the same topic, which keeps everything.
"""

import asyncio
import tempfile
from asyncio.subprocess import Process
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol, Self

from rich.console import Console

from barnabas.client.cluster import Cluster
from barnabas.client.topics import create_topic
from examples.demo.ledger import Check, Reader
from examples.demo.processes import Processes
from examples.demo.stage import Stage
from examples.demo.view import LiveView, PlainView, show_summary
from examples.demo.watch import committed_lag, take_snapshot

TOPIC = "page-views"
PARTITIONS = 4
QUEUE = "offers"
COPY = "audit"

_FRAME_S = 0.2
_PATIENCE_S = 15.0


class View(Protocol):
    """Something that shows the stage."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def show(self) -> None: ...


class Play:
    """One performance."""

    def __init__(self, console: Console, *, rate: int, seconds: float, plain: bool) -> None:
        self._console = console
        self._rate = rate
        self._seconds = seconds
        self._plain = plain
        self._processes: Processes | None = None

    async def perform(self) -> bool:
        """Run it all; whether every promise was kept. Leaves neither processes nor files."""
        with tempfile.TemporaryDirectory(prefix="barnabas-demo-") as directory:
            self._processes = Processes(Path(directory) / "errors.log")
            async with self._processes as processes:
                broker, bootstrap = await processes.broker(Path(directory) / "data")
                self._stage = Stage(TOPIC, bootstrap, [QUEUE, COPY])
                async with Cluster(bootstrap, retry_timeout_ms=2_000) as self._cluster:
                    await create_topic(self._cluster, TOPIC, partitions=PARTITIONS)
                    self._stage.tell(f"a broker, and the topic {TOPIC} of {PARTITIONS} partitions")
                    with self._view() as view:
                        checks = await self._watched(self._acts(), view)
                await processes.end(broker)
        show_summary(self._console, checks)
        return all(check.kept for check in checks)

    def kill(self) -> None:
        """End at once what still runs."""
        if self._processes is not None:
            self._processes.kill()

    @property
    def _running(self) -> Processes:
        assert self._processes is not None
        return self._processes

    def _view(self) -> View:
        if self._plain:
            return PlainView(self._stage)
        return LiveView(self._console, self._stage)

    async def _watched(self, acts: Coroutine[Any, Any, list[Check]], view: View) -> list[Check]:
        """The outcome of the acts, unless watching them finds that something went wrong."""
        try:
            async with asyncio.TaskGroup() as tasks:
                watching = tasks.create_task(self._watch(view))
                checks = await acts
                watching.cancel()
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return checks

    async def _watch(self, view: View) -> None:
        processes = self._running
        while True:
            processes.check()
            groups = self._stage.groups
            self._stage.update(await take_snapshot(self._cluster, TOPIC, PARTITIONS, groups))
            view.show()
            await asyncio.sleep(_FRAME_S)

    # -- the acts --------------------------------------------------------------------------------

    async def _acts(self) -> list[Check]:
        stage, processes = self._stage, self._running
        audit = await self._audit()
        first = await self._offer_maker(1)
        shop = await processes.client(
            "-m", "examples.demo.producer", stage.bootstrap, TOPIC, str(self._rate),
            str(self._seconds), on_row=stage.ledger.sent,
        )  # fmt: skip
        stage.tell(f"the shop opens: {self._rate:,} page views a second, keyed by user")
        await asyncio.sleep(self._seconds / 3)
        await self._until(lambda: stage.ledger.readers[f"{QUEUE}-1"].seen)
        second = await self._offer_maker(2)
        stage.tell(f"{QUEUE}-2 joins: the work is shared from here on")
        await asyncio.sleep(self._seconds / 3)
        await self._until(lambda: stage.ledger.readers[f"{QUEUE}-2"].seen)
        stage.tell(f"{QUEUE}-1 leaves: the other one takes over")
        await processes.end(first)
        await processes.finished(shop)
        stage.tell(f"the shop closes after {len(stage.ledger.stored):,} page views")
        await self._until(lambda: all(map(stage.ledger.has_everything, stage.groups)))
        for consumer in (second, audit):
            await processes.end(consumer)
        return await self._reckoning()

    async def _until(self, reached: Callable[[], object]) -> None:
        """Wait for something, within reason: what never comes is found out at the reckoning."""
        for _ in range(int(_PATIENCE_S / _FRAME_S)):
            if reached():
                return
            await asyncio.sleep(_FRAME_S)

    async def _offer_maker(self, number: int) -> Process:
        """A member of the queue, with a stock client."""
        stage, name = self._stage, f"{QUEUE}-{number}"
        reader = stage.ledger.readers[name] = Reader(name, QUEUE, "confluent-kafka")
        return await self._running.client(
            "-m", "examples.demo.consumer", stage.bootstrap, TOPIC, QUEUE, name,
            on_row=lambda row: stage.ledger.handled(reader, row),
        )  # fmt: skip

    async def _audit(self) -> Process:
        """The other group needs no program at all: the command line will do."""
        stage, name = self._stage, f"{COPY}-1"
        reader = stage.ledger.readers[name] = Reader(name, COPY, "barnabas consume")
        return await self._running.client(
            "-m", "barnabas", "consume", TOPIC, "--bootstrap", stage.bootstrap, "--group", COPY,
            "--from-beginning", "--json", "--value-deserializer", "json",
            on_row=lambda row: stage.ledger.handled(reader, row),
        )  # fmt: skip

    async def _reckoning(self) -> list[Check]:
        stage = self._stage
        stage.update(await take_snapshot(self._cluster, TOPIC, PARTITIONS, stage.groups))
        ends = stage.snapshot.ends
        checks = stage.ledger.checks(QUEUE, COPY, expected=int(self._rate * self._seconds))
        lags = {
            group: await committed_lag(self._cluster, TOPIC, group, ends) for group in stage.groups
        }
        checks.append(
            Check(
                "offsets: both groups have committed all they did",
                not any(lags.values()) and sum(ends.values()) == len(stage.ledger.stored),
                ", ".join(f"{group} lag {lag}" for group, lag in lags.items()),
            )
        )
        return checks
