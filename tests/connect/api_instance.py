"""The REST API of an instance that leads, on a real broker, without Spark."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

from barnabas.connect.positions import folder_of
from barnabas.connect.rest.answers import ApiError
from barnabas.connect.rest.api_context import ApiContext
from barnabas.connect.rest.router import Router
from barnabas.connect.runner import Offsets, Runner
from barnabas.connect.settings import ServiceSettings
from barnabas.connect.state.leadership import Leadership
from barnabas.connect.state.state_topics import StateTopics
from barnabas.errors import BarnabasError
from barnabas.web.messages import Request
from tests.support.wait import wait_until_async


class Crash(Exception):
    """The instance dies here."""


class FoldersOnly(Runner):
    """Resets the folders of pipelines as a driver does, and runs nothing."""

    refuses = False
    crashes: str | None = None

    async def check_reset(
        self, config: Mapping[str, str], start: Offsets | None, changed: Iterable[str]
    ) -> None:
        del config, start, changed
        if self.refuses:
            raise BarnabasError("no")

    async def reset(self, name: str, config: Mapping[str, str], start: Offsets | None) -> None:
        del config, start
        folder = folder_of(self._settings.checkpoints, self._settings.logs)
        if self.crashes == "before the reset":
            raise Crash
        if self.crashes == "with an error":
            raise BarnabasError("the disk is full")
        for each in folder.names():
            if each == name or each.startswith(f"{name}."):
                folder.reset(each)
                if self.crashes == "between two":
                    raise Crash
        if self.crashes == "after the reset":
            raise Crash

    @property
    def is_ready(self) -> bool:
        return True


class ApiInstance:
    """Answers requests, one or several at a time."""

    def __init__(
        self, context: ApiContext, runner: FoldersOnly, hang: Callable[[], Awaitable[None]]
    ) -> None:
        self.context = context
        self.runner = runner
        self.hang = hang
        """Sends no more heartbeats, so that it does not notice another leader."""
        self._router = Router(context)

    async def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """The status and the content of the answer."""
        data = b"" if body is None else json.dumps(body).encode()
        request = Request(method, path, {"content-type": "application/json"}, data)
        try:
            found = await self._router(request)
        except ApiError as error:
            return error.status, str(error)
        return HTTPStatus(found.status), json.loads(found.body) if found.body else None

    async def text(self, path: str) -> str:
        """The content of a page that is not JSON."""
        return b"".join((await self._router(Request("GET", path))).parts).decode()


@asynccontextmanager
async def api_instance(bootstrap: str, folder: Path) -> AsyncIterator[ApiInstance]:
    settings = ServiceSettings(bootstrap, str(folder / "checkpoints"), folder, allow_code=True)

    goes_on, hangs = asyncio.Event(), asyncio.Event()
    goes_on.set()

    async def lease(_until: float) -> None:
        if not goes_on.is_set():
            hangs.set()
        await goes_on.wait()

    async def hang() -> None:
        goes_on.clear()
        await hangs.wait()

    async with StateTopics(settings) as topics:
        leadership = Leadership(settings, topics, "one:1", "http://one:1", lease)
        leading = asyncio.ensure_future(leadership.run(lambda: asyncio.sleep(3600)))
        await wait_until_async(lambda: leadership.is_leader)
        runner = FoldersOnly(settings, topics, "one:1")
        yield ApiInstance(ApiContext(settings, topics, leadership, runner), runner, hang)
        goes_on.set()
        leadership.resign()
        await leading
