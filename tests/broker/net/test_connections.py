"""Frames, limits and order on a connection; what one client does wrong, only it feels."""

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import decode_response
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.metadata import MetadataRequest
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BROKER,
    BY_NAME,
    SET,
    alter,
    asked,
    create_topic,
    fetch_request,
    partitions_of,
    produce_request,
    produced,
    values_of,
)
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

SETTINGS = {
    "socket.request.max.bytes": "3000000",
    "queued.max.request.bytes": "4000000",
    "message.max.bytes": "2000000",
}


@pytest.fixture(autouse=True)
def bystander(node: BrokerProcess) -> Iterator[None]:
    """A client that was there before and must not notice anything."""
    with RawClient(node.host, node.port) as other:
        assert other.ask(MetadataRequest([])).cluster_id
        yield
        assert other.ask(MetadataRequest([])).cluster_id


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


# -- frames ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [5, 99, 32767, -1])
def test_api_versions_from_the_future(client: RawClient, version: int) -> None:
    """Whatever follows the header, the answer is in version 0 and says what there is."""
    client.send_bytes(frame(struct.pack(">hhih", 18, version, 77, -1) + b"\xff" * 20))
    answer = decode_response(client.receive_frame(), ApiVersionsResponse, 0)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    (own,) = answer.api_keys
    assert (own.api_key, own.min_version, own.max_version) == (18, 0, 4)
    assert client.ask(ApiVersionsRequest("raw", "1.0"), 4).error_code == 0


@pytest.mark.parametrize("name", ["", "-x", "x ", "x\n", "é", "x" * 201])
def test_the_name_of_a_client_is_checked(client: RawClient, name: str) -> None:
    assert client.ask(ApiVersionsRequest(name, "1")).error_code == ErrorCode.INVALID_REQUEST
    assert client.ask(ApiVersionsRequest("x", name)).error_code == ErrorCode.INVALID_REQUEST
    assert client.ask(ApiVersionsRequest(name, name), 2).error_code == 0
    longest = "x" * 200
    assert client.ask(ApiVersionsRequest(longest, longest)).error_code == 0


