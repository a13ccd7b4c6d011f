"""`/state/HANDLER/KEY`: the value that a handler keeps for a key, as JSON.

Each process answers for all keys: what it has no copy of is read from the changelog.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from typing import Protocol

from barnabas.app.handler import Handler
from barnabas.app.state.keys import KeyFormat, key_of
from barnabas.app.state.opening import stateful
from barnabas.app.state.reader import StateReader
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.web.messages import Request, Response
from barnabas.web.pages import page, text_refusal

_JSON = "application/json"


class Stateful(Protocol):
    """An application, as far as its state is read."""

    @property
    def handlers(self) -> Mapping[str, Handler]: ...

    def state_reader(self, handler: Handler, /) -> AbstractAsyncContextManager[StateReader]: ...


async def state_page(app: Stateful, request: Request) -> Response:
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
