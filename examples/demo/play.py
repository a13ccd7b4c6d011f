"""The play: three nodes, a website, a database, Spark, two kill -9, and the reckoning.

The website opens while Spark starts. In the middle of its half hour it waits until Spark is there.
Then the node that is the controller is killed, and restarts by itself; the demo does not wait for
it. So is the database in which the shop keeps its orders, a little later. When all is sent, the
night watch ends the last minutes (see `traffic`), and the pipelines finish what they have. Then
Spark is stopped, and everything is read again and compared with what was sent.
"""

import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console

import barnabas
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BarnabasError
from examples.demo.accounting import Account, Check
from examples.demo.console import start_console, until_interrupted
from examples.demo.database import Database
from examples.demo.nodes import Nodes
from examples.demo.pauses import check_pause, check_return
from examples.demo.plot import draw
from examples.demo.processes import ProcessCrashedError, Processes
from examples.demo.results import count_records, read_all, read_table
from examples.demo.shop import Shop
from examples.demo.spark import run_pipelines
from examples.demo.stage import COUNTING, Stage
from examples.demo.traffic import Event, Traffic
from examples.demo.view import LiveView, PlainView, View, show_pages, show_summary
from examples.demo.watch import look_at_cluster
from examples.demo.website import Website

TOPIC = "activity"
COUNTS = "views-per-minute"
CLICKS = "clicked-views"
DEAD_LETTERS = "bad-activity"
ORDERS = "orders"
TOPICS = {TOPIC: 3, COUNTS: 3, CLICKS: 3, DEAD_LETTERS: 1, ORDERS: 1}
FORGOTTEN = 20
PLOT = "demo.png"
TABLES = "tables"
"""As `pipelines` calls it."""

_FRAME_S = 0.2
_DATABASE_GONE_S = 1.0
_PATIENCE_S = 120.0
_SPARK_PATIENCE_S = 240.0


