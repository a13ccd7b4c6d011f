"""A client of the simulated cluster: a process on a machine of its own.

It speaks the real protocol with the real client's connections over the simulated network. Finding
leaders and coordinators, and retries, is implemented again here: it is simple, it never believes
metadata older than what it has, and it says in the request which leader it means.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.errors import BarnabasError
from barnabas.sim.checks.history import History, Place
from barnabas.sim.machine.machine import PORT
from barnabas.sim.network.network import Network
from barnabas.sim.network.stream import Stream
from barnabas.sim.process.loop import Observer, ProcessLoop
from barnabas.sim.process.simulator import Simulator
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

ResponseT = TypeVar("ResponseT", bound=Response)

TIMEOUT_MS = 1_500
_SINGLE_KEY = 3


class TryAgain(Exception):  # noqa: N818 - what to do, not what went wrong
    """It did not work this time; whether it had an effect is unknown."""


class Client:
    """One process with any number of tasks."""

    def __init__(
        self,
        simulator: Simulator,
        network: Network,
        name: str,
        nodes: list[str],
        history: History,
        observer: Observer,
    ) -> None:
        self.simulator = simulator
        self.name = name
        self.history = history
        self.random = simulator.source(name)
        self.process = ProcessLoop(simulator, network, name, name, self.random, observer=observer)
        self.is_stopping = False
        self._nodes = nodes
        self._addresses: dict[int, str] = {}
        self._leaders: dict[Place, tuple[int, int]] = {}
        """Leader and leader epoch."""
        self.topic_ids: dict[str, bytes] = {}
        self._connections: dict[tuple[str, str], BrokerConnection] = {}
        self.tasks: list[asyncio.Task[None]] = []

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something concurrently; if it fails, so does the simulation."""

        def begin() -> None:
            task = self.process.create_task(work)
            task.add_done_callback(self._finished)
            self.tasks.append(task)

        self.process.call_soon(begin)

    def _finished(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and task.exception() is not None:
            self.simulator.failure = task.exception()

    @property
    def is_done(self) -> bool:
        return all(task.done() for task in self.tasks)

    async def pause(self, least_ms: int, most_ms: int) -> None:
        await asyncio.sleep(self.random.randint(least_ms, most_ms) / 1000)

    # -- requests ----------------------------------------------------------------------------------

    async def call(
        self,
        host: str,
        request: Request[ResponseT],
        *,
        lane: str = "",
        max_version: int | None = None,
        timeout_ms: int = TIMEOUT_MS,
    ) -> ResponseT:
        """Ask a node; raises `TryAgain` if no answer comes."""
        connection = await self.connect(host, lane)
        try:
            return await connection.send(request, max_version=max_version, timeout_ms=timeout_ms)
        except BarnabasError as error:
            if not error.retriable:
                raise
            raise TryAgain(str(error)) from error

    async def connect(self, host: str, lane: str) -> BrokerConnection:
        """The connection to a node, opened if there is none."""
        connection = self._connections.get((host, lane))
        if connection is None or connection.closed:
            try:
                connection = await BrokerConnection.open(host, PORT, timeout_ms=TIMEOUT_MS)
            except BarnabasError as error:
                raise TryAgain(str(error)) from error
            self._connections[host, lane] = connection
        return connection

    def send_late(
        self, host: str, request: Request[Any], lane: str, max_version: int, delay_us: int
    ) -> None:
        """Send something and give the connection up at once: it arrives after a while, maybe."""
        connection = self._connections.pop((host, lane), None)
        stream = None if connection is None else connection._transport
        if connection is None or not isinstance(stream, Stream):
            return

        async def send() -> None:
            try:
                await connection.send(request, max_version=max_version)
            except BarnabasError as error:
                self.simulator.remark("%s: %s", lane, error)

        self.run(send())
        self.process.call_soon(self.process.call_soon, stream.linger, delay_us)

    def forget(self, host: str, lane: str) -> None:
        """Make sure that nothing sent on this lane has an effect any more.

        Committing offsets needs that: the protocol does not tell an older commit that comes
        late, over a connection that was given up, from a newer one.
        """
        connection = self._connections.pop((host, lane), None)
        stream = None if connection is None else connection._transport
        if isinstance(stream, Stream):
            stream.obliterate()

    # -- who does what -----------------------------------------------------------------------------

    def any_node(self) -> str:
        return self.random.choice(self._nodes)

    async def refresh(self, topics: list[str]) -> None:
        """Ask some node who leads what."""
        request = MetadataRequest(
            [MetadataRequestTopic(name=name) for name in topics], allow_auto_topic_creation=False
        )
        answer = await self.call(self.any_node(), request)
        for broker in answer.brokers:
            self._addresses[broker.node_id] = broker.host
        for topic in answer.topics:
            if topic.name and not topic.error_code:
                self.topic_ids[topic.name] = topic.topic_id
            for one in topic.partitions:
                place = Place(topic.name or "", one.partition_index)
                if one.leader_epoch >= self._leaders.get(place, (-1, -1))[1]:
                    self._leaders[place] = (one.leader_id, one.leader_epoch)

    def places_of(self, topic: str) -> list[Place]:
        """The partitions of a topic, as far as is known."""
        return [place for place in self._leaders if place.topic == topic]

    async def leader(self, place: Place) -> tuple[str, int]:
        """The host and the epoch of a partition's leader, as far as is known."""
        if place not in self._leaders or self._leaders[place][0] not in self._addresses:
            await self.refresh([place.topic])
        leader, epoch = self._leaders.get(place, (-1, -1))
        if leader not in self._addresses:
            raise TryAgain(f"{place} has no leader")
        return self._addresses[leader], epoch

    def host_of(self, node_id: int) -> str | None:
        return self._addresses.get(node_id)

    def lost_leader(self, place: Place) -> None:
        """It is not who we thought: ask again."""
        if place in self._leaders:
            self._leaders[place] = (-1, self._leaders[place][1])

    async def coordinator(self, key: str, *, of_transactions: bool = False) -> str:
        """Of a group, or of a transactional id."""
        request = FindCoordinatorRequest(key, int(of_transactions))
        answer = await self.call(self.any_node(), request, max_version=_SINGLE_KEY)
        if answer.error_code:
            raise TryAgain(ErrorCode(answer.error_code).name)
        return answer.host
