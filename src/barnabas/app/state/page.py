"""`/state/HANDLER/KEY`: the value that a handler keeps for a key, as JSON.

Each process answers for all keys: what it has no copy of is read from the changelog. So a request
may cost much: a few are answered at a time, and each has a limit of time.

Values may be personal: beyond this machine they are served to those with a token only.
"""

import asyncio
import hmac
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from typing import Protocol

from barnabas.app.handler import Handler
from barnabas.app.state.keys import KeyFormat, key_of
from barnabas.app.state.opening import stateful
from barnabas.app.state.reader import StateReader
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.web.loopback import is_loopback
from barnabas.web.messages import Request, Response
from barnabas.web.pages import page, text_refusal

_JSON = "application/json"
_AT_ONCE = 4
"""Requests that are answered at a time; others wait for them."""
_MOST_S = 10.0
"""How long a request takes at most, with its wait for others."""


class Stateful(Protocol):
    """An application, as far as its state is read."""

    @property
    def handlers(self) -> Mapping[str, Handler]: ...

    def state_reader(self, handler: Handler, /) -> AbstractAsyncContextManager[StateReader]: ...


def check_exposure(host: str, token: str | None) -> None:
    """Refuse to serve values to a network without a token."""
    if token is None and not is_loopback(host):
        raise InvalidArgument(
            f"--http {host}: anyone who reaches it could read the state; give "
            "App(serves_state=True, state_token=...) a token, or listen on 127.0.0.1"
        )


class StatePages:
    """The values of one application, for those who have its token if there is one."""

    def __init__(self, app: Stateful, token: str | None, most_s: float = _MOST_S) -> None:
        self._app = app
        self._token = token
        self._most_s = most_s
        self._answering = asyncio.Semaphore(_AT_ONCE)

    async def answer(self, request: Request) -> Response:
        if not self._is_allowed(request):
            why = "Authorization: Bearer TOKEN is missing or wrong"
            status = HTTPStatus.UNAUTHORIZED
            return page(f"{why}\n".encode(), status=status, **{"WWW-Authenticate": "Bearer"})
        try:
            async with asyncio.timeout(self._most_s), self._answering:
                return await _state_page(self._app, request)
        except TimeoutError:
            return text_refusal(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"no answer within {self._most_s:g} s: too many ask at once, or this worker has to "
                "read too much of the changelog; with standby=True each worker has a copy",
            )

    def _is_allowed(self, request: Request) -> bool:
        token = self._token
        given = request.headers.get("authorization", "")
        return token is None or hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


async def _state_page(app: Stateful, request: Request) -> Response:
    """The value; 404 if there is none."""
    if request.method not in ("GET", "HEAD"):
        status = HTTPStatus.METHOD_NOT_ALLOWED
        return page(b"use GET or HEAD\n", status=status, Allow="GET, HEAD")
    try:
        _, name, text = request.path
        handler = stateful(app.handlers.values(), name)
        key = key_of(text, KeyFormat(request.query.get("key", ["str"])[-1]))
    except InvalidArgument as error:
        return text_refusal(HTTPStatus.NOT_FOUND, str(error))
    except ValueError:
        return text_refusal(
            HTTPStatus.NOT_FOUND, "ask for /state/HANDLER/KEY, with ?key=int or ?key=hex if need be"
        )
    assert handler.state is not None
    try:
        async with app.state_reader(handler) as reader:
            row = await reader.get(key)
            if row is None:
                return text_refusal(HTTPStatus.NOT_FOUND, f"{name} has no value for key {text!r}")
            return page(handler.state.json_of(row), content_type=_JSON)
    except BarnabasError as error:
        return text_refusal(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
