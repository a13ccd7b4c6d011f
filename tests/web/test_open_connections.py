"""Strangers who hold connections and large requests keep nobody else out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from barnabas.web.head import parse_head
from barnabas.web.messages import HttpError, Request, Response
from barnabas.web.open_connections import OpenConnection, OpenConnections
from barnabas.web.pages import text_refusal
from barnabas.web.server import HttpServer, ServerLimits

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
LIMIT_S = 60.0


@asynccontextmanager
async def served(limits: ServerLimits, port: list[int]) -> AsyncIterator[None]:
    async def answer(request: Request) -> Response:
        return Response(body=b"%d bytes" % len(request.body))

    server = HttpServer(text_refusal, limits)
    port.append(await server.listen("127.0.0.1", 0))
    await server.serve(answer)
    try:
        yield
    finally:
        await server.close()


async def asked(streams: Streams, request: bytes) -> bytes:
    reader, writer = streams
    writer.write(request)
    async with asyncio.timeout(LIMIT_S):
        return await reader.read()


async def ended(streams: Streams) -> bool:
    try:
        async with asyncio.timeout(LIMIT_S):
            return not await streams[0].read()
    except ConnectionError:
        return True


def test_silent_connections_make_room() -> None:
    async def run() -> None:
        port: list[int] = []
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(served(ServerLimits(connections=5), port))
            silent = [await asyncio.open_connection("127.0.0.1", *port) for _ in range(8)]
            answer = await asked(await asyncio.open_connection("127.0.0.1", *port), GET)
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert await ended(silent[0])
            for _, writer in silent:
                writer.close()

    asyncio.run(run())


def test_bodies_that_never_end_make_room() -> None:
    """Ten of 900 bytes, where 4,000 are kept of all."""

    async def run() -> None:
        port: list[int] = []
        limits = ServerLimits(body_bytes=1_000, bodies_bytes=4_000)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(served(limits, port))
            slow = [await asyncio.open_connection("127.0.0.1", *port) for _ in range(10)]
            for _, writer in slow:
                writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n123")
                await writer.drain()
            whole = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n" + bytes(900)
            answer = await asked(await asyncio.open_connection("127.0.0.1", *port), whole)
            assert answer.endswith(b"900 bytes")
            assert await ended(slow[0])
            for _, writer in slow:
                writer.close()

    asyncio.run(run())


def test_the_address_that_holds_the_most_goes_first() -> None:
    gone: list[str] = []

    def connection(peer: str) -> OpenConnection:
        return OpenConnection(peer, lambda: gone.append(peer))

    held = OpenConnections(4, 100)
    for peer in ("admin", "many", "many", "many"):
        assert held.add(connection(peer))
    assert held.add(connection("other"))
    assert gone == ["many"]
    for each in held:
        each.waits = False
    assert not held.add(connection("late")), "all are being answered"


def test_a_body_takes_room_from_others_only() -> None:
    held = OpenConnections(4, 100)
    one, other = (OpenConnection(peer, lambda: None) for peer in "ab")
    assert held.add(one)
    assert held.add(other)
    assert held.admit_body(one, 60)
    assert held.admit_body(one, 90), "its own is another request by then"
    one.waits = False
    assert not held.admit_body(other, 20)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /\n HTTP/1.1\r\n",
        b"GET /\x00 HTTP/1.1\r\n",
        b"GET //[ HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nAccept: a\nAuthorization: b\r\n",
        b"GET / HTTP/1.1\r\nAccept: a\rb\r\n",
        b"GET / HTTP/1.1\r\n: a\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHOST: b\r\n",
    ],
)
def test_what_another_server_might_read_otherwise_is_refused(head: bytes) -> None:
    with pytest.raises(HttpError):
        parse_head(head)


def test_headers_of_a_request() -> None:
    head = parse_head(b"GET /a?b=%20 HTTP/1.0\r\nAccept: a;\tq=1\r\nX-A: 1\r\nX-A: 2\r\n\r\n")
    assert head.target == "/a?b=%20"
    assert head.headers == {"accept": "a;\tq=1", "x-a": "2", "connection": "close"}
