"""A small HTTP/1.1 server: requests with a bounded body, one after the other per connection."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from barnabas.connect.rest.answers import ApiError, Request, Response, error_answer

_log = logging.getLogger("barnabas.connect")
_MAX_HEAD_BYTES = 32 << 10
_MAX_DIGITS = 18
_IDLE_S = 60.0
_LINGER_S = 5.0
_LINGER_READS = 2000  # 64 MB
_MAX_CONNECTIONS = 200

Handler = Callable[[Request], Awaitable[Response]]


class HttpServer:
    """Serves until it is closed."""

    def __init__(self, max_body_bytes: int) -> None:
        self._handler: Handler | None = None
        self._max_body_bytes = max_body_bytes
        self._server: asyncio.Server | None = None
        self._is_local = False
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def listen(self, host: str, port: int) -> int:
        """Take the port, or a free one for 0, which is returned."""
        self._server = await asyncio.start_server(
            self._accept, host, port, limit=_MAX_HEAD_BYTES, start_serving=False
        )
        address, found = self._server.sockets[0].getsockname()[:2]
        self._is_local = ip_address(address).is_loopback
        return int(found)

    async def serve(self, handler: Handler) -> None:
        """Answer requests from now on."""
        assert self._server is not None
        self._handler = handler
        await self._server.start_serving()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in self._connections.values():
            writer.transport.abort()
        if self._connections:
            await asyncio.wait(self._connections, timeout=_LINGER_S)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= _MAX_CONNECTIONS:
            writer.close()
            return
        self._connections[task] = writer
        try:
            while await self._serve_one(reader, writer):
                pass
        except (ConnectionError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the client is gone, or says nothing
        finally:
            del self._connections[task]
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; True if the connection stays open."""
        try:
            async with asyncio.timeout(_IDLE_S):
                request = await self._read(reader)
        except ApiError as error:
            await _write(writer, error_answer(error.status, str(error)), keep=False)
            await _linger(reader, writer)
            return False
        if request is None:
            return False
        response = await self._answer(request)
        keep = request.headers.get("connection", "").lower() != "close"
        await _write(writer, response, keep=keep, head_only=request.method == "HEAD")
        return keep

    async def _answer(self, request: Request) -> Response:
        assert self._handler is not None
        try:
            is_foreign = _comes_from_elsewhere(request)
            is_foreign = is_foreign or (self._is_local and not _names_this_machine(request))
        except ValueError as error:
            return error_answer(HTTPStatus.BAD_REQUEST, f"Host or Origin is wrong: {error}")
        if is_foreign:
            return error_answer(HTTPStatus.FORBIDDEN, "requests of other web pages are refused")
        try:
            return await self._handler(request)
        except ApiError as error:
            return error_answer(error.status, str(error))
        except Exception:  # noqa: BLE001 - one bad request must not end the service
            _log.exception("%s %s", request.method, request.target)
            return error_answer(
                HTTPStatus.INTERNAL_SERVER_ERROR, "internal error; the service's log has more"
            )

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise ApiError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too long") from None
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1.") or not words[1].startswith("/"):
            raise ApiError(HTTPStatus.BAD_REQUEST, f"not a request: {first[:100]!r}")
        headers = {}
        for line in filter(None, lines):
            name, colon, value = line.partition(":")
            if not colon or name != name.strip():
                raise ApiError(HTTPStatus.BAD_REQUEST, f"not a header: {line[:100]!r}")
            headers[name.lower()] = value.strip()
        if words[2] == "HTTP/1.0":
            headers.setdefault("connection", "close")
        return Request(words[0], words[1], headers, await self._body(reader, headers))

    async def _body(self, reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
        if "transfer-encoding" in headers:
            raise ApiError(HTTPStatus.LENGTH_REQUIRED, "send a Content-Length")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal() and len(length) <= _MAX_DIGITS):
            raise ApiError(HTTPStatus.BAD_REQUEST, f"Content-Length is {length[:20]!r}")
        if int(length) > self._max_body_bytes:
            raise ApiError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the body has {length} bytes; at most {self._max_body_bytes} are read",
            )
        return await reader.readexactly(int(length))


def _comes_from_elsewhere(request: Request) -> bool:
    """Whether a browser sends it for a page of another site, which may want to do harm."""
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")


def _names_this_machine(request: Request) -> bool:
    """Whether the host is an address or localhost: a page can give any other name to 127.0.0.1."""
    host = urlsplit(f"//{request.headers.get('host', 'localhost')}").hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return True


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Let a client that still sends read the answer: closing now would reset its connection."""
    writer.write_eof()
    async with asyncio.timeout(_LINGER_S):
        for _ in range(_LINGER_READS):
            if not await reader.read(_MAX_HEAD_BYTES):
                return


async def _write(
    writer: asyncio.StreamWriter, response: Response, *, keep: bool, head_only: bool = False
) -> None:
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(response.body)),
        "Connection": "keep-alive" if keep else "close",
        **response.headers,
    }
    if response.status is HTTPStatus.NO_CONTENT:
        del headers["Content-Length"], headers["Content-Type"]
    lines = [f"HTTP/1.1 {response.status.value} {response.status.phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    head = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
    writer.write(head if head_only else head + response.body)
    async with asyncio.timeout(_IDLE_S):
        await writer.drain()
