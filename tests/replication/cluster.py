"""Nodes with real logs, partitions, fetchers and handlers, and a controller made of a few lines.

There are no sockets: requests are encoded, dispatched and answered in the order in which they came.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Executor, Future
from pathlib import Path
from random import Random
from typing import Any

from barnabas.broker.fetch.fetch_sessions import FetchSessions
from barnabas.broker.follower.replica_fetchers import ReplicaFetchers
from barnabas.broker.handlers import delete_records, fetch, list_offsets, produce, produce_single
from barnabas.broker.net.dispatcher import Dispatcher, Route
from barnabas.broker.net.held_memory import HeldMemory
from barnabas.broker.net.peers import PeerUnavailable
from barnabas.broker.net.request_errors import RequestErrors
from barnabas.broker.replica.flusher import Flusher
from barnabas.broker.replica.isr_changes import IsrChanges
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.replica.recompression import Recompression
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import DataDirectory, Disk, OsDisk
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.records import MetadataRecord
from barnabas.security.principal import ANONYMOUS
from barnabas.wire.endpoint import Address
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import decode_response, encode_request
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    PartitionResult,
    TopicResult,
)
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
)
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.wire.messages.metadata_records import (
    BrokerEndpoint,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from tests.broker.raw_client import batch
from tests.broker.verbs import values_of
from tests.client.virtual_time import VirtualTimeLoop
from tests.support.access import OPEN

TOPIC = "t"
TOPIC_ID = bytes(range(16))
ROUTES = [
    Route(FetchRequest, fetch.handle),
    Route(ProduceRequest, produce.handle, produce_single.handle),
    Route(ListOffsetsRequest, list_offsets.handle),
    Route(DeleteRecordsRequest, delete_records.handle),
]
SETTINGS = {
    "replica.lag.time.max.ms": "1000",
    "replica.fetch.wait.max.ms": "200",
    "log.message.timestamp.after.max.ms": str(2**62),
}


class ConnectionCount:
    def __init__(self) -> None:
        self.unread = HeldMemory("", "", lambda: 0.0)
        self.unread.max_bytes = 1 << 30


class BrokerLifecycle:
    is_cut_off = False


class Line:
    """A connection: answers come in the order of the requests."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[asyncio.Future[Any], asyncio.Future[Any]]] = deque()

    def send(self, answer: Any, loop: asyncio.AbstractEventLoop) -> "asyncio.Future[Any]":
        if not isinstance(answer, asyncio.Future):
            done: asyncio.Future[Any] = loop.create_future()
            done.set_result(answer)
            answer = done
        result: asyncio.Future[Any] = loop.create_future()
        self.waiting.append((answer, result))
        answer.add_done_callback(lambda _: self._deliver())
        return result

    def _deliver(self) -> None:
        while self.waiting and self.waiting[0][0].done():
            answer, result = self.waiting.popleft()
            if not result.done():
                result.set_result(b"".join(answer.result()))

    def cut(self) -> None:
        waiting, self.waiting = self.waiting, deque()
        for answer, result in waiting:
            answer.cancel()
            if not result.done():
                result.set_exception(PeerUnavailable("cut"))


class HeldLine(Line):
    """Requests arrive, and no answer does until it is let go."""

    is_held = True

    def _deliver(self) -> None:
        if not self.is_held:
            super()._deliver()

    def let_go(self) -> None:
        self.is_held = False
        self._deliver()


class Wires:
    """What a node sends to others: stands in for `Peers`."""

    def __init__(self, cluster: "Cluster", node_id: int) -> None:
        self._cluster = cluster
        self._node_id = node_id
        self.loop = cluster.loop
        self.clock = cluster.clock
        self.lines: dict[int, Line] = {}
        self.calls = 0

    def call(
        self, node_id: int, request: Request[Any], version: int, *, timeout_ms: int, lane: str = ""
    ) -> "asyncio.Future[Any]":
        del timeout_ms, lane
        self.calls += 1
        return asyncio.ensure_future(self._call(node_id, request, version))

    async def _call(self, node_id: int, request: Request[Any], version: int) -> Response:
        await asyncio.sleep(0)
        target = self._cluster.nodes.get(node_id)
        if target is None or (self._node_id, node_id) in self._cluster.cuts:
            await asyncio.sleep(0.01)
            raise PeerUnavailable("not running")
        line = self.lines.setdefault(node_id, Line())
        answer = await line.send(target.dispatch(request, version), self.loop)
        return decode_response(bytearray(answer)[4:], request.RESPONSE, version)


