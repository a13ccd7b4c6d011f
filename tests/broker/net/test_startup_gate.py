"""The gate: nodes pass, clients wait, and each request is served once."""

import asyncio
from asyncio import Future
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from barnabas.broker.net.connection import Answer, Connection
from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.net.peer_proof import PeerIdentity
from barnabas.broker.net.peers import peer_client_id
from barnabas.broker.net.startup_gate import StartupGate
from barnabas.broker.settings.config import BrokerConfig
from barnabas.wire.framing import decode_request_header, encode_request
from barnabas.wire.message import Request
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.primitives import Reader, WireError


class Transport:
    """As much of a transport as a connection uses."""

    def __init__(self) -> None:
        self.written = b""
        self.is_closed = False

    def get_extra_info(self, name: str) -> tuple[str, int]:
        return ("127.0.0.1", 1)

    def set_write_buffer_limits(self, high: int) -> None: ...

    def writelines(self, buffers: list[bytes]) -> None:
        self.written += b"".join(buffers)

    def write(self, data: bytes) -> None:
        self.written += data

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        self.is_closed = True


class Served:
    """A gate, and behind it a handler that answers with the number of the request."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.connections = ConnectionLimits(self.loop, BrokerConfig({}))
        self.gate = StartupGate(self.dispatch, self.connections)
        self.served: list[int] = []
        self.parked: dict[int, Future[Answer]] = {}
        self.parks: set[int] = set()
        self.refuses: set[int] = set()
        self.holds: set[int] = set()

    def dispatch(self, frame: memoryview, connection: Connection) -> "Answer | Future[Answer]":
        number = decode_request_header(Reader(frame)).correlation_id
        self.served.append(number)
        if number in self.refuses:
            raise WireError("no sense")
        if number in self.holds:
            connection.hold()
        if number in self.parks:
            self.parked[number] = self.loop.create_future()
            return self.parked[number]
        return [b"%d " % number]

    def connect(self) -> tuple[Connection, Transport]:
        connection, transport = self.gate.new_connection(), Transport()
        connection.connection_made(transport)  # type: ignore[arg-type]
        return connection, transport


def send(
    connection: Connection, number: int, request: Request[Any], client_id: str = "client"
) -> None:
    frame = b"".join(encode_request(request, request.MAX_VERSION, number, client_id))
    connection.get_buffer(len(frame))[: len(frame)] = frame
    connection.buffer_updated(len(frame))


def produce() -> ProduceRequest:
    return ProduceRequest(None, 1, 1000, [])


def play(scenario: Callable[[Served], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await scenario(Served())

    asyncio.run(run())


def test_clients_wait_until_it_is_open_and_are_answered_in_order() -> None:
    async def scenario(served: Served) -> None:
        connection, transport = served.connect()
        other, heard_by_other = served.connect()
        for number in (1, 2):
            send(connection, number, MetadataRequest([]))
        send(other, 3, MetadataRequest([]))
        assert served.served == []
        served.gate.open()
        send(connection, 4, MetadataRequest([]))
        assert served.served == [1, 2, 3, 4]  # each connection's in their order
        assert transport.written == b"1 2 4 "
        assert heard_by_other.written == b"3 "
        late, heard_late = served.connect()
        send(late, 5, MetadataRequest([]))
        assert heard_late.written == b"5 "

    play(scenario)


def test_nodes_and_questions_about_the_node_itself_pass() -> None:
    async def scenario(served: Served) -> None:
        connection, transport = served.connect()
        send(connection, 1, ApiVersionsRequest("c", "1"))
        send(connection, 2, DescribeClusterRequest())
        assert transport.written == b"1 2 "
        connection.peer = PeerIdentity(2, bytes(16))
        send(connection, 3, MetadataRequest([]))
        assert transport.written == b"1 2 3 "
        other, heard_by_other = served.connect()
        send(other, 4, MetadataRequest([]), peer_client_id(2))
        assert heard_by_other.written == b"", "anybody can take a node's name"

    play(scenario)


def test_who_goes_away_is_forgotten() -> None:
    async def scenario(served: Served) -> None:
        connection, _ = served.connect()
        send(connection, 1, MetadataRequest([]))
        connection.connection_lost(None)
        await asyncio.sleep(0)
        served.gate.open()
        assert served.served == []

    play(scenario)


def test_nothing_overtakes_a_request_that_is_taken_in_when_it_opens() -> None:
    """A large Produce is stored in several turns, and another one had come behind it."""

    async def scenario(served: Served) -> None:
        served.holds = {1}
        connection, transport = served.connect()
        send(connection, 1, produce())
        send(connection, 2, produce())
        served.gate.open()
        assert served.served == [1]
        connection.release()
        assert served.served == [1, 2]
        assert transport.written == b"1 2 "

    play(scenario)


@pytest.mark.parametrize("changes", ["opened", "switched"])
def test_a_connection_that_is_being_made_meanwhile_is_served(changes: str) -> None:
    """Accepted, but not yet in the list of all connections."""

    async def scenario(served: Served) -> None:
        if changes == "switched":
            served.gate.open()
        connection, transport = served.gate.new_connection(), Transport()
        if changes == "switched":
            served.gate.use(lambda *_: [b"switched"])
        else:
            served.gate.open()
        connection.connection_made(transport)  # type: ignore[arg-type]
        send(connection, 1, MetadataRequest([]))
        assert transport.written == (b"1 " if changes == "opened" else b"switched")

    play(scenario)


def test_who_goes_away_in_the_moment_it_opens_is_not_served() -> None:
    async def scenario(served: Served) -> None:
        connection, _ = served.connect()
        send(connection, 1, MetadataRequest([]))
        connection.connection_lost(None)
        served.gate.open()
        assert served.served == []

    play(scenario)


@pytest.mark.parametrize("leaves", [False, True])
def test_an_answer_that_takes_its_time(leaves: bool) -> None:
    async def scenario(served: Served) -> None:
        served.parks = {1}
        connection, transport = served.connect()
        send(connection, 1, MetadataRequest([]))
        served.gate.open()
        if leaves:
            connection.connection_lost(None)
            await asyncio.sleep(0)
            assert served.parked[1].cancelled(), "requests of a closed connection are not handled"
            return
        served.parked[1].set_result([b"1"])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert transport.written == b"1"

    play(scenario)


def test_a_request_without_sense_ends_its_connection_and_only_that() -> None:
    async def scenario(served: Served) -> None:
        served.refuses = {1}
        connection, transport = served.connect()
        send(connection, 1, MetadataRequest([]))
        other, heard_by_other = served.connect()
        send(other, 2, MetadataRequest([]))
        served.gate.open()
        await asyncio.sleep(0)
        assert transport.is_closed
        assert heard_by_other.written == b"2 "

    play(scenario)
