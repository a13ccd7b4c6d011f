"""Requests are counted once each, whichever way they take."""

import asyncio
from typing import Any

import pytest

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.measured_dispatcher import MeasuredDispatcher
from barnabas.broker.net.request_times import EVERY, RequestTimes
from barnabas.broker.node import Node
from barnabas.broker.routes import routes
from barnabas.wire.framing import encode_request
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.wire.primitives import WireError
from tests.broker.raw_client import batch

_PRODUCE_VERSION = 9


def produce_frame(records: bytes, *, partitions: int = 1) -> bytearray:
    data = [PartitionProduceData(0, records)] * partitions
    request = ProduceRequest(None, 1, 1000, [TopicProduceData("t", partition_data=data)])
    return bytearray(b"".join(encode_request(request, _PRODUCE_VERSION, 7, "me"))[4:])


def metadata_frame() -> bytearray:
    return bytearray(b"".join(encode_request(MetadataRequest([]), 9, 7, "me"))[4:])


class Dispatched:
    def __init__(self, node: Node) -> None:
        self.dispatcher = MeasuredDispatcher(node, routes())
        self._connection: Any = Connection(self.dispatcher.dispatch, node.connections)

    def __call__(self, frame: bytearray) -> Any:
        return self.dispatcher.dispatch(memoryview(frame), self._connection)

    @property
    def produce(self) -> RequestTimes:
        return self.dispatcher.times.by_key[ProduceRequest.API_KEY]

    @property
    def metadata(self) -> RequestTimes:
        return self.dispatcher.times.by_key[MetadataRequest.API_KEY]


@pytest.fixture
def dispatched(local_node: Node) -> Dispatched:
    return Dispatched(local_node)


def test_each_request_counts_and_one_of_some_is_timed(dispatched: Dispatched) -> None:
    sent = 2 * EVERY + 5
    for _ in range(sent):
        assert isinstance(dispatched(produce_frame(batch(b"a"))), list)
    for _ in range(3):
        assert isinstance(dispatched(metadata_frame()), list)
    assert dispatched.produce.count == sent
    assert dispatched.produce.total.count == 3 * EVERY
    assert dispatched.metadata.count == dispatched.metadata.total.count == 3


def test_what_does_not_take_the_short_cut_counts_once(dispatched: Dispatched) -> None:
    for _ in range(3):
        dispatched(produce_frame(batch(b"a"), partitions=2))
    assert dispatched.produce.count == 3


def test_a_frame_of_no_api_counts_for_none(dispatched: Dispatched) -> None:
    dispatched(produce_frame(batch(b"a")))
    for frame in (b"", b"\0", b"\1" + bytes(20), b"\x7f\xff" + bytes(20)):
        with pytest.raises(WireError):
            dispatched(bytearray(frame))
    assert dispatched.produce.count == 1


def test_a_request_that_fails_unexpectedly_closes_its_connection_only(
    dispatched: Dispatched, local_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispatched(produce_frame(batch(b"a")))  # the one that is timed
    for partition in local_node.partitions:
        monkeypatch.setattr(partition, "appender", None)
    with pytest.raises(WireError, match="the broker's log has the details"):
        dispatched(produce_frame(batch(b"a")))
    assert dispatched.produce.count == 2


async def _answered_late(dispatched: Dispatched) -> None:
    waiting = asyncio.get_running_loop().create_future()
    in_place = dispatched.dispatcher._in_place_by_key
    in_place[ProduceRequest.API_KEY] = lambda *_: waiting
    answer = dispatched(produce_frame(batch(b"a")))
    assert dispatched.produce.waiting == 1
    waiting.set_result([b"answer"])
    assert await answer == [b"answer"]
    await asyncio.sleep(0)


def test_a_request_that_waits_is_timed(dispatched: Dispatched) -> None:
    dispatched(produce_frame(batch(b"a")))
    asyncio.run(_answered_late(dispatched))
    assert dispatched.produce.waiting == 0
    assert dispatched.produce.remote.count == 1
    assert dispatched.produce.count == 2
