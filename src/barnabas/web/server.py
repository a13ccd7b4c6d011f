"""A small HTTP/1.1 server: bounded requests, one after the other per connection."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from socket import socket
from ssl import SSLContext

from barnabas.web.head import parse_head
from barnabas.web.messages import HttpError, Request, Response
from barnabas.web.open_connections import OpenConnection, OpenConnections
from barnabas.web.page_guard import PageGuard

_log = logging.getLogger(__name__)
_MAX_DIGITS = 18
_LINGER_S = 5.0
_LINGER_READS = 2000  # 64 MB with the largest head
_HANDSHAKE_S = 10.0

Handler = Callable[[Request], Awaitable[Response]]
Refuse = Callable[[HTTPStatus, str], Response]


@dataclass(frozen=True)
class ServerLimits:
    """What clients that are not trusted may take up."""

    head_bytes: int = 32 << 10
    body_bytes: int = 1 << 20
    bodies_bytes: int = 64 << 20
    """Of all requests together."""
    connections: int = 200
    read_s: float = 60.0
    """How long a connection may be silent, or take to send a request."""
    write_s: float = 60.0
    keeps_connections: bool = False
    """Whether connections stay open after an answer."""


class HttpServer:
    """Serves until it is closed. `listen` takes the port, and `serve` begins to answer.

    `refuse` makes the answer of an error. `guard` refuses requests that a browser sends for pages
    of other sites. `tls` is for `listen`: HTTPS.
    """

    def __init__(
        self,
        refuse: Refuse,
        limits: ServerLimits | None = None,
        *,
        guard: PageGuard | None = None,
        tls: SSLContext | None = None,
    ) -> None:
        self._refuse = refuse
        self._limits = limits or ServerLimits()
        self._guard = guard
        self._tls = tls
        self._handler: Handler | None = None
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections = OpenConnections(self._limits.connections, self._limits.bodies_bytes)

    async def listen(self, host: str, port: int) -> int:
        """Take the port, or a free one for 0, which is returned."""
        server = await asyncio.start_server(
            self._accept,
            host,
            port,
            limit=self._limits.head_bytes,
            ssl=self._tls,
            ssl_handshake_timeout=None if self._tls is None else _HANDSHAKE_S,
            start_serving=False,
        )
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def listen_on(self, sockets: Sequence[socket]) -> None:
        """Listen on sockets that are bound already."""
        for each in sockets:
            self._servers.append(
                await asyncio.start_server(
                    self._accept, sock=each, limit=self._limits.head_bytes, start_serving=False
                )
            )

    async def serve(self, handler: Handler) -> None:
        """Answer requests from now on."""
        self._handler = handler
        for each in self._servers:
            await each.start_serving()

    async def close(self) -> None:
        for each in self._servers:
            each.close()
        for connection in list(self._connections):
            connection.abort()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LINGER_S)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connection = OpenConnection(_peer(writer), writer.transport.abort)
        if not self._connections.add(connection):
            connection.abort()
            return
        self._tasks.add(task)
        try:
            while await self._serve_one(connection, reader, writer):
                connection.body_bytes, connection.waits = 0, True
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            connection.abort()  # the client is gone, or too slow, or had to make room
        finally:
            self._tasks.discard(task)
            self._connections.remove(connection)
            writer.close()

    async def _serve_one(
        self,
        connection: OpenConnection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        """Answer one request; True if the connection stays open."""
        try:
            async with asyncio.timeout(self._limits.read_s):
                request = await self._read(connection, reader)
            connection.waits = False
        except HttpError as error:
            await self._write(writer, self._refuse(error.status, str(error)), keep=False)
            await self._linger(reader, writer)
            return False
        if request is None:
            return False
        response = await self._answer(request)
        keep = request.headers.get("connection", "").lower() != "close"
        keep = keep and self._limits.keeps_connections
        await self._write(writer, response, keep=keep, head_only=request.method == "HEAD")
        return keep

    async def _answer(self, request: Request) -> Response:
        assert self._handler is not None
        try:
            refusal = None if self._guard is None else self._guard(request.headers)
        except ValueError as error:
            return self._refuse(HTTPStatus.BAD_REQUEST, f"Host or Origin is wrong: {error}")
        if refusal is not None:
            return self._refuse(HTTPStatus.FORBIDDEN, refusal)
        try:
            return await self._handler(request)
        except HttpError as error:
            return self._refuse(error.status, str(error))
        except Exception:  # noqa: BLE001 - one bad request must not end anything else
            _log.exception("%s %s", request.method, request.target)
            return self._refuse(
                HTTPStatus.INTERNAL_SERVER_ERROR, "internal error; the log of the process has more"
            )

    async def _read(
        self, connection: OpenConnection, reader: asyncio.StreamReader
    ) -> Request | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise HttpError(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"headers have at most {self._limits.head_bytes} bytes here",
            ) from None
        except asyncio.IncompleteReadError:
            return None
        method, target, headers = parse_head(head)
        body = await self._body(connection, reader, headers)
        return Request(method, target, headers, body, connection.peer)

    async def _body(
        self,
        connection: OpenConnection,
        reader: asyncio.StreamReader,
        headers: Mapping[str, str],
    ) -> bytes:
        if "transfer-encoding" in headers:
            raise HttpError(HTTPStatus.LENGTH_REQUIRED, "send a Content-Length")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal() and len(length) <= _MAX_DIGITS):
            raise HttpError(HTTPStatus.BAD_REQUEST, f"Content-Length is {length[:20]!r}")
        if int(length) > self._limits.body_bytes:
            raise HttpError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the body has {length} bytes; at most {self._limits.body_bytes} are read",
            )
        if not self._connections.admit_body(connection, int(length)):
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, "too many large requests at once")
        return await reader.readexactly(int(length))

    async def _linger(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Let a client that still sends read the answer: closing now would reset its connection."""
        writer.write_eof()
        async with asyncio.timeout(_LINGER_S):
            for _ in range(_LINGER_READS):
                if not await reader.read(self._limits.head_bytes):
                    return

    async def _write(
        self,
        writer: asyncio.StreamWriter,
        response: Response,
        *,
        keep: bool,
        head_only: bool = False,
    ) -> None:
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(sum(map(len, response.parts))),
            "Connection": "keep-alive" if keep else "close",
            **response.headers,
        }
        if response.status is HTTPStatus.NO_CONTENT:
            del headers["Content-Length"], headers["Content-Type"]
        lines = [f"HTTP/1.1 {response.status.value} {response.status.phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        async with asyncio.timeout(self._limits.write_s):
            writer.write("\r\n".join([*lines, "", ""]).encode("latin-1", "replace"))
            for part in [] if head_only else response.parts:
                writer.write(part)
                await writer.drain()
            await writer.drain()


def _peer(writer: asyncio.StreamWriter) -> str:
    name = writer.get_extra_info("peername")
    return str(name[0]) if isinstance(name, tuple) else ""
