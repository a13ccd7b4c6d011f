"""Records for later in applications, against a real broker."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from barnabas import App, aio
from barnabas.errors import InvalidArgument
from tests.support.wait import wait_until_async


@pytest.mark.parametrize("share", [False, True], ids=["consumers", "share"])
def test_a_record_is_handled_when_it_is_due(servers: str, topic: str, share: bool) -> None:
    """The application moves what it has sent itself, and what others have put."""
    app = App(servers)
    handled: dict[bytes, float] = {}

    @app.handler(topic, group=topic, share=share)
    async def bill(order: bytes) -> None:
        handled[order] = time.time()

    async def check() -> None:
        async with app.started():
            began = time.time()
            sent = await app.send(topic, b"sent", key="ada", delay=1.5)
            assert sent.topic == f"{topic}.delayed"
            async with aio.Queue(servers, topic, group="others") as queue:
                await queue.put(b"put", at=datetime.now(UTC) + timedelta(seconds=0.5))
            await wait_until_async(lambda: len(handled) == 2)
            assert handled[b"put"] >= began + 0.5
            assert handled[b"sent"] >= began + 1.5
            with pytest.raises(InvalidArgument, match="delay='soon'"):
                await app.send(topic, b"", delay="soon")

    asyncio.run(check())


def test_the_lifespan_may_send_for_later(servers: str, topic: str) -> None:
    """Before the handlers, and what moves for them, have begun."""

    @asynccontextmanager
    async def lifespan(app: App) -> AsyncIterator[None]:
        await app.send(topic, b"early", delay=0.2)
        yield

    app = App(servers, lifespan=lifespan)
    handled: list[bytes] = []

    @app.handler(topic, group=topic)
    async def bill(order: bytes) -> None:
        handled.append(order)

    async def check() -> None:
        async with app.started():
            await wait_until_async(lambda: handled == [b"early"])

    asyncio.run(check())
