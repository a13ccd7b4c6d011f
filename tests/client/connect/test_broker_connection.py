"""One connection: versions, order, and every way in which it can break."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.broker.net.listeners import bind
from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.connection_pool import ConnectionPool
from barnabas.errors import (
    BrokerUnreachable,
    ConnectionLost,
    InvalidArgument,
    NobodyListens,
    ProtocolMismatch,
    RequestTimedOut,
)
from barnabas.wire.endpoint import Address
from barnabas.wire.errors import ErrorCode
from barnabas.wire.framing import encode_response
from barnabas.wire.message import Response
from barnabas.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from tests.client.fake_broker import FakeBroker
from tests.client.patient_time import run
from tests.support.ports import unheld_port

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def open_to(broker: FakeBroker) -> BrokerConnection:
    return await BrokerConnection.open("127.0.0.1", broker.port, timeout_ms=60_000)


async def scripted(script: Script) -> tuple[asyncio.Server, int]:
    """A server that says what the script says, whatever it hears."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await script(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


def test_requests_go_out_in_the_newest_version_both_know() -> None:
    async def main() -> None:
        async with FakeBroker() as broker:
            broker.on(HeartbeatRequest, lambda _: HeartbeatResponse())
            broker.versions[HeartbeatRequest.API_KEY] = (1, 2)
            connection = await open_to(broker)
            assert connection.version_for(HeartbeatRequest) == 2
            assert connection.version_for(HeartbeatRequest, 1) == 1
            with pytest.raises(ProtocolMismatch, match="versions 1 to 2"):
                connection.version_for(HeartbeatRequest, 0)
            assert (await connection.send(HeartbeatRequest(group_id="g"))).error_code == 0
            await connection.close()

    run(main())


def test_latencies_are_measured_by_the_clock_of_the_client() -> None:
    """The time of uvloop's loop has a resolution of milliseconds."""

    async def main() -> None:
        async with FakeBroker() as broker:
            broker.on(HeartbeatRequest, lambda _: HeartbeatResponse())
            ticks = itertools.count()
            pool = ConnectionPool("c", 60_000, clock=lambda: next(ticks) / 10_000)
            connection = await pool.to(("127.0.0.1", broker.port))
            await connection.send(HeartbeatRequest(group_id="g"))
            latency = pool.traffic.latency(HeartbeatRequest.API_KEY)
            assert latency.average(0.0) == pytest.approx(0.0001)
            await pool.close()

    run(main())


def test_what_a_broker_does_not_serve_is_not_sent() -> None:
    async def main() -> None:
        async with FakeBroker() as broker:
            connection = await open_to(broker)
            with pytest.raises(ProtocolMismatch, match="does not serve FindCoordinator"):
                await connection.send(FindCoordinatorRequest())
            assert not connection.serves(FindCoordinatorRequest)
            await connection.close()

    run(main())


@pytest.mark.parametrize(("offered", "second_version"), [([ApiVersion(18, 0, 2)], 2), ([], 0)])
def test_an_old_broker_is_asked_again_in_a_version_it_knows(
    offered: list[ApiVersion], second_version: int
) -> None:
    asked: list[int] = []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def write(response: Response, version: int, correlation_id: int) -> None:
            writer.writelines(encode_response(response, version, correlation_id))

        asked.append(int.from_bytes((await read_frame(reader))[2:4], "big"))
        refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=offered)
        write(refusal, 0, 0)
        asked.append(int.from_bytes((await read_frame(reader))[2:4], "big"))
        write(ApiVersionsResponse(api_keys=[ApiVersion(12, 0, 1)]), second_version, 1)
        await reader.read()

    async def main() -> None:
        server, port = await scripted(script)
        connection = await BrokerConnection.open("127.0.0.1", port)
        assert asked == [ApiVersionsRequest.MAX_VERSION, second_version]
        assert connection.version_for(HeartbeatRequest) == 1
        await connection.close()
        server.close()

    run(main())