BAD_FRAMES = {
    "unknown API": frame(struct.pack(">hhih", 999, 0, 1, -1)),
    "negative API": frame(struct.pack(">hhih", -1, 0, 1, -1)),
    "unserved version": frame(struct.pack(">hhih", 3, 99, 1, -1)),
    "empty": frame(b""),
    "half a header": frame(b"\0\3\0"),
    "client id that is not there": frame(struct.pack(">hhih", 3, 1, 1, 500)),
    "client id that is no text": frame(struct.pack(">hhih", 3, 1, 1, 2) + b"\xff\xff"),
    "half a request": frame(struct.pack(">hhihi", 3, 1, 1, -1, 7)),
    "negative length": struct.pack(">i", -1),
    "lowest length": struct.pack(">i", -(2**31)),
    "greatest length": struct.pack(">i", 2**31 - 1),
    "larger than allowed": struct.pack(">i", 3_000_001),
    "http": b"GET / HTTP/1.1\r\n\r\n",
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_a_bad_frame_closes_the_connection(client: RawClient, name: str) -> None:
    """But what was asked before it in the same breath is answered."""
    client.send_bytes(client.frame(MetadataRequest([])) + BAD_FRAMES[name])
    assert client.receive().cluster_id
    assert client.is_closed()


def test_a_frame_in_single_bytes(client: RawClient) -> None:
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in client.frame(MetadataRequest([])):
        client.send_bytes(bytes([byte]))
    assert client.receive().cluster_id


def test_a_request_just_within_the_limit(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    value = b"x" * 990_000  # it is the key too
    assert produced(client, topic, batch(value)) == 0
    assert produced(client, topic, batch(value)) == 1


def test_memory_for_unfinished_requests_is_limited(node: BrokerProcess) -> None:
    """A few clients that never finish large requests: the one that passes the limit goes."""
    clients = [RawClient(node.host, node.port) for _ in range(4)]
    try:
        for one in clients:
            with suppress(BrokenPipeError, ConnectionResetError):
                one.send_bytes(struct.pack(">i", 2_900_000) + bytes(1_500_000))

        def closed() -> int:
            return sum(one.is_closed(0.05) for one in clients)

        wait_until(closed, "all of them are kept")
        assert closed() < 4
    finally:
        for one in clients:
            one.socket.close()


# -- order -----------------------------------------------------------------------------------------


def test_answers_come_in_the_order_of_the_requests(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    """Behind a parked fetch everything waits, whatever it is."""
    create_topic(client, topic)
    client.send(fetch_request(asked(topic, {0: 0}), max_wait_ms=60_000), BY_NAME)
    client.send(MetadataRequest([]))
    client.send(produce_request(topic, batch(b"b")), BY_NAME)
    assert client.is_silent(0.1)
    with RawClient(node.host, node.port) as other:
        assert produced(other, topic, batch(b"a")) == 0
    assert values_of(partitions_of(client.receive())[topic, 0]) == [b"a"]
    assert client.receive().cluster_id
    assert client.receive().responses[0].partition_responses[0].base_offset == 1


def test_many_parked_requests(client: RawClient, topic: str) -> None:
    """More than the broker parks on one connection: the rest waits in the socket, in order."""
    create_topic(client, topic)
    waits = [*range(200, 0, -10), *[1] * 80]
    frames = [
        client.frame(fetch_request(asked(topic, {0: 0}), max_wait_ms=wait), BY_NAME)
        for wait in waits
    ]
    client.send_bytes(b"".join(frames))
    for _ in waits:
        assert values_of(partitions_of(client.receive())[topic, 0]) == []


def test_a_client_that_goes_away_while_it_waits(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    create_topic(client, topic)
    for _ in range(3):
        with RawClient(node.host, node.port) as gone:
            gone.send(fetch_request(asked(topic, {0: 0}), max_wait_ms=60_000), BY_NAME)
            assert gone.is_silent(0.05)
    assert produced(client, topic, batch(b"a")) == 0


# -- back-pressure ---------------------------------------------------------------------------------


def test_a_client_that_does_not_read_costs_little(
    client: RawClient, topic: str, node: BrokerProcess
) -> None:
    create_topic(client, topic)
    produced(client, topic, batch(b"x" * 900_000))
    before = node.rss()
    with RawClient(node.host, node.port, receive_buffer=4096) as lazy:
        request = fetch_request(asked(topic, {0: 0}, max_bytes=4 << 20), max_bytes=4 << 20)
        frames = b"".join(lazy.frame(request, BY_NAME) for _ in range(30))
        lazy.send_bytes(frames)
        time.sleep(0.5)
        assert node.rss() - before < 15 << 20
        for _ in range(30):
            assert len(partitions_of(lazy.receive())[topic, 0].records) > 1_800_000


# -- limits on connections -------------------------------------------------------------------------


@pytest.mark.parametrize("setting", ["max.connections", "max.connections.per.ip"])
def test_too_many_connections(client: RawClient, node: BrokerProcess, setting: str) -> None:
    """Two are there (this test's and the bystander's); a third may come, a fourth not."""
    assert alter(client, (BROKER, "1"), (setting, SET, "3")) == (0, None)
    try:
        with RawClient(node.host, node.port) as third:
            assert third.ask(MetadataRequest([])).cluster_id
            with RawClient(node.host, node.port) as fourth:
                assert fourth.is_closed()
            assert third.ask(MetadataRequest([])).cluster_id

        def there_is_room() -> bool:
            with RawClient(node.host, node.port) as again:
                return not again.is_closed(0.05)

        wait_until(there_is_room, "the place was not given back")
    finally:
        assert alter(client, (BROKER, "1"), (setting, 1, None)) == (0, None)
