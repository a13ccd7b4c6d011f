"""Calls between nodes: every one ends, and whatever is lost is noticed once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from barnabas.broker.net.peers import (
    PeerIsDown,
    Peers,
    PeerTimedOut,
    PeerUnavailable,
    claims_to_be_peer,
    peer_client_id,
)
from barnabas.broker.runtime.clock import Clock
from barnabas.wire.framing import decode_request, decode_request_header, encode_response
from barnabas.wire.messages.vote import VoteRequest, VoteResponse
from barnabas.wire.primitives import Reader
from tests.support.ports import free_ports, unheld_port
from tests.support.wait import wait_until_async


class Other(asyncio.Protocol):
    """A node that answers a Vote for voter n after n milliseconds, and one for -1 never."""

    def __init__(self, stage: "Stage") -> None:
        self.stage = stage
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.stage.connections.append(self)
        if self.stage.hangs_up:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        self.received += data
        while len(self.received) >= 4:
            size = int.from_bytes(self.received[:4], "big")
            if len(self.received) < 4 + size:
                return
            frame, self.received = self.received[4 : 4 + size], self.received[4 + size :]
            self.answer(frame)

    def answer(self, frame: bytes) -> None:
        r = Reader(frame)
        header = decode_request_header(r)
        self.stage.client_ids.append(header.client_id)
        request = decode_request(r, VoteRequest, header.api_version)
        if self.stage.talks_nonsense:
            self.transport.write(b"\0\0\0\x04nope")
        elif request.voter_id >= 0:
            response = VoteResponse(request.voter_id)
            buffers = encode_response(response, header.api_version, header.correlation_id)
            asyncio.get_running_loop().call_later(
                request.voter_id / 1000, self.transport.writelines, buffers
            )


class Stage:
    def __init__(self) -> None:
        self.connections: list[Other] = []
        self.client_ids: list[str | None] = []
        self.lost: list[int] = []
        self.hangs_up = self.talks_nonsense = False
        self.port = free_ports(1)[0]
        self.server: asyncio.Server | None = None
        self.addresses = [("127.0.0.1", self.port)]

    async def listen(self) -> None:
        loop = asyncio.get_running_loop()
        self.server = await loop.create_server(lambda: Other(self), "127.0.0.1", self.port)

    def hang_up(self) -> None:
        assert self.server is not None
        self.server.close()
        for connection in self.connections:
            connection.transport.abort()

    def call(self, voter_id: int = 0, timeout_ms: int = 30_000, lane: str = "") -> "asyncio.Future":
        return self.peers.call(7, VoteRequest("c", voter_id), 2, timeout_ms=timeout_ms, lane=lane)


def play(scenario: Callable[[Stage], Awaitable[None]]) -> None:
    async def run() -> None:
        stage = Stage()
        stage.peers = Peers(
            asyncio.get_running_loop(),
            Clock(),
            lambda node_id: stage.addresses if node_id == 7 else [],
            stage.lost.append,
            peer_client_id(3),
        )
        async with asyncio.timeout(60):
            await scenario(stage)
        stage.peers.close()
        if stage.server is not None:
            stage.hang_up()
        await asyncio.sleep(0)

    asyncio.run(run())


def test_calls_are_answered_in_order_over_one_connection() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.listen()
        answers = await asyncio.gather(*(stage.call(n) for n in range(20)))
        assert [answer.error_code for answer in answers] == list(range(20))
        assert len(stage.connections) == 1
        assert stage.peers.is_connected(7)
        assert not stage.peers.is_connected(8)
        assert set(stage.client_ids) == {peer_client_id(3)}
        assert claims_to_be_peer(peer_client_id(3))
        assert not claims_to_be_peer("rdkafka")

    play(scenario)


def test_a_long_wait_in_one_lane_holds_up_no_other() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.listen()
        slow = stage.call(-1, lane="slow")
        await stage.call(lane="fast")
        assert not slow.done()
        assert len(stage.connections) == 2

    play(scenario)


def test_who_is_not_there_or_not_known_is_unavailable() -> None:
    async def scenario(stage: Stage) -> None:
        with pytest.raises(PeerIsDown, match="node 7 can not be asked"):
            await stage.call()
        with pytest.raises(PeerUnavailable, match="its address is unknown"):
            await stage.peers.call(8, VoteRequest(), 2, timeout_ms=1_000)
        assert stage.lost == []
        await stage.listen()
        assert (await stage.call(5)).error_code == 5

    play(scenario)


def test_a_node_is_found_at_another_of_its_addresses() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.listen()
        (left,) = free_ports(1)
        stage.addresses = [("127.0.0.1", left), ("127.0.0.1", stage.port)]
        with pytest.raises(PeerIsDown):
            await stage.call()
        assert (await stage.call(5)).error_code == 5
        assert len(stage.connections) == 1

    play(scenario)


def test_a_refusal_at_an_address_that_is_less_likely_does_not_say_that_the_node_is_down() -> None:
    async def scenario(stage: Stage) -> None:
        stage.addresses = [("127.0.0.1", port) for port in free_ports(2)]
        with pytest.raises(PeerIsDown):
            await stage.call()
        with pytest.raises(PeerUnavailable) as refused:
            await stage.call()
        assert not isinstance(refused.value, PeerIsDown)

    play(scenario)


def test_a_connection_to_itself_is_nobody_and_leaves_the_port_free() -> None:
    """This happens when the system chooses a port without a listener."""

    async def scenario(stage: Stage) -> None:
        stage.port = unheld_port()
        stage.addresses = [("127.0.0.1", stage.port)]
        loop = asyncio.get_running_loop()
        connect = loop.create_connection

        def from_there(factory: Any, host: str, port: int, **tls: Any) -> Any:
            return connect(factory, host, port, local_addr=(host, port), **tls)

        loop.create_connection = from_there  # type: ignore[method-assign, assignment]
        with pytest.raises(PeerUnavailable, match="nothing listens"):
            await stage.call()
        assert stage.lost == []
        loop.create_connection = connect  # type: ignore[method-assign]
        await stage.listen()
        assert (await stage.call(5)).error_code == 5

    play(scenario)


def test_who_asks_again_at_once_is_slowed_down() -> None:
    async def scenario(stage: Stage) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + 0.5
        attempts = 0
        while loop.time() < ends:
            with pytest.raises(PeerUnavailable):
                await stage.call()
            attempts += 1
        assert attempts <= 8

    play(scenario)


def test_one_who_takes_connections_and_ends_them_is_not_besieged() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.listen()
        stage.hangs_up = True
        loop = asyncio.get_running_loop()
        ends = loop.time() + 0.5
        while loop.time() < ends:
            with pytest.raises(PeerUnavailable):
                await stage.call()
        assert len(stage.connections) <= 8
        stage.hangs_up = False
        await stage.call()

    play(scenario)


def test_a_lost_connection_fails_what_was_asked_and_is_told_once() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.listen()
        await stage.call(lane="a")
        await stage.call(lane="b")
        asked = [stage.call(-1, lane=lane) for lane in "aab"]
        await asyncio.sleep(0.02)
        stage.hang_up()
        for answer in asked:
            with pytest.raises(PeerUnavailable) as lost:
                await answer
            assert not isinstance(lost.value, PeerTimedOut)
        assert stage.lost == [7, 7], "two connections, two lanes"
        assert not stage.peers.is_connected(7)
        await stage.listen()
        assert (await stage.call(5, lane="a")).error_code == 5
        assert stage.lost == [7, 7]

    play(scenario)


def test_a_call_that_takes_too_long_takes_its_connection_with_it() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.listen()
        stuck = stage.call(-1, timeout_ms=500)
        behind = stage.call(-1, timeout_ms=60_000)
        with pytest.raises(PeerTimedOut, match="did not answer Vote in time"):
            await stuck
        with pytest.raises(PeerTimedOut, match="has not answered Vote, asked before"):
            await behind
        assert (await stage.call(1)).error_code == 1
        assert len(stage.connections) == 2
        assert stage.lost == [], "only this side has closed a connection"

    play(scenario)


def test_a_call_may_time_out_before_it_is_sent() -> None:
    async def scenario(stage: Stage) -> None:
        for _ in range(5):
            with pytest.raises(PeerUnavailable):
                await stage.call()
        with pytest.raises(PeerTimedOut):
            await stage.call(timeout_ms=5)

    play(scenario)


def test_a_cancelled_call_disturbs_nobody() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.listen()
        before = stage.call(20)
        cancelled = stage.call(25)
        after = stage.call(30)
        await asyncio.sleep(0.01)
        cancelled.cancel()
        assert (await before).error_code == 20
        assert (await after).error_code == 30
        stage.hang_up()
        await wait_until_async(lambda: not stage.peers.is_connected(7))
        never_sent = stage.call()
        never_sent.cancel()
        await asyncio.sleep(0.1)

    play(scenario)


def test_nonsense_ends_the_connection() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.listen()
        stage.talks_nonsense = True
        with pytest.raises(PeerUnavailable, match="sent an answer without a request"):
            await stage.call()
        stage.talks_nonsense = False
        assert (await stage.call(4)).error_code == 4

    play(scenario)


def test_closing_ends_every_call() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.listen()
        await stage.call()
        asked = [stage.call(-1), stage.call(-1, lane="new")]
        stage.peers.close()
        for answer in [*asked, stage.call()]:
            with pytest.raises(PeerUnavailable):
                await answer
        assert stage.lost == []
        await asyncio.sleep(0.05)
        assert not stage.peers.is_connected(7)

    play(scenario)


def test_an_idle_connection_ends_here_and_not_over_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("barnabas.broker.net.peer_connection._IDLE_MS", 50)

    async def scenario(stage: Stage) -> None:
        await stage.listen()
        assert (await stage.call(120)).error_code == 120, "who waits for an answer is not idle"
        await wait_until_async(lambda: not stage.peers.is_connected(7))
        assert stage.lost == []
        await stage.call()

    play(scenario)


class Closed:
    """What uvloop leaves of a transport that it has closed, before it has told of its end."""

    def is_closing(self) -> bool:
        return True

    def writelines(self, _: list[bytes]) -> None:
        raise RuntimeError("unable to perform operation; the handler is closed")

    def abort(self) -> None:
        pass


def test_a_call_over_a_connection_that_has_just_gone_is_lost_and_no_more() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.listen()
        await stage.call()
        (lane,) = stage.peers._lanes.values()
        connection = lane.connection
        assert connection is not None
        connection._transport.abort()
        connection._transport = Closed()
        with pytest.raises(PeerUnavailable, match="the connection was lost"):
            await stage.call()
        assert stage.lost == [7]
        assert (await stage.call()).error_code == 0

    play(scenario)
