"""Requests that do not arrive. Tests with a browser have a loop in this thread already."""

import asyncio

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from barnabas.console.slow_requests import TimedProtocol


def test_silent_connections_make_room() -> None:
    async def answer(_request: Request) -> Response:
        return Response("read")

    async def run() -> list[bytes]:
        app = Starlette(routes=[Route("/", answer)])
        config = uvicorn.Config(
            app, http=TimedProtocol, port=0, log_level="error", limit_concurrency=5
        )
        server = uvicorn.Server(config)
        serving = asyncio.ensure_future(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(10)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        answers = [await reader.read()]
        for _, each in (*silent, (reader, writer)):
            each.close()
        server.should_exit = True
        await serving
        return answers

    assert asyncio.run(run())[0].startswith(b"HTTP/1.1 200 OK")


def test_a_request_that_does_not_arrive_is_given_up() -> None:
    class Impatient(TimedProtocol):
        request_s = 0.2

    bodies: list[bytes] = []

    async def read(request: Request) -> Response:
        bodies.append(await request.body())
        return Response("read")

    async def run() -> list[bytes]:
        app = Starlette(routes=[Route("/", read, methods=["GET", "POST"])])
        config = uvicorn.Config(app, http=Impatient, port=0, log_level="error")
        server = uvicorn.Server(config)
        serving = asyncio.ensure_future(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        answers = []
        for sent in (b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            answers.append(await reader.read())
            writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        answers.append(await reader.read())
        writer.close()
        server.should_exit = True
        await serving
        return answers

    answers = asyncio.run(run())
    assert answers[:3] == [b"", b"", b""], "the connection was closed without an answer"
    assert answers[3].startswith(b"HTTP/1.1 200 OK")
    assert bodies == [b""], "a body that has not arrived is no body"