class Connection:
    client_host = local_host = "test"
    peer = None
    principal = ANONYMOUS

    def refuse(self, why: str) -> None:
        raise AssertionError(why)


class AtOnce(Executor):
    """Does each job when it is given: in virtual time a thread would be late for everything."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - as a thread does
            done.set_exception(error)
        return done


class LoopClock(Clock):
    """Follows the virtual time of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self._began_ms = super().now_ms()

    def now_ms(self) -> int:
        return self._began_ms + int(self._loop.time() * 1000)

    def steady_ms(self) -> int:
        return self.now_ms()

    def steady_s(self) -> float:
        return self._loop.time()


class Node:
    """As much of a node as handlers and fetchers need."""

    def __init__(self, cluster: "Cluster", node_id: int, path: Path, disk: Disk) -> None:
        self.cluster = cluster
        self.node_id = node_id
        self.loop = cluster.loop
        self.clock = cluster.clock
        self.config = BrokerConfig(cluster.settings)
        self.authorization = OPEN
        self.connections = ConnectionCount()
        self.lifecycle = BrokerLifecycle()
        self.request_errors = RequestErrors()
        self.rack = cluster.racks.get(node_id)
        self.image = MetadataImage()
        self.epoch = -1
        self.executor = AtOnce()
        self.flusher = Flusher(self.loop, self.executor, self.clock)
        self.recompression = Recompression(self.loop, self.executor)
        self.fetch_sessions = FetchSessions(100, Random(node_id))
        self.data = DataDirectory.open(
            disk, str(path), node_id=node_id, new_cluster_id="c", new_directory_id=bytes(16)
        )
        self.wires = Wires(cluster, node_id)
        self.isr_changes = IsrChanges(
            self.loop,
            node_id=node_id,
            broker_epoch=lambda: self.epoch,
            call_controller=lambda request, _: cluster.alter_partition(request),
            replica_lag_time_max_ms=self.config.replicas.lag_time_max_ms,
        )
        self.partitions = Partitions(
            self.config,
            self.image,
            self.data,
            disk,
            self.loop,
            self.executor,
            self.flusher.appended,
            clock=self.clock,
            node_id=node_id,
            on_follower_ready=self.isr_changes.enqueue,
        )
        self.fetchers = ReplicaFetchers(
            self.wires,  # type: ignore[arg-type]
            self.config,
            node_id=node_id,
            broker_epoch=lambda: self.epoch,
            flush=self.flusher.flush,
            remove=self.partitions.run_later,
        )
        self.partitions.leaders_changed.append(self.fetchers.apply)
        self.isr_changes.start(self.partitions.led)
        self.cluster = self
        self._dispatcher = Dispatcher(self, ROUTES)

    def endpoint_of(self, node_id: int, _: object) -> Address | None:
        return Address(f"node-{node_id}", 9092) if node_id in self.image.brokers else None

    def dispatch(self, request: Request[Any], version: int) -> Any:
        frame = bytearray(b"".join(encode_request(request, version, 1, "test"))[4:])
        return self._dispatcher.dispatch(memoryview(frame), Connection())  # type: ignore[arg-type]

    def learn(self, records: Iterable[MetadataRecord]) -> None:
        """Take over what is agreed."""
        for record in records:
            match record:
                case RemoveTopicRecord():
                    topic = self.image.topics_by_id[record.topic_id]
                    self.image.replay(record)
                    list(self.partitions.delete_topic(topic.name, topic.topic_id))
                case PartitionRecord() | PartitionChangeRecord():
                    self.image.replay(record)
                    topic = self.image.topics_by_id[record.topic_id]
                    self.partitions.apply(topic, [record.partition_id])
                case RegisterBrokerRecord() | BrokerRegistrationChangeRecord():
                    self.image.replay(record)
                    self.partitions.brokers_changed()
                case ConfigRecord():
                    self.image.replay(record)
                    self.partitions.reconfigure(record.resource_name)
                case _:
                    self.image.replay(record)

    def partition(self, index: int = 0, topic: str = TOPIC) -> Partition:
        partition = self.partitions.get(topic, index)
        assert partition is not None
        return partition

    async def stop(self, *, cleanly: bool = True) -> None:
        await self.fetchers.close()
        await self.isr_changes.close()
        for line in self.wires.lines.values():
            line.cut()
        await self.flusher.close()
        self.executor.shutdown()
        if cleanly:
            self.partitions.close()
        else:
            for partition in self.partitions:
                partition.log.abandon()
        for partition in self.partitions:
            partition.retire()
        self.data.close()