def test_requests_are_pipelined_and_answers_find_their_askers() -> None:
    async def main() -> None:
        async with FakeBroker() as broker:
            go = asyncio.Event()

            async def slow(_: HeartbeatRequest) -> HeartbeatResponse:
                await go.wait()
                return HeartbeatResponse(throttle_time_ms=7)

            broker.on(HeartbeatRequest, slow)
            broker.on(ListGroupsRequest, lambda _: ListGroupsResponse(throttle_time_ms=8))
            connection = await open_to(broker)
            first = asyncio.create_task(connection.send(HeartbeatRequest()))
            second = asyncio.create_task(connection.send(ListGroupsRequest()))
            await asyncio.sleep(0.05)
            assert not first.done()
            assert not second.done()
            go.set()
            assert (await first).throttle_time_ms == 7
            assert (await second).throttle_time_ms == 8
            await connection.close()

    run(main())


def test_the_answer_of_a_cancelled_request_is_dropped() -> None:
    async def main() -> None:
        async with FakeBroker() as broker:
            go = asyncio.Event()

            async def slow(_: HeartbeatRequest) -> HeartbeatResponse:
                await go.wait()
                return HeartbeatResponse()

            broker.on(HeartbeatRequest, slow)
            broker.on(ListGroupsRequest, lambda _: ListGroupsResponse(throttle_time_ms=8))
            connection = await open_to(broker)
            first = asyncio.create_task(connection.send(HeartbeatRequest()))
            await asyncio.sleep(0.05)
            first.cancel()
            go.set()
            assert (await connection.send(ListGroupsRequest())).throttle_time_ms == 8
            await connection.close()

    run(main())


def test_a_request_that_is_not_answered_takes_the_connection_with_it() -> None:
    async def main() -> None:
        async with FakeBroker() as broker:
            broker.on(HeartbeatRequest, lambda _: None)
            connection = await open_to(broker)
            with pytest.raises(RequestTimedOut, match="did not answer Heartbeat in 50 ms"):
                await connection.send(HeartbeatRequest(), timeout_ms=50)
            assert connection.closed
            with pytest.raises(ConnectionLost):
                await connection.send(HeartbeatRequest())

    run(main())


def test_everybody_who_waits_learns_that_the_connection_broke() -> None:
    async def main() -> None:
        async with FakeBroker() as broker:

            def hang_up(_: HeartbeatRequest) -> HeartbeatResponse:
                raise ConnectionResetError

            broker.on(HeartbeatRequest, hang_up)
            connection = await open_to(broker)
            results = await asyncio.gather(
                *(connection.send(HeartbeatRequest()) for _ in range(3)), return_exceptions=True
            )
            assert all(isinstance(result, ConnectionLost) for result in results)
            assert all(result.retriable for result in results)  # type: ignore[union-attr]

    run(main())


def test_a_request_after_the_broker_hung_up_is_lost_like_those_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """asyncio has closed the transport, and reports the loss only after the request. In
    some releases of Python, writing to such a transport raises a TypeError."""

    def refuse(_: object) -> None:
        raise TypeError("memoryview: a bytes-like object is required, not 'NoneType'")

    async def main() -> None:
        async with FakeBroker() as broker:
            broker.on(HeartbeatRequest, lambda _: HeartbeatResponse())
            for kind in (BrokerConnection.send, BrokerConnection.post):
                connection = await open_to(broker)
                assert connection._transport is not None
                connection._transport.close()  # as asyncio does at the end of the stream
                monkeypatch.setattr(connection._transport, "writelines", refuse)
                with pytest.raises(ConnectionLost):
                    await kind(connection, HeartbeatRequest(group_id="g"))

    run(main())


def test_nobody_listening_is_said_in_words() -> None:
    async def main() -> None:
        async with FakeBroker() as broker:
            port = broker.port
        with pytest.raises(BrokerUnreachable, match="connection refused"):
            await BrokerConnection.open("127.0.0.1", port)

    run(main())


