"""A leader of many partitions, which answers fetches without a socket or a disk."""

import asyncio
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

from barnabas.broker.fetch.fetch_sessions import FetchSessions
from barnabas.broker.handlers import fetch
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.net.dispatcher import Dispatcher, Route
from barnabas.broker.replica.append_limits import AppendLimits
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partition_host import PartitionHost
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.log import Log, LogConfig
from barnabas.metadata.image import MetadataImage, PartitionImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import decode_response, encode_request
from barnabas.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ReplicaState,
)
from tests.log.batches import put
from tests.log.memory_disk import MemoryDisk
from tests.support.access import OPEN

TOPIC_ID = b"t" * 16
FOLLOWER = 2
VERSION = FetchRequest.MAX_VERSION
_LIMITS = AppendLimits(
    1 << 20, 1 << 20, 2**63 - 1, 2**63 - 1, needs_keys=False, min_insync_replicas=1
)
_LED_HERE = PartitionImage(0, [1, FOLLOWER], [1], 1, 5, 5)
"""The follower is not in sync yet; what is written before it fetches is committed at once."""


class Leader:
    """Node 1, as the handler of fetches sees it."""

    def __init__(self, partitions: int, settings: dict[str, str] | None = None) -> None:
        self.loop = asyncio.new_event_loop()
        self.config = BrokerConfig(settings or {})
        self.authorization = OPEN
        self.connections = ConnectionLimits(self.loop, self.config)
        self.fetch_sessions = FetchSessions(10, Random(1))
        self.lifecycle = SimpleNamespace(is_cut_off=False)
        self.rack = None
        self.image = MetadataImage()
        host = PartitionHost(
            1, self.loop, Clock(), 1000, lambda _: 1, lambda _: None, lambda _: None
        )
        disk = MemoryDisk()
        self.led: dict[int, Partition] = {}
        for index in range(partitions):
            log = Log.open(disk, f"data/t-{index}", LogConfig(), 0)
            self.led[index] = Partition("t", index, TOPIC_ID, log, _LIMITS, host)
            self.led[index].apply(_LED_HERE)
        self.partitions = SimpleNamespace(find=self.find)
        routes: list[Route[Any]] = [Route(FetchRequest, fetch.handle)]
        self.dispatch = Dispatcher(self, routes).dispatch
        self.connection = Connection(self.dispatch, self.connections)

    def find(self, topic: str | bytes, index: int) -> Partition | ErrorCode:
        assert topic == TOPIC_ID
        return self.led.get(index, ErrorCode.UNKNOWN_TOPIC_ID)

    def write(self, index: int, value: bytes = b"a") -> None:
        partition = self.led[index]
        put(partition.log, value, epoch=5)
        partition.maybe_advance_high_watermark()
        partition.notify()

    def send(
        self, offsets: dict[int, int], session: tuple[int, int], max_wait_ms: int = 0, **how: Any
    ) -> Any:
        """The answer, or a future of it."""
        (answer,) = self.send_together(fetch_frame(offsets, session, max_wait_ms, **how))
        return answer

    def send_together(
        self, *frames: bytearray, before: Callable[[], None] = lambda: None
    ) -> list[Any]:
        """Have several requests handled in one turn of the loop, after `before`."""

        async def dispatch() -> list[Any]:
            before()
            return [self.dispatch(memoryview(frame), self.connection) for frame in frames]

        return self.loop.run_until_complete(dispatch())

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            self.loop.run_until_complete(asyncio.sleep(0))

    def received(self, answer: Any) -> FetchResponse:
        """The response, when it is there."""
        if isinstance(answer, asyncio.Future):
            answer = self.loop.run_until_complete(asyncio.wait_for(answer, 60))
        return decode_response(b"".join(answer)[4:], FetchResponse, VERSION)

    def open(self, offsets: dict[int, int], replica_id: int = FOLLOWER) -> int:
        """A session that reads from these offsets; its id."""
        answer = self.received(self.send(offsets, (0, 0), replica_id=replica_id))
        assert answer.error_code == 0
        return answer.session_id


def fetch_frame(
    offsets: dict[int, int],
    session: tuple[int, int],
    max_wait_ms: int = 0,
    replica_id: int = FOLLOWER,
    max_bytes: int = 1 << 20,
    last_fetched_epoch: int = 5,
    leader_epoch: int = 5,
) -> bytearray:
    asked = [
        FetchPartition(
            index, leader_epoch, offset, last_fetched_epoch if offset else -1, 0, 1 << 20
        )
        for index, offset in offsets.items()
    ]
    request = FetchRequest(
        replica_state=ReplicaState(replica_id, 1 if replica_id == FOLLOWER else -1),
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic_id=TOPIC_ID, partitions=asked)] if asked else [],
    )
    return bytearray(b"".join(encode_request(request, VERSION, 7, None))[4:])


def bounds(response: FetchResponse) -> dict[int, int]:
    """The high watermarks that a response tells."""
    assert response.error_code == 0
    parts = [data for topic in response.responses for data in topic.partitions]
    assert not any(data.error_code for data in parts), parts
    return {data.partition_index: data.high_watermark for data in parts}