class Play:
    """One performance."""

    def __init__(
        self,
        console: Console,
        *,
        minutes: int,
        seconds: float,
        rate: int,
        output: Path,
        plain: bool,
        stay: bool = False,
    ) -> None:
        """`minutes` of the website's take about so many seconds, with `rate` events in each.

        With `stay`, the cluster and its console stay at the end, until Ctrl-C.
        """
        self._stay = stay
        self.watched_s = 0.0
        """How long the console was kept open at the end."""
        self._console = console
        self._traffic = Traffic(1, minutes, int(rate * seconds / minutes))
        self._rate = rate
        self._minutes = minutes
        self._output = output.resolve()
        self._plain = plain

    async def perform(self) -> list[Check]:
        """Run it all, and show what became of each promise. Leaves no processes, and one folder."""
        self._make_room()
        with tempfile.TemporaryDirectory(prefix="barnabas-demo-") as directory:
            self._work = Path(directory)
            async with Processes(self._work / "errors.log") as self._processes:
                self._console.print("three nodes and a database are starting ...", style="dim")
                self._nodes, self._database = await asyncio.gather(
                    Nodes.start(self._processes, self._work / "data"),
                    Database.start(self._processes, self._work / "database"),
                )
                address = await start_console(self._processes, self._nodes.bootstrap)
                self._tell_address(address)
                checks = await self._guarded(self._with_clients(self._nodes.bootstrap))
                if self._stay and address is not None:
                    await self._keep_open(address)
                await self._database.stop()
                await self._nodes.stop()
            checks.append(self._nodes.same_copies(TOPICS))
        show_pages(self._console, self._views, self._clicks)
        show_summary(self._console, checks)
        for what, name in (("plot", PLOT), ("tables", TABLES)):
            self._console.print(f"{what}: {self._output / name}", highlight=False, soft_wrap=True)
        return checks

    def _tell_address(self, address: str | None) -> None:
        told = address or "not here, it needs pip install 'barnabas[console]'"
        self._console.print(f"console: {told}", style="bold", highlight=False, soft_wrap=True)
        self._address = address

    async def _keep_open(self, address: str) -> None:
        told = f"all is read again; the console stays at {address} until Ctrl-C"
        self._console.print(told, style="bold", highlight=False, soft_wrap=True)
        began = time.monotonic()
        await until_interrupted()
        self.watched_s = time.monotonic() - began

    def _make_room(self) -> None:
        """What a former run has left there goes; nothing else does."""
        self._output.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._output / TABLES, ignore_errors=True)
        (self._output / PLOT).unlink(missing_ok=True)

    async def _with_clients(self, bootstrap: str) -> list[Check]:
        async with (
            ClusterClient(bootstrap) as self._cluster,
            barnabas.aio.Admin(bootstrap) as self._admin,
            barnabas.aio.Producer(bootstrap, linger_ms=20) as producer,
        ):
            for topic, partitions in TOPICS.items():
                await self._admin.create_topic(
                    topic, partitions=partitions, configs={"min.insync.replicas": 2}
                )
            self._website = Website(producer, TOPIC)
            self._shop = Shop(self._database)
            await self._shop.open()
            self._stage = Stage(self._website, TOPIC, console=self._address)
            self._stage.tell(f"three nodes; {TOPIC} has {TOPICS[TOPIC]} partitions on all of them")
            with self._view() as view:
                watching = [
                    self._tasks.create_task(self._show(view)),
                    self._tasks.create_task(_again_and_again(self._look_at_cluster)),
                    self._tasks.create_task(self._shop.work()),
                ]
                checks = await self._acts()
                for task in watching:
                    task.cancel()
                return checks

    def _view(self) -> View:
        if self._plain:
            return PlainView(self._stage)
        return LiveView(self._console, self._stage)

    # -- watching --------------------------------------------------------------------------------

    async def _guarded(self, acts: Coroutine[Any, Any, list[Check]]) -> list[Check]:
        """The outcome of the acts, unless those who watch them find that something went wrong.

        Then the acts are cancelled, so that no client waits for a cluster that is gone.
        """
        try:
            async with asyncio.TaskGroup() as self._tasks:
                acting = self._tasks.create_task(acts)
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return acting.result()

    async def _show(self, view: View) -> None:
        while True:
            self._processes.check()
            self._stage.sample()
            view.show()
            await asyncio.sleep(_FRAME_S)

    async def _look_at_cluster(self) -> None:
        self._stage.update_cluster(await look_at_cluster(self._cluster, TOPIC))

    # -- the acts --------------------------------------------------------------------------------

    async def _acts(self) -> list[Check]:
        stage, website, traffic = self._stage, self._website, self._traffic
        spark = await run_pipelines(
            self._processes,
            self._nodes.bootstrap,
            self._database.url,
            self._output / TABLES,
            self._work / "spark",
            stage.heard_from_spark,
        )
        by_minute = traffic.by_minute()
        half = self._minutes // 2
        stage.tell("Spark is starting; the website opens meanwhile")
        await self._send(by_minute[:half])
        if not await self._until(self._spark_is_there, _SPARK_PATIENCE_S):
            raise ProcessCrashedError(f"Spark did not get going:\n{self._processes.errors()}")
        self._shop.may_cancel = True
        await website.send(traffic.forgotten(FORGOTTEN))
        stage.tell(f"{FORGOTTEN} views of yesterday come in: too late to count")
        await self._send(by_minute[half : half + 2])
        await self._until(lambda: stage.cluster.controller in stage.cluster.up)
        self._kill(stage.cluster.controller)
        await self._send(by_minute[half + 2 : half + 4])
        stage.tell("kill -9 of the database; orders wait")
        await self._database.kill()
        restarting = self._tasks.create_task(self._restart_database())
        await self._send(by_minute[half + 4 :])
        await restarting
        await website.settle()
        await self._shop.settle()
        self._sent_at = time.monotonic()
        stage.tell(f"the website has closed after {len(website.sent):,} events")
        await self._until(lambda: stage.whole_again_s)
        await website.send(traffic.last())
        await website.settle()
        self._account = Account(website.sent)
        await self._until(self._is_finished)
        stage.tell("the pipelines are done; Spark stops, and everything is read again")
        await self._processes.end(spark)
        return await self._reckoning()

    def _spark_is_there(self) -> bool:
        """Whether it knows how late it is, and follows the database."""
        return self._stage.knows_the_time and self._written("order_changes") > 0

    async def _restart_database(self) -> None:
        await asyncio.sleep(_DATABASE_GONE_S)
        await self._database.start_server()
        self._stage.tell("the database is back")

    async def _send(self, by_minute: list[list[Event]]) -> None:
        for events in by_minute:
            self._shop.take(events)
            await self._website.send(events, len(events) / self._rate)

    async def _until(self, reached: Callable[[], object], patience_s: float = _PATIENCE_S) -> bool:
        """Wait for something, as long as anything gets on; whether it has come."""
        waited_s, known = 0.0, self._stage.got_on
        while not reached():
            if waited_s > patience_s:
                return False
            await asyncio.sleep(_FRAME_S)
            got_on = self._stage.got_on
            waited_s, known = waited_s + _FRAME_S if got_on == known else 0.0, got_on
        return True

    def _kill(self, node_id: int) -> None:
        stage = self._stage
        leads = stage.cluster.led_by(node_id)
        stage.tell(
            f"kill -9 of node {node_id}, the controller, which leads {leads} of {TOPICS[TOPIC]} "
            "partitions"
        )
        self._killed_at = time.monotonic()
        stage.killed_s, stage.whole_again_s = stage.elapsed_s, None
        self._nodes.kill(node_id)

    def _is_finished(self) -> bool:
        """Whether as many rows have come out as have to; what rows they are is seen later."""
        account, written = self._account, self._written
        return (
            min(written(COUNTING), written("views_table")) >= len(account.views)
            and min(written("clicked_views"), written("clicks_table")) >= len(account.clicks)
            and written("searches_table") >= len(account.searches)
            and self._stage.figure(COUNTING, "dead_letters") >= len(account.malformed)
            and written("order_changes") >= self._shop.changes
            and written("ordered_views") >= len(self._shop.orders)
        )

    def _written(self, pipeline: str) -> int:
        return self._stage.figure(pipeline, "rows_out")

    async def _reckoning(self) -> list[Check]:
        stage, account, website = self._stage, self._account, self._website
        topics = (COUNTS, CLICKS, DEAD_LETTERS, ORDERS)
        counts, clicks, letters, orders = await asyncio.gather(
            *(read_all(self._nodes.bootstrap, topic) for topic in topics)
        )
        changes = [json.loads(each.value) for each in orders]
        tables = self._output / TABLES
        self._views = read_table(tables / "views_per_minute")
        self._clicks = read_table(tables / "clicked_views")
        draw(self._output / PLOT, stage, account, self._views)
        return [
            account.check_sent(website.acknowledged, await count_records(self._admin, TOPIC)),
            account.check_views("topic", [json.loads(each.value) for each in counts]),
            account.check_views("Parquet table", self._views),
            account.check_clicks("topic", [json.loads(each.value) for each in clicks]),
            account.check_clicks("Parquet table", self._clicks),
            account.check_searches("Parquet table", read_table(tables / "searches")),
            account.check_malformed([(each.value, each.key.decode()) for each in letters]),
            account.check_forgotten(stage.figure(COUNTING, "rows_late")),
            account.check_sum(),
            self._shop.check_changes(changes),
            self._shop.check_replay(changes, await self._shop.rows()),
            self._shop.check_joined(read_table(tables / "ordered_views")),
            check_pause(website.acknowledged_at, self._killed_at, self._sent_at),
            check_return(stage.killed_s or 0.0, stage.whole_again_s),
        ]


async def _again_and_again(look: Callable[[], Awaitable[None]]) -> None:
    while True:
        with suppress(BarnabasError):  # a node has just died: what was seen before will do
            await look()
        await asyncio.sleep(_FRAME_S)
