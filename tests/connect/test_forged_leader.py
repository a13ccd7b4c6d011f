"""A record of a leader that somebody else has written: requests have passwords in them."""

import asyncio
import logging
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.connect.rest.answers import ApiError, error_answer
from barnabas.connect.rest.api_context import ApiContext
from barnabas.connect.rest.router import Router
from barnabas.connect.settings import ServiceSettings
from barnabas.connect.state.records import Leader
from barnabas.web.messages import Request, Response
from barnabas.web.server import HttpServer

SECRET = b'{"name": "orders", "config": {"password": "hush"}}'


def _asked(own_url: str, instances: tuple[str, ...], *, names_leader: bool) -> tuple[int, bytes]:
    """What a standby answers when a record names a leader here, and what that one has got."""
    got: list[bytes] = []

    async def take(request: Request) -> Response:
        got.append(request.body)
        return Response(HTTPStatus.CREATED, b"{}")

    async def main() -> int:
        server = HttpServer(error_answer)
        url = f"http://127.0.0.1:{await server.listen('127.0.0.1', 0)}"
        await server.serve(take)
        known = (*instances, url) if names_leader else instances
        settings = ServiceSettings("localhost:1", "checkpoints", Path(), instances=known)
        topics: Any = SimpleNamespace(leader=Leader("forged", url, 1, 1))
        leadership: Any = SimpleNamespace(is_leader=False, url=own_url)
        runner: Any = None
        router = Router(ApiContext(settings, topics, leadership, runner))
        try:
            return (await router(Request("POST", "/connectors", {}, SECRET))).status
        except ApiError as error:
            return error.status
        finally:
            await server.close()

    return asyncio.run(main()), b"".join(got)


@pytest.mark.parametrize(
    ("own_url", "instances"),
    [
        ("http://10.0.0.1:8083", ()),
        ("http://10.0.0.1:8083", ("http://10.0.0.1:8083", "http://10.0.0.2:8083")),
        ("http://127.0.0.1:8083", ("http://127.0.0.1:8083",)),
    ],
)
def test_a_leader_that_is_not_known_gets_no_request(
    own_url: str, instances: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "barnabas.connect"):
        assert _asked(own_url, instances, names_leader=False) == (500, b"")
    assert "is not one of --instances" in caplog.text


@pytest.mark.parametrize(
    ("own_url", "names_leader"),
    [("http://10.0.0.1:8083", True), ("http://127.0.0.1:8083", False)],
)
def test_a_leader_that_is_known_gets_the_request(own_url: str, names_leader: bool) -> None:
    assert _asked(own_url, (), names_leader=names_leader) == (201, SECRET)
