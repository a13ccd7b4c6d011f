"""Requests that an instance passes on to the leader, at the URL that the leader advertises."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

import pytest

from barnabas.connect.rest.answers import ApiError, error_answer
from barnabas.connect.rest.forwarding import forward
from barnabas.web.messages import Request, Response
from barnabas.web.server import HttpServer
from tests.support import fork_server

Ask = Callable[[int], Coroutine[Any, Any, Response]]
REQUEST = Request("PUT", "/connectors/a/pause?x=1", {}, b"")


def asked(ask: Ask, host: str = "127.0.0.1") -> tuple[Response, list[str]]:
    """What is answered by a server, and the targets that it was asked for."""
    targets: list[str] = []

    async def handle(request: Request) -> Response:
        targets.append(request.target)
        return Response(HTTPStatus.ACCEPTED, b"{}")

    async def main() -> Response:
        server = HttpServer(error_answer)
        port = await server.listen(host, 0)
        await server.serve(handle)
        try:
            return await ask(port)
        finally:
            await server.close()

    return asyncio.run(main()), targets


def test_a_leader_below_a_path_and_at_an_address_of_ipv6() -> None:
    found, targets = asked(lambda port: forward(REQUEST, f"http://127.0.0.1:{port}/connect/"))
    assert (found.status, found.body) == (HTTPStatus.ACCEPTED, b"{}")
    assert targets == ["/connect/connectors/a/pause?x=1"]
    _, targets = asked(lambda port: forward(REQUEST, f"http://[::1]:{port}"), "::1")
    assert targets == ["/connectors/a/pause?x=1"]


def test_a_leader_behind_tls_is_asked_with_it() -> None:
    received: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.read(100))
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(take, "127.0.0.1", 0)
        async with server:
            await forward(REQUEST, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    with pytest.raises(ApiError, match=r"leader at https://127\.0\.0\.1:"):
        asyncio.run(main())
    assert received[0].startswith(b"\x16\x03"), "a handshake of TLS"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--advertise", "ftp://a"), "error: --advertise ftp://a: a URL such as http://a:8083"),
        (("--advertise", "a:8083"), "error: --advertise a:8083: a URL such as"),
        (("--pipelines", "/no/folder"), "error: --pipelines /no/folder is not a directory"),
    ],
)
def test_wrong_options_of_an_instance_are_said_in_a_line(
    option: tuple[str, str], said: str
) -> None:
    command = [sys.executable, "-m", "barnabas", "connect", "run", *option]
    ran = fork_server.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith(said)
    assert len(ran.stderr.splitlines()) == 1
