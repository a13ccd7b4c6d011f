"""A small HTTP server for probes and scrapes: GET and HEAD of a few fixed paths.

It answers one request for each connection and closes it. Requests are bounded in size and time,
and so is the number of connections; nothing of a request but its method and path is looked at.
"""

import asyncio
import logging
from asyncio import AbstractEventLoop, StreamReader, StreamReaderProtocol, StreamWriter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from socket import socket

logger = logging.getLogger(__name__)

_MAX_HEAD_BYTES = 8 << 10
_MAX_CONNECTIONS = 32
_READ_S = 10.0
_WRITE_S = 30.0
_TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: HTTPStatus
    body: Sequence[bytes]
    content_type: str = _TEXT

    @classmethod
    def refusal(cls, status: HTTPStatus, why: str) -> "HttpAnswer":
        return cls(status, [f"{why}\n".encode()])


Page = Callable[[], Awaitable[HttpAnswer]]


class HttpServer:
    """Serves `pages` by path until it is closed."""

    def __init__(self, loop: AbstractEventLoop, pages: Mapping[str, Page]) -> None:
        self._loop = loop
        self._pages = pages
        self._servers: list[asyncio.Server] = []
        self._connections: dict[asyncio.Task[None], StreamWriter] = {}

    async def listen(self, sockets: Sequence[socket]) -> None:
        for each in sockets:
            self._servers.append(await self._loop.create_server(self._new_protocol, sock=each))

    def _new_protocol(self) -> StreamReaderProtocol:
        reader = StreamReader(limit=_MAX_HEAD_BYTES, loop=self._loop)
        return StreamReaderProtocol(reader, self._accept, loop=self._loop)

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        running = list(self._connections)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= _MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._connections[task] = writer
        try:
            async with asyncio.timeout(_READ_S):
                method, path = await _read_request(reader)
            answer = await self._answer(method, path)
            async with asyncio.timeout(_WRITE_S):
                await _write(writer, answer, head_only=method == "HEAD")
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            writer.transport.abort()  # the client is gone, or too slow
        finally:
            del self._connections[task]
            writer.close()

    async def _answer(self, method: str, path: str) -> HttpAnswer:
        if not method:
            return HttpAnswer.refusal(HTTPStatus.BAD_REQUEST, path)
        if method not in ("GET", "HEAD"):
            return HttpAnswer.refusal(HTTPStatus.METHOD_NOT_ALLOWED, "use GET or HEAD")
        page = self._pages.get(path)
        if page is None:
            known = ", ".join(self._pages)
            return HttpAnswer.refusal(HTTPStatus.NOT_FOUND, f"there is {known}")
        try:
            return await page()
        except Exception:
            # As in the dispatcher: a bug in one answer must not end anything else.
            logger.exception("an answer of %s failed", path)
            return HttpAnswer.refusal(
                HTTPStatus.INTERNAL_SERVER_ERROR, "an internal error; the node's log has it"
            )


async def _read_request(reader: StreamReader) -> tuple[str, str]:
    """Method and path; an empty method and the reason if it is no request."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        return "", f"a request has at most {_MAX_HEAD_BYTES} bytes here"
    words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return "", "this is an HTTP/1.1 server"
    return words[0], words[1].partition("?")[0]


async def _write(writer: StreamWriter, answer: HttpAnswer, *, head_only: bool) -> None:
    status = answer.status
    head = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {sum(map(len, answer.body))}",
        "Connection: close",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
    ]
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        head.append("Allow: GET, HEAD")
    writer.write("\r\n".join([*head, "", ""]).encode("latin-1"))
    if not head_only:
        for part in answer.body:
            writer.write(part)
            await writer.drain()
    await writer.drain()
