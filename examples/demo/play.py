"""The play: a cluster, a shop, two groups, a counter, kills, and the reckoning.

The group `offers` is a queue: its members share the page views. The group `audit` gets
its own copy of all of them: publish-subscribe. Both read the same topic, which keeps everything,
on three nodes. The counter reads it too, and writes a count for each page view, in transactions.
While the shop is open, two nodes die, one after the other, and the counter each time with them.
"""

import asyncio
import tempfile
import time
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, Self

from rich.console import Console

from barnabas.client.cluster import Cluster
from barnabas.client.topics import create_topic
from barnabas.errors import BarnabasError
from examples.demo.counting import GROUP as COUNTING
from examples.demo.counting import Counting
from examples.demo.ledger import Check, Reader
from examples.demo.nodes import Nodes
from examples.demo.pauses import Kill, check_pauses
from examples.demo.processes import Processes
from examples.demo.stage import Stage
from examples.demo.view import LiveView, PlainView, show_summary
from examples.demo.watch import committed, count_records, look_at_cluster, look_at_group

TOPIC = "page-views"
PARTITIONS = 6
COUNTS = "page-counts"
COUNTS_PARTITIONS = 3
QUEUE = "offers"
COPY = "audit"

_TOPICS = {TOPIC: PARTITIONS, COUNTS: COUNTS_PARTITIONS}
_FRAME_S = 0.2
_PATIENCE_S = 30.0


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

    async def perform(self) -> bool:
        """Run it all; whether every promise was kept. Leaves neither processes nor files."""
        with tempfile.TemporaryDirectory(prefix="barnabas-demo-") as directory:
            async with Processes(Path(directory) / "errors.log") as self._processes:
                self._console.print("three nodes are starting ...", style="dim")
                self._nodes = await Nodes.start(self._processes, Path(directory) / "data")
                async with Cluster(self._nodes.bootstrap) as self._cluster:
                    self._stage = Stage(TOPIC, [QUEUE, COPY])
                    self._counting = Counting(
                        self._processes, self._nodes.bootstrap, TOPIC, COUNTS, self._stage.tally
                    )
                    await self._set_up()
                    with self._view() as view:
                        checks = await self._watched(self._acts(), view)
                await self._nodes.stop()
            checks.append(self._nodes.same_copies(_TOPICS))
        show_summary(self._console, checks)
        return all(check.kept for check in checks)

    async def _set_up(self) -> None:
        for topic, partitions in _TOPICS.items():
            await create_topic(
                self._cluster,
                topic,
                partitions=partitions,
                configs={"min.insync.replicas": "2"},
            )
        self._stage.tell(f"three nodes; {TOPIC} has {PARTITIONS} partitions, each on all of them")

    def _view(self) -> View:
        if self._plain:
            return PlainView(self._stage)
        return LiveView(self._console, self._stage)

    # -- watching --------------------------------------------------------------------------------

    async def _watched(self, acts: Coroutine[Any, Any, list[Check]], view: View) -> list[Check]:
        """The outcome of the acts, unless watching them finds that something went wrong."""
        try:
            async with asyncio.TaskGroup() as tasks:
                watching = [
                    tasks.create_task(self._show(view)),
                    tasks.create_task(_again_and_again(self._look_at_cluster)),
                    tasks.create_task(_again_and_again(self._look_at_groups)),
                ]
                checks = await acts
                for task in watching:
                    task.cancel()
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return checks

    async def _show(self, view: View) -> None:
        while True:
            self._processes.check()
            view.show()
            await asyncio.sleep(_FRAME_S)

    async def _look_at_cluster(self) -> None:
        self._stage.update_cluster(await look_at_cluster(self._cluster, TOPIC))

    async def _look_at_groups(self) -> None:
        for group in self._stage.groups:
            self._stage.update_group(group, await look_at_group(self._cluster, group))
        self._stage.tally.counted = await committed(self._cluster, COUNTING)

    # -- the acts --------------------------------------------------------------------------------

    async def _acts(self) -> list[Check]:
        stage, processes = self._stage, self._processes
        ledger = stage.ledger
        audit = await self._audit()
        first = await self._offer_maker(1)
        await self._counting.start()
        shop = await processes.client(
            "-m", "examples.demo.producer", self._nodes.bootstrap, TOPIC, str(self._rate),
            on_row=ledger.produced,
        )  # fmt: skip
        stage.tell(f"the shop opens: {self._rate:,} page views a second, keyed by user, acks=all")
        await self._until(lambda: ledger.readers[f"{QUEUE}-1"].seen)
        await self._for_a_while(0.15)
        stage.tell(f"{QUEUE}-2 joins: the work is shared from here on")
        second = await self._offer_maker(2)
        await self._until(lambda: ledger.readers[f"{QUEUE}-2"].seen)
        await self._for_a_while(0.15)
        await self._kill(self._busiest_leader(), "a leader")
        await self._for_a_while(0.25)
        await self._kill(stage.cluster.controller, "the controller")
        await self._for_a_while(0.25)
        stage.tell(f"{QUEUE}-1 leaves: the other one takes over")
        await processes.end(first)
        await self._for_a_while(0.2)
        await processes.end(shop)
        stage.tell(f"the shop closes after {len(ledger.stored):,} page views")
        await self._until(lambda: all(map(ledger.has_everything, stage.groups)))
        await self._until(lambda: stage.tally.counted == len(ledger.stored))
        await self._counting.stop()
        await asyncio.gather(
            processes.end(second), processes.end(audit), self._counting.read_back()
        )
        return await self._reckoning()

    async def _for_a_while(self, share: float) -> None:
        await asyncio.sleep(self._seconds * share)

    async def _until(self, reached: Callable[[], object]) -> None:
        """Wait for something, within reason: what never comes is found out at the reckoning."""
        for _ in range(int(_PATIENCE_S / _FRAME_S)):
            if reached():
                return
            await asyncio.sleep(_FRAME_S)

    async def _kill(self, node_id: int, role: str) -> None:
        """And the counter while it is away; wait until it is there again, with all it missed."""
        stage = self._stage
        leads = stage.cluster.led_by(node_id)
        stage.tell(f"kill -9 of node {node_id}, {role}; it leads {leads} of {PARTITIONS}")
        stage.kills.append(Kill(node_id, role, time.monotonic()))
        self._nodes.kill(node_id)
        await self._until(lambda: not stage.cluster.is_whole)
        await self._counting.kill_in_mid_transaction()
        stage.tell("kill -9 of the counter, in mid-transaction; another one takes its name")
        await self._until(lambda: stage.cluster.is_whole)

    def _busiest_leader(self) -> int:
        """The controller's turn comes later."""
        cluster = self._stage.cluster
        others = [node_id for node_id in cluster.up if node_id != cluster.controller]
        return max(others, key=cluster.led_by)

    async def _offer_maker(self, number: int) -> Process:
        """A member of the queue, with a stock client."""
        stage, name = self._stage, f"{QUEUE}-{number}"
        reader = stage.ledger.readers[name] = Reader(name, QUEUE, "confluent-kafka")
        return await self._processes.client(
            "-m", "examples.demo.consumer", self._nodes.bootstrap, TOPIC, QUEUE, name,
            on_row=lambda row: stage.ledger.handled(reader, row),
        )  # fmt: skip

    async def _audit(self) -> Process:
        """The other group needs no program at all: the command line will do."""
        stage, name = self._stage, f"{COPY}-1"
        reader = stage.ledger.readers[name] = Reader(name, COPY, "barnabas consume")
        return await self._processes.client(
            "-m", "barnabas", "consume", TOPIC, "--bootstrap", self._nodes.bootstrap,
            "--group", COPY, "--from-beginning", "--json", "--value-deserializer", "json",
            on_row=lambda row: stage.ledger.handled(reader, row),
        )  # fmt: skip

    async def _reckoning(self) -> list[Check]:
        stage = self._stage
        in_topic = await count_records(self._cluster, TOPIC, PARTITIONS)
        groups = [*stage.groups, COUNTING]
        done = {group: await committed(self._cluster, group) for group in groups}
        return [
            *stage.ledger.checks(QUEUE, COPY, in_topic),
            Check(
                "offsets: all groups have committed all they did",
                all(count == in_topic for count in done.values()),
                ", ".join(f"{group} {count:,}" for group, count in done.items()),
            ),
            *stage.tally.checks(stage.ledger.stored.values()),
            check_pauses(stage.kills, stage.ledger.acknowledged_at),
        ]


async def _again_and_again(look: Callable[[], Awaitable[None]]) -> None:
    while True:
        with suppress(BarnabasError):  # a node has just died: what was seen before will do
            await look()
        await asyncio.sleep(_FRAME_S)