class Cluster:
    """Nodes, and what they have agreed on."""

    def __init__(self, path: Path, settings: dict[str, str] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self.clock = LoopClock(self.loop)
        self.settings = SETTINGS | (settings or {})
        self.racks: dict[int, str] = {}
        self.nodes: dict[int, Node] = {}
        self.cuts: set[tuple[int, int]] = set()
        self.agreed: list[MetadataRecord] = []
        self.image = MetadataImage()
        self.is_controller_there = True
        self.alterations = 0
        self.deaf: set[int] = set()
        self._path = path

    def start(self, *node_ids: int, disk: Disk | None = None) -> None:
        for node_id in node_ids:
            node = Node(self, node_id, self._path / str(node_id), disk or OsDisk())
            node.epoch = len(self.agreed) + 100
            node.learn(self.agreed)
            self.nodes[node_id] = node
            self.agree(
                RegisterBrokerRecord(
                    broker_id=node_id,
                    broker_epoch=node.epoch,
                    end_points=[BrokerEndpoint("PLAINTEXT", f"node-{node_id}", 9092)],
                    rack=self.racks.get(node_id),
                    fenced=False,
                )
            )

    async def stop(self, node_id: int, *, cleanly: bool = True) -> None:
        node = self.nodes.pop(node_id)
        for other in self.nodes.values():
            line = other.wires.lines.pop(node_id, None)
            if line is not None:
                line.cut()
        await node.stop(cleanly=cleanly)

    def agree(self, *records: MetadataRecord) -> None:
        for record in records:
            self.agreed.append(record)
            self.image.replay(record)
            for node in tuple(self.nodes.values()):
                if node.node_id not in self.deaf:
                    node.learn([record])

    def create(
        self, *replicas: list[int], topic: str = TOPIC, topic_id: bytes = TOPIC_ID, **configs: str
    ) -> None:
        """A topic; each partition's first replica leads, all are in sync."""
        self.agree(
            TopicRecord(topic, topic_id),
            *(
                ConfigRecord(2, topic, name.replace("_", "."), value)
                for name, value in configs.items()
            ),
        )
        self.agree(
            *(
                PartitionRecord(
                    partition_id=index,
                    topic_id=topic_id,
                    replicas=nodes,
                    isr=nodes,
                    leader=nodes[0],
                    leader_epoch=0,
                    partition_epoch=0,
                )
                for index, nodes in enumerate(replicas)
            )
        )

    def change(self, index: int = 0, **what: Any) -> None:
        self.agree(PartitionChangeRecord(partition_id=index, topic_id=TOPIC_ID, **what))

    def fail_over(self, leader: int, isr: list[int], index: int = 0) -> None:
        self.change(index, leader=leader, isr=isr)

    def fence(self, *node_ids: int) -> None:
        self._register_change(node_ids, fenced=1)

    def unfence(self, *node_ids: int) -> None:
        self._register_change(node_ids, fenced=-1)

    def _register_change(self, node_ids: Iterable[int], *, fenced: int) -> None:
        self.agree(
            *(
                BrokerRegistrationChangeRecord(
                    broker_id=node_id, broker_epoch=self.image.brokers[node_id].epoch, fenced=fenced
                )
                for node_id in node_ids
            )
        )

    def isr(self, index: int = 0) -> list[int]:
        return sorted(self.image.topics[TOPIC].partitions[index].isr)

    async def alter_partition(self, request: Request[Any]) -> Response:
        """The controller."""
        assert isinstance(request, AlterPartitionRequest)
        await asyncio.sleep(0.001)
        if not self.is_controller_there:
            raise PeerUnavailable("there is no controller")
        self.alterations += 1
        topics = []
        for topic in request.topics:
            results = []
            for wanted in topic.partitions:
                image = self.image.topics_by_id[topic.topic_id].partitions[wanted.partition_index]
                error = ErrorCode.NONE
                brokers = self.image.brokers
                if wanted.leader_epoch != image.leader_epoch:
                    error = ErrorCode.FENCED_LEADER_EPOCH
                elif wanted.partition_epoch != image.partition_epoch:
                    error = ErrorCode.INVALID_UPDATE_VERSION
                elif any(
                    brokers[member.broker_id].epoch != member.broker_epoch
                    for member in wanted.new_isr_with_epochs
                    if member.broker_epoch >= 0
                ):
                    error = ErrorCode.INELIGIBLE_REPLICA
                if error is ErrorCode.NONE:
                    isr = [member.broker_id for member in wanted.new_isr_with_epochs]
                    self.change(wanted.partition_index, isr=isr)
                    image = self.image.topics_by_id[topic.topic_id].partitions[image.index]
                results.append(
                    PartitionResult(
                        image.index,
                        error,
                        image.leader,
                        image.leader_epoch,
                        image.isr,
                        partition_epoch=image.partition_epoch,
                    )
                )
            topics.append(TopicResult(topic_id=topic.topic_id, partitions=results))
        return AlterPartitionResponse(topics=topics)

    # -- clients -----------------------------------------------------------------------------------

    async def ask(self, node_id: int, request: Request[Any], version: int | None = None) -> Any:
        version = request.MAX_VERSION if version is None else version
        answer = self.nodes[node_id].dispatch(request, version)
        if isinstance(answer, asyncio.Future):
            answer = await answer
        return decode_response(b"".join(answer)[4:], request.RESPONSE, version)

    async def produce(
        self,
        node_id: int,
        *values: bytes,
        acks: int = -1,
        index: int = 0,
        timeout_ms: int = 30_000,
        version: int = 12,
    ) -> PartitionProduceResponse:
        data = [PartitionProduceData(index, batch(*values))]
        topic = TopicProduceData(TOPIC, TOPIC_ID, data)
        response = await self.ask(node_id, ProduceRequest(None, acks, timeout_ms, [topic]), version)
        return response.responses[0].partition_responses[0]  # type: ignore[no-any-return]

    async def delete_records(
        self, node_id: int, offset: int, timeout_ms: int = 30_000
    ) -> tuple[int, int]:
        topic = DeleteRecordsTopic(TOPIC, [DeleteRecordsPartition(0, offset)])
        response = await self.ask(node_id, DeleteRecordsRequest([topic], timeout_ms))
        result = response.topics[0].partitions[0]
        return result.low_watermark, result.error_code

    async def consume(
        self,
        node_id: int,
        offset: int = 0,
        index: int = 0,
        *,
        rack: str = "",
        max_wait_ms: int = 0,
        epoch: int = -1,
        version: int = 18,
    ) -> PartitionData:
        asked = FetchPartition(
            index, current_leader_epoch=epoch, fetch_offset=offset, partition_max_bytes=1 << 20
        )
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=1 << 20,
            session_epoch=-1,
            topics=[FetchTopic(TOPIC, TOPIC_ID, [asked])],
            rack_id=rack,
        )
        response = await self.ask(node_id, request, version)
        return response.responses[0].partitions[0]  # type: ignore[no-any-return]

    async def latest(self, node_id: int, version: int = 11) -> tuple[int, int]:
        """Error code and offset."""
        topic = ListOffsetsTopic(TOPIC, [ListOffsetsPartition(0, -1, -1)])
        response = await self.ask(node_id, ListOffsetsRequest(-1, 0, [topic]), version)
        answer = response.topics[0].partitions[0]
        return answer.error_code, answer.offset

    async def stored(self, node_id: int, index: int = 0) -> list[bytes | None]:
        """What a consumer can read at a node."""
        return values_of(await self.consume(node_id, index=index))


def run(
    path: Path,
    test: Callable[[Cluster], Awaitable[None]],
    settings: dict[str, str] | None = None,
    racks: dict[int, str] | None = None,
    nodes: int = 3,
) -> None:
    async def body() -> None:
        cluster = Cluster(path, settings)
        cluster.racks = racks or {}
        cluster.start(*range(1, nodes + 1))
        try:
            await test(cluster)
        finally:
            for node_id in tuple(cluster.nodes):
                with contextlib.suppress(Exception):
                    await cluster.stop(node_id)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(body())
