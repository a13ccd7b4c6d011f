"""Brokers as Python objects: the client's connections without sockets, for virtual time."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import Any

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.environment import ClientEnvironment
from barnabas.errors import ConnectionLost, NobodyListens, RequestTimedOut
from barnabas.records.encode import encode_batch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.primitives import ZERO_UUID
from tests.client.virtual_time import now

LATENCY_S = 0.001
PORT = 9092
_EARLIEST = -2


class FakeLog:
    """Offsets from `first` to before `end`, in batches of `batch` records of `size` bytes."""

    def __init__(self, first: int = 0, end: int = 0, *, batch: int = 10, size: int = 1) -> None:
        self.first = first
        self.end = end
        self.batch = batch
        self.size = size

    def read(self, offset: int) -> bytes:
        last = min(offset + self.batch, self.end)
        rows = [(1, None, (b"%d" % n).rjust(self.size), ()) for n in range(offset, last)]
        return bytes(encode_batch(rows, base_offset=offset)) if rows else b""


class FakeCluster:
    """Two brokers. Tests change what it holds while the client works with it."""

    def __init__(self, **logs: FakeLog) -> None:
        self.logs = {TopicPartition("t", int(name[1:])): log for name, log in logs.items()}
        self.leaders = dict.fromkeys(self.logs, 1)
        self.epoch = 0
        self.topic_id = ZERO_UUID
        self.down: set[int] = set()
        self.delay_s: defaultdict[type[Any], float] = defaultdict(float)
        self.errors: defaultdict[type[Any], deque[int]] = defaultdict(deque)
        """Error codes of the next answers, for the handlers that look there."""
        self.seen: list[tuple[float, int, Any]] = []
        self.handlers: dict[type[Any], Callable[[int, Any], Any]] = {
            MetadataRequest: self._metadata,
            FetchRequest: self._fetch,
            ListOffsetsRequest: self._list_offsets,
            FindCoordinatorRequest: lambda _node, _request: FindCoordinatorResponse(
                node_id=1, host="broker-1", port=PORT
            ),
        }

    def client(self, **options: Any) -> ClusterClient:
        loop = asyncio.get_running_loop()
        environment = ClientEnvironment(loop.time, lambda: 0.5, self._connect)
        return ClusterClient("broker-1:9092,broker-2:9092", environment=environment, **options)

    def elect(self, partition: TopicPartition, leader: int) -> None:
        self.epoch += 1
        self.leaders[partition] = leader

    def times(self, kind: type[Any]) -> list[float]:
        """When requests of a kind came."""
        return [round(at, 3) for at, _, request in self.seen if isinstance(request, kind)]

    async def _connect(
        self, host: str, port: int, *, client_id: str, timeout_ms: int
    ) -> BrokerConnection:
        node_id = int(host.removeprefix("broker-"))
        await asyncio.sleep(LATENCY_S)
        if node_id in self.down:
            raise NobodyListens("connection refused")
        return FakeConnection(self, node_id, client_id)

    async def answer(self, node_id: int, request: Any) -> Any:
        self.seen.append((now(), node_id, request))
        await asyncio.sleep(LATENCY_S + self.delay_s[type(request)])
        answer = self.handlers[type(request)](node_id, request)
        return await answer if isinstance(answer, Awaitable) else answer

    # -- the answers of brokers ----------------------------------------------------------------

    def _metadata(self, _node_id: int, request: MetadataRequest) -> MetadataResponse:
        partitions = [
            MetadataResponsePartition(
                partition_index=each.partition, leader_id=leader, leader_epoch=self.epoch
            )
            for each, leader in self.leaders.items()
        ]
        names = ["t"] if request.topics is None else [each.name for each in request.topics]
        return MetadataResponse(
            brokers=[MetadataResponseBroker(n, f"broker-{n}", PORT) for n in (1, 2)],
            controller_id=1,
            topics=[
                MetadataResponseTopic(name=name, topic_id=self.topic_id, partitions=partitions)
                for name in names
            ],
        )

    async def _fetch(self, node_id: int, request: FetchRequest) -> FetchResponse:
        answers = [self._read(node_id, each) for each in request.topics[0].partitions]
        if not any(each.records or each.error_code for each in answers):
            await asyncio.sleep(request.max_wait_ms / 1000)
            answers = [self._read(node_id, each) for each in request.topics[0].partitions]
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=answers)])

    def _read(self, node_id: int, asked: Any) -> PartitionData:
        partition = TopicPartition("t", asked.partition)
        log = self.logs[partition]
        data = PartitionData(partition_index=asked.partition, high_watermark=log.end)
        if self.errors[FetchRequest]:
            data.error_code = self.errors[FetchRequest].popleft()
        elif self.leaders[partition] != node_id:
            data.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif not log.first <= asked.fetch_offset <= log.end:
            data.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        else:
            data.records = log.read(asked.fetch_offset)
        return data

    def _list_offsets(self, _node_id: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        answers = []
        for asked in request.topics[0].partitions:
            log = self.logs[TopicPartition("t", asked.partition_index)]
            offset = log.first if asked.timestamp == _EARLIEST else log.end
            answers.append(
                ListOffsetsPartitionResponse(partition_index=asked.partition_index, offset=offset)
            )
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", answers)])


class FakeConnection(BrokerConnection):
    """Hands requests to the fake cluster, as objects."""

    def __init__(self, cluster: FakeCluster, node_id: int, client_id: str) -> None:
        super().__init__(f"broker-{node_id}:{PORT}", client_id)
        self._cluster = cluster
        self._node_id = node_id
        self._is_closed = False

    @property
    def closed(self) -> bool:
        return self._is_closed or self._node_id in self._cluster.down

    async def send(
        self, request: Any, *, max_version: int | None = None, timeout_ms: int = 30_000
    ) -> Any:
        del max_version
        if self.closed:
            raise ConnectionLost("the connection was closed")
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await self._cluster.answer(self._node_id, request)
        except TimeoutError as error:
            raise RequestTimedOut(f"no answer in {timeout_ms} ms") from error

    def version_for(self, request_type: Any, max_version: int | None = None) -> int:
        newest: int = request_type.MAX_VERSION
        return newest if max_version is None else min(newest, max_version)

    def serves(self, request_type: Any) -> bool:
        return request_type in self._cluster.handlers

    async def close(self) -> None:
        self._is_closed = True
