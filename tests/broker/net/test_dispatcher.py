"""Frames straight to the dispatcher of a node in this process, without a socket in between."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.dispatcher import Dispatcher, RequestContext, Route
from barnabas.broker.node import Node
from barnabas.broker.routes import routes
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import decode_response, encode_request
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.wire.primitives import WireError
from tests.broker.raw_client import batch
from tests.support.tier import examples
from tests.support.wait import LIMIT_S

VERSIONS = range(3, 14)


def request_frame(node: Node, version: int, records: bytes, acks: int = 1) -> bytearray:
    topic_id = node.image.topics["t"].topic_id
    name = "t" if version < 13 else ""
    data = TopicProduceData(name, topic_id, [PartitionProduceData(0, records)])
    request = ProduceRequest(None, acks, 1000, [data])
    return bytearray(b"".join(encode_request(request, version, 7, "me"))[4:])


def ends(node: Node) -> list[int]:
    return [partition.log.log_end_offset for partition in node.partitions]


def dispatch(dispatcher: Dispatcher[Node], node: Node, frame: bytearray) -> Any:
    connection: Any = Connection(dispatcher.dispatch, node.connections)
    answer = dispatcher.dispatch(memoryview(frame), connection)
    return b"".join(answer) if isinstance(answer, list) else answer


# -- without a controller --------------------------------------------------------------------------


@pytest.mark.parametrize("version", [3, 8, 13])
def test_a_node_that_is_cut_off_says_so(
    local_node: Node, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    disconnected: list[object] = []
    monkeypatch.setattr(
        RequestContext, "disconnect_after_response", lambda *_: disconnected.append(1)
    )
    monkeypatch.setattr(local_node.lifecycle, "_heard_of_ms", -(10**9))
    for partition in local_node.partitions:
        monkeypatch.setattr(partition.leading, "is_alone", False)  # else no other could lead
    frame = request_frame(local_node, version, batch(b"a"))
    before = ends(local_node)
    answer = dispatch(Dispatcher(local_node, routes()), local_node, frame)
    response = decode_response(memoryview(answer)[4:], ProduceResponse, version)
    refused = response.responses[0].partition_responses[0]
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    said = None if version < 8 else "this node has lost contact with the controller"
    assert refused.error_message == said
    assert ends(local_node) == before
    assert disconnected


def test_who_sends_what_nobody_would_take_is_not_sent_elsewhere(
    local_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by a node that has stood still for longer than a session."""
    disconnected: list[object] = []
    monkeypatch.setattr(
        RequestContext, "disconnect_after_response", lambda *_: disconnected.append(1)
    )
    monkeypatch.setattr(local_node.lifecycle, "_heard_of_ms", -(10**9))
    frame = request_frame(local_node, 9, batch(b"a")[:-1] + b"!")
    answer = dispatch(Dispatcher(local_node, routes()), local_node, frame)
    response = decode_response(memoryview(answer)[4:], ProduceResponse, 9)
    refused = response.responses[0].partition_responses[0]
    assert refused.error_code == ErrorCode.CORRUPT_MESSAGE
    assert not disconnected


# -- bytes that are wrong --------------------------------------------------------------------------


@pytest.mark.parametrize("version", [3, 8, 9, 12, 13])
def test_a_frame_that_is_cut_off_stores_nothing(local_node: Node, version: int) -> None:
    dispatcher = Dispatcher(local_node, routes())
    frame = request_frame(local_node, version, batch(b"a" * 20))
    before = ends(local_node)
    for length in range(len(frame)):
        with pytest.raises(WireError):
            dispatch(dispatcher, local_node, frame[:length])
    assert ends(local_node) == before


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=examples(300),
)
@given(
    version=st.sampled_from(VERSIONS),
    acks=st.sampled_from([-1, 0, 1]),
    at=st.integers(0, 400),
    byte=st.integers(0, 255),
)
def test_a_changed_byte_is_an_answer_or_an_error(
    local_node: Node, version: int, acks: int, at: int, byte: int
) -> None:
    """Never another exception; and the short cut stores only what the CRC vouches for."""
    dispatcher = Dispatcher(local_node, routes())
    frame = request_frame(local_node, version, batch(b"a" * 20), acks=acks)
    frame[at % len(frame)] = byte
    before = sum(ends(local_node))
    refused = ""
    try:
        dispatch(dispatcher, local_node, frame)
    except WireError as error:
        refused = str(error)
    assert "internal error" not in refused
    assert sum(ends(local_node)) - before in ((0,) if refused else (0, 1))


