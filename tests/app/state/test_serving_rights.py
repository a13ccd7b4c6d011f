"""Who may read state over HTTP, and how much that may cost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from barnabas import App, State
from barnabas.app.handler import Handler
from barnabas.app.serving import AppPages
from barnabas.app.state.changelog import StateRow
from barnabas.app.state.page import StatePages
from barnabas.app.state.reader import StateReader
from barnabas.errors import InvalidArgument
from barnabas.web.messages import Request, Response
from tests.app.state.test_reading import fetch

_HEADERS = ("Basic secret", "Bearer", "Bearer other", "bearer secret")


class SlowReader:
    """Finds a value once it may."""

    def __init__(self, may: asyncio.Event) -> None:
        self.may = may
        self.readers = self.most = 0

    async def get(self, key: bytes) -> StateRow:
        self.readers += 1
        self.most = max(self.most, self.readers)
        try:
            await self.may.wait()
        finally:
            self.readers -= 1
        return StateRow(key, (7).to_bytes(8), 0)


class Counting:
    """An application whose state is read by `reader`."""

    def __init__(self, reader: SlowReader) -> None:
        app = App()

        @app.handler("t", group="g", name="count")
        def count(number: str, total: State[int]) -> None: ...

        self.handlers = app.handlers
        self._reader = reader

    @asynccontextmanager
    async def state_reader(self, _handler: Handler, /) -> AsyncIterator[StateReader]:
        yield cast("StateReader", self._reader)


def ask(key: str = "k") -> Request:
    return Request("GET", f"/state/count/{key}")


def status_and_text(response: Response) -> tuple[int, str]:
    return int(response.status), b"".join(response.parts).decode()


def test_a_network_needs_a_token() -> None:
    async def start(host: str, **options: Any) -> None:
        pages = AppPages(App(**options))
        try:
            await pages.start(host, 0)
        finally:
            await pages.close()

    with pytest.raises(InvalidArgument, match="anyone who reaches it could read the state"):
        asyncio.run(start("0.0.0.0", serves_state=True))
    asyncio.run(start("127.0.0.1", serves_state=True))
    asyncio.run(start("127.0.0.1", serves_state=True, state_token="secret"))


@pytest.mark.parametrize("token", ["", "secret\n", "two words", "gehe\u00efm"])
def test_a_token_that_no_header_can_have_is_refused(token: str) -> None:
    """Such as the content of a file with its last line break: all requests would get 401."""
    with pytest.raises(InvalidArgument, match="give a token") as raised:
        App(serves_state=True, state_token=token)
    assert not token or token not in str(raised.value)


def test_requests_without_the_token_are_refused() -> None:
    async def main() -> None:
        app = App(serves_state=True, state_token="secret")
        pages = AppPages(app)
        port = await pages.start("127.0.0.1", 0)
        try:
            for path in ("/state/count/k", "/state/other", "/state"):
                assert (await asyncio.to_thread(fetch, port, path))[0] == 401
            for given in _HEADERS:
                found = await asyncio.to_thread(fetch, port, "/state/a/k", Authorization=given)
                assert found[0] == 401, given
            right = "Bearer secret"
            found = await asyncio.to_thread(fetch, port, "/state/a/k", Authorization=right)
            assert found[0] == 404, "it is allowed, and there is no such handler"
            assert (await asyncio.to_thread(fetch, port, "/livez"))[0] == 200
        finally:
            await pages.close()

    asyncio.run(main())


def test_a_few_requests_are_answered_at_a_time() -> None:
    async def main() -> None:
        reader = SlowReader(asyncio.Event())
        pages = StatePages(Counting(reader), None, most_s=600)
        asked = [asyncio.ensure_future(pages.answer(ask())) for _ in range(20)]
        while reader.readers < 4:
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        assert reader.readers == 4
        reader.may.set()
        answers = {status_and_text(each) for each in await asyncio.gather(*asked)}
        assert answers == {(200, "7")}
        assert reader.most == 4

    asyncio.run(main())


def test_a_request_that_takes_long_is_ended() -> None:
    async def main() -> None:
        reader = SlowReader(asyncio.Event())
        pages = StatePages(Counting(reader), None, most_s=0.01)
        for _ in range(10):  # more than may be answered at a time: an ended one leaves its place
            status, text = status_and_text(await pages.answer(ask()))
            assert status == 503
            assert "no answer within 0.01 s" in text
        assert reader.readers == 0

    asyncio.run(main())
