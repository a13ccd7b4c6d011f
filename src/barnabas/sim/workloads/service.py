"""An application in a simulation: `barnabas.App` itself, with a schedule and with state.

A schedule puts records for some keys into a topic each second. A handler keeps a number for each
key, and sends what it has counted, exactly once. Two workers do so, on the simulated clock and
network; each is killed or stopped at random, and another one takes its place.

What is checked: no tick is missed and none is doubled, for any key, and each count is one more than
the one before. So the results, the state and the offsets were of one transaction each time.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast
from warnings import catch_warnings, simplefilter

from barnabas import aio
from barnabas.app import App, Outgoing, State
from barnabas.app.cluster_connections import ClusterConnections
from barnabas.app.ports import Delayed, Sink
from barnabas.app.running import Running
from barnabas.client.connect.environment import ClientEnvironment
from barnabas.client.rights.right import Right
from barnabas.errors import BarnabasError
from barnabas.records.record import Header
from barnabas.sim.checks.history import Violation
from barnabas.sim.client import Client
from barnabas.sim.cluster import Cluster
from barnabas.sim.machine.machine import PORT
from barnabas.sim.workloads.administrator import Administrator

TICKS = "service.ticks"
COUNTS = "service.counts"
_GROUP = "service"
_MEMORY = f"{_GROUP}.schedules"
_CHANGELOG = f"{_GROUP}.count.number.changelog"
_KEYS = ("a", "b", "c")
_EVERY_MS = 1_000
_EPOCH_MS = 1_700_000_000_000
_SESSION_MS = 6_000
_REBALANCE_MS = 3_000
_TRANSACTION_S = 10.0
_GRACE_S = 2.0
_CREATION_S = 30.0
_MORE_TICKS = 8
"""How many have to come when all faults are undone, while workers are still killed."""
SETTINGS = {"group.disconnect.grace.ms": "500"}
"""Of brokers: a killed worker is followed by another one soon."""


class _Clock:
    """The wall clock of all workers."""

    def __init__(self, client: Client) -> None:
        self._simulator = client.simulator

    def time_ms(self) -> int:
        return _EPOCH_MS + self._simulator.now_us // 1000

    async def sleep(self, pause_s: float) -> None:
        await asyncio.sleep(pause_s)

    async def sleep_until(self, due_ms: int) -> None:
        while (left_ms := due_ms - self.time_ms()) > 0:  # noqa: ASYNC110 - not an event
            await asyncio.sleep(left_ms / 1000)


class _Producer(aio.Producer[bytes, bytes]):
    """Its records have the time of the simulation."""

    clock: _Clock

    async def send(  # type: ignore[override]
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Sequence[Header] = (),
        partition: int | None = None,
    ) -> Any:
        return await super().send(
            topic,
            value,
            key,
            headers=headers,
            partition=partition,
            timestamp_ms=self.clock.time_ms(),
        )


class _NothingDelayed:
    async def start(self) -> None: ...

    async def close(self) -> None: ...


class _Connections(ClusterConnections):
    """Those of a worker; its topics were created, and the cluster has no access rules."""

    clock: _Clock

    def sink(
        self, *, transactional_id: str | None = None, transaction_timeout_s: float = 60.0
    ) -> Sink:
        made = _Producer(
            self.bootstrap_servers,
            transactional_id=transactional_id,
            transaction_timeout_ms=round(min(transaction_timeout_s, _TRANSACTION_S) * 1000),
            client_id=self.client_id,
        )
        made.clock = self.clock
        return cast("Sink", made)

    def delayed(self, topics: Sequence[str]) -> Delayed:
        del topics
        return cast("Delayed", _NothingDelayed())

    async def check_rights(self, rights: Sequence[Right]) -> None:
        del rights


def _application() -> App:
    app = App(title=_GROUP)

    @app.schedule(every="1s", produces=TICKS, group=_GROUP, catch_up="1h")
    def tick(at: Any) -> list[Outgoing]:
        number = round(at.timestamp() * 1000) // _EVERY_MS
        return [Outgoing(number, key=key) for key in _KEYS]

    @app.handler(
        TICKS,
        group=_GROUP,
        produces=COUNTS,
        exactly_once=True,
        standby=True,
        transaction_timeout_s=_TRANSACTION_S,
    )
    async def count(number_of_tick: int, key: str, number: State[int]) -> str:
        return f"{key} {number_of_tick} {number.update(lambda old: old + 1, 0)}"

    return app


class ServiceWorkload:
    """Two workers, and who kills them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._operator = cluster.client("service-operator")
        self._workers: list[_Worker] = []
        self.workers_started = 0
        self._seen: dict[str, tuple[int, int]] = {}
        """The latest tick and count of each key."""
        self._is_judged = False
        self.ticks = 0

    async def create_topics(self, administrator: Administrator, configs: Mapping[str, str]) -> None:
        compacted = {**configs, "cleanup.policy": "compact"}
        for name, partitions, settings in (
            (TICKS, 2, configs),
            (COUNTS, 1, configs),
            (_MEMORY, 1, compacted),
            (_CHANGELOG, 2, compacted),
        ):
            await administrator.create_topic(name, partitions, dict(settings))
        for name in (_MEMORY, _CHANGELOG):
            self._cluster.watch.expect_compaction(name, keeps_tombstones=False)

    def begin(self) -> None:
        for _ in range(2):
            self._start()
        self._operator.run(self._operate())

    def _start(self) -> None:
        self.workers_started += 1
        client = self._cluster.client(f"service-{self.workers_started}")
        hosts = [f"{machine.host}:{PORT}" for machine in self._cluster.machines.values()]
        worker = _Worker(client, hosts)
        self._workers.append(worker)
        client.run(worker.run())

    async def _operate(self) -> None:
        """Kill a worker, or stop it, and start another one."""
        operator = self._operator
        while True:
            await operator.pause(1_000, 4_000)
            if self._is_judged:
                return
            worker = operator.random.choice(self._workers)
            self._workers.remove(worker)
            if operator.random.random() < 0.3:
                worker.stop()
            else:
                operator.simulator.say(f"{worker.client.name} is killed")
                with catch_warnings():
                    simplefilter("ignore", RuntimeWarning)  # of coroutines that never began
                    worker.client.process.kill()
                self._cluster.network.process_killed(worker.client.process)
            await operator.pause(100, 1_000)
            self._start()

    # -- the end -----------------------------------------------------------------------------------

    async def judge(self, judge: Client) -> None:
        """Read what was counted, until it is as recent as the end of all faults."""
        due = (_EPOCH_MS + judge.simulator.now_us // 1000) // _EVERY_MS + _MORE_TICKS
        surround(judge)
        hosts = [f"{machine.host}:{PORT}" for machine in self._cluster.machines.values()]
        async with aio.Consumer(hosts, COUNTS) as consumer:
            while any(self._seen.get(key, (0, 0))[0] < due for key in _KEYS):
                try:
                    messages = await consumer.poll(1.0)
                except BarnabasError as error:
                    if not error.retriable:
                        raise
                    continue
                for message in messages:
                    self._take(message.value.decode())
        self._is_judged = True
        for worker in self._workers:
            worker.stop()

    def _take(self, text: str) -> None:
        key, tick, count = text.split()
        latest = self._seen.get(key)
        if latest is not None and (int(tick), int(count)) != (latest[0] + 1, latest[1] + 1):
            raise Violation(
                f"the service counted tick {tick} of {key} as number {count}, after tick "
                f"{latest[0]} as number {latest[1]}"
            )
        if latest is None and count != "1":
            raise Violation(f"the service begins to count {key} with {count}")
        self._seen[key] = int(tick), int(count)
        self.ticks += 1


class _Worker:
    """One process of the application."""

    def __init__(self, client: Client, hosts: list[str]) -> None:
        self.client = client
        self._hosts = hosts
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """As by SIGTERM."""
        self.client.process.call_soon(self._stopping.set)

    async def run(self) -> None:
        surround(self.client)
        clock = _Clock(self.client)
        options = {"session_timeout_ms": _SESSION_MS, "rebalance_timeout_ms": _REBALANCE_MS}
        connections = _Connections(self._hosts, self.client.name, None, options)
        connections.clock = clock
        running = Running(_application(), connections, clock, in_threads=False)
        await running.start()
        waiting = asyncio.ensure_future(running.wait())
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            waiting.result()
            raise Violation(f"{self.client.name} has ended")
        waiting.cancel()
        try:
            await running.stop(_GRACE_S)
        except BarnabasError as error:
            if not error.retriable:
                raise
            self.client.simulator.remark("%s: %s", self.client.name, error)


def surround(client: Client) -> None:
    """Let public clients that are made in this process run there, by its clock and chance."""
    process, random = client.process, client.random
    process.client_environment = ClientEnvironment(
        process.time,
        random.random,
        token=lambda: f"{random.getrandbits(48):012x}",
    )
    process.runs_clients = True