# -- large requests --------------------------------------------------------------------------------


class Decoder(ThreadPoolExecutor):
    """One thread; whether it was used is noted."""

    def __init__(self) -> None:
        super().__init__(1)
        self.used = 0

    def submit(self, *arguments: Any, **named: Any) -> Any:
        self.used += 1
        return super().submit(*arguments, **named)


@pytest.mark.parametrize(("count", "used"), [(100, 0), (5000, 2)])
def test_a_large_request_is_decoded_and_its_response_encoded_in_a_thread(
    local_node: Node, count: int, used: int
) -> None:
    names = [MetadataRequestTopic(name=f"unknown-{number}") for number in range(count)]
    frame = bytearray(b"".join(encode_request(MetadataRequest(names), 9, 7, "me"))[4:])

    async def ask(decoder: Decoder) -> list[Any]:
        dispatcher = Dispatcher(local_node, routes(), decoder=decoder)
        connection: Any = Connection(dispatcher.dispatch, local_node.connections)
        answer = dispatcher.dispatch(memoryview(frame), connection)
        frame[:] = bytes(len(frame))  # the receive buffer is used again
        return await answer if isinstance(answer, asyncio.Future) else answer or []

    with Decoder() as decoder:
        answer = b"".join(local_node.loop.run_until_complete(ask(decoder)))
        assert decoder.used == used
    assert len(decode_response(answer[4:], MetadataResponse, 9).topics) == count


def test_a_large_request_that_is_malformed_ends_the_connection(local_node: Node) -> None:
    names = [MetadataRequestTopic(name="t")] * 40_001
    frame = bytearray(b"".join(encode_request(MetadataRequest(names), 9, 7, "me"))[4:])
    refused: list[str] = []
    connection: Any = SimpleNamespace(peer=None, client_host="test", refuse=refused.append)

    async def ask(decoder: Decoder) -> None:
        dispatcher = Dispatcher(local_node, routes(), decoder=decoder)
        answer = dispatcher.dispatch(memoryview(frame), connection)
        assert isinstance(answer, asyncio.Future)
        with pytest.raises(WireError):
            await answer

    with Decoder() as decoder:
        local_node.loop.run_until_complete(ask(decoder))
    assert refused == ["the message holds too many array elements or tagged fields"]


# -- errors ----------------------------------------------------------------------------------------


def test_a_bug_costs_one_connection_and_is_logged(
    local_node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    dispatcher = Dispatcher(local_node, [Route(MetadataRequest, broken)])
    frame = bytearray(b"".join(encode_request(MetadataRequest([]), 9, 7, "me"))[4:])
    with pytest.raises(WireError, match="internal error"):
        dispatch(dispatcher, local_node, frame)
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("outcome", ["fails", "is cancelled", "can't be encoded"])
def test_an_answer_that_never_comes_ends_the_connection(
    local_node: Node, caplog: pytest.LogCaptureFixture, outcome: str
) -> None:
    """Whatever happens to a parked answer, the client must not wait for ever."""
    parked: asyncio.Future[Any] = local_node.loop.create_future()
    dispatcher = Dispatcher(local_node, [Route(MetadataRequest, lambda *_: parked)])
    frame = bytearray(b"".join(encode_request(MetadataRequest([]), 9, 7, "me"))[4:])
    answer = dispatch(dispatcher, local_node, frame)
    if outcome == "fails":
        parked.set_exception(ZeroDivisionError())
    elif outcome == "is cancelled":
        parked.cancel()
    else:
        parked.set_result("no response at all")
    local_node.loop.run_until_complete(asyncio.wait([answer], timeout=LIMIT_S))
    assert answer.cancelled()
    assert bool(caplog.records) == (outcome != "is cancelled")
