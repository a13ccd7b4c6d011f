"""Requests for the instance that writes."""

import asyncio
import ssl
from http import HTTPStatus
from urllib.parse import SplitResult, urlsplit

from barnabas.web.messages import Request, Response

FORWARDED = "barnabas-forwarded"
OFFSET = "Barnabas-Offset"
"""Of the last record that the writer had applied with its answer."""
_CONNECT_S = 1.0
_PROBE_S = 1.0
_ANSWER_S = 20.0
_KEPT = (
    "authorization",
    "content-type",
    "accept",
    "confluent-accept-unknown-properties",
    "confluent-client-version",
)
_PORTS = {"http": 80, "https": 443}


class WriterGoneError(Exception):
    """The writer does not answer."""


async def forward(request: Request, url: str) -> Response:
    """What the writer answers. Raises `WriterGoneError` soon if there is none.

    A writer that has much to do answers late. So it is asked meanwhile whether it is there.
    """
    kept = {name: request.headers[name] for name in _KEPT if name in request.headers}
    headers = {**kept, FORWARDED: "1"}
    asked = asyncio.ensure_future(_ask(url, request.method, request.target, headers, request.body))
    try:
        async with asyncio.timeout(_ANSWER_S):
            while not (await asyncio.wait([asked], timeout=_PROBE_S))[0]:
                async with asyncio.timeout(_PROBE_S):
                    await _ask(url, "GET", "/", {}, b"")
        return await asked
    except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError) as error:
        raise WriterGoneError(f"{url}: {error!r}") from error
    finally:
        asked.cancel()


async def _ask(
    url: str, method: str, target: str, headers: dict[str, str], body: bytes
) -> Response:
    parts = urlsplit(url)
    async with asyncio.timeout(_CONNECT_S):
        reader, writer = await asyncio.open_connection(
            parts.hostname, parts.port or _PORTS[parts.scheme], ssl=_context(parts)
        )
    try:
        lines = [f"{method} {parts.path.rstrip('/')}{target} HTTP/1.1", f"Host: {parts.netloc}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += [f"Content-Length: {len(body)}", "Connection: close", "", ""]
        writer.write("\r\n".join(lines).encode("latin-1") + body)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        content = await reader.read()
    finally:
        writer.close()
    first, *rest = head.split("\r\n")
    found = dict(line.split(": ", 1) for line in rest if ": " in line)
    status = HTTPStatus(int(first.split(" ")[1]))
    answered = {name: found[name] for name in ("Content-Type", OFFSET) if name in found}
    if len(content) != int(found.get("Content-Length", 0)):
        raise ValueError("the answer is cut off")
    return Response(status, content, answered)


def _context(parts: SplitResult) -> ssl.SSLContext | None:
    return ssl.create_default_context() if parts.scheme == "https" else None