@pytest.mark.parametrize(
    ("pause_s", "timeout_ms", "said"), [(60, 700, "does not answer"), (0, 60_000, "closes it")]
)
def test_who_does_not_say_what_it_serves_counts_as_away(
    pause_s: int, timeout_ms: int, said: str
) -> None:
    """So that another bootstrap address is tried, and the exit code is that of no broker."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frame(reader)
        await asyncio.sleep(pause_s)

    async def main() -> None:
        server, port = await scripted(script)
        async with FakeBroker({"t": 1}) as broker:
            with pytest.raises(BrokerUnreachable, match=said):
                await BrokerConnection.open("127.0.0.1", port, timeout_ms=timeout_ms)
            with pytest.raises(BrokerUnreachable, match="SSL or SASL_SSL") as caught:
                async with ClusterClient(f"127.0.0.1:{port}", connect_timeout_ms=timeout_ms):
                    pass
            assert "running there" not in str(caught.value), "something has answered"
            addresses = f"127.0.0.1:{port},{broker.bootstrap}"
            async with ClusterClient(addresses, connect_timeout_ms=timeout_ms) as cluster:
                assert len((await cluster.topic("t")).partitions) == 1
        server.close()

    run(main())


@pytest.mark.parametrize(
    "words", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x46", b"\0\0\0\1x"]
)
def test_what_is_no_kafka_is_called_so(words: bytes) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frame(reader)
        writer.write(words)

    async def main() -> None:
        server, port = await scripted(script)
        with pytest.raises(ProtocolMismatch, match="does not speak plaintext Kafka"):
            await BrokerConnection.open("127.0.0.1", port, timeout_ms=60_000)
        server.close()

    run(main())


def test_an_answer_to_another_question_breaks_the_connection() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frame(reader)
        writer.writelines(encode_response(ApiVersionsResponse(), 4, 99))
        await reader.read()

    async def main() -> None:
        server, port = await scripted(script)
        with pytest.raises(ProtocolMismatch, match="matches no request"):
            await BrokerConnection.open("127.0.0.1", port, timeout_ms=60_000)
        server.close()

    run(main())


def test_a_truncated_answer_is_nonsense() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frame(reader)
        writer.write(bytes.fromhex("00000007 00000000 0000ff"))
        await reader.read()

    async def main() -> None:
        server, port = await scripted(script)
        with pytest.raises(ProtocolMismatch, match="invalid response"):
            await BrokerConnection.open("127.0.0.1", port, timeout_ms=60_000)
        server.close()

    run(main())


def test_numbers_that_do_not_fit_are_the_callers_fault_and_cost_nothing() -> None:
    async def main() -> None:
        async with FakeBroker() as broker:
            broker.on(HeartbeatRequest, lambda _: HeartbeatResponse())
            broker.on(CreateTopicsRequest, lambda _: None)
            connection = await open_to(broker)
            with pytest.raises(InvalidArgument, match="CreateTopics"):
                await connection.send(
                    CreateTopicsRequest(topics=[CreatableTopic("t", num_partitions=1 << 40)])
                )
            assert (await connection.send(HeartbeatRequest())).error_code == 0
            await connection.close()

    run(main())


def test_a_connection_to_itself_is_a_refusal_and_leaves_the_port_free() -> None:
    """This happens when the system chooses a port without a listener."""

    async def main() -> None:
        port = unheld_port()
        loop = asyncio.get_running_loop()
        connect = loop.create_connection

        def from_there(factory: Any, host: str, port: int, **_: object) -> Any:
            return connect(factory, host, port, local_addr=(host, port))

        loop.create_connection = from_there  # type: ignore[method-assign, assignment]
        with pytest.raises(NobodyListens, match="connection refused"):
            await BrokerConnection.open("127.0.0.1", port)
        (bound,) = bind(Address("127.0.0.1", port))
        bound.close()

    run(main())
