"""The REST API of a Connect service that leads, on a real cluster. Its connectors run no Spark."""

import asyncio
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Self

from barnabas.connect.rest.answers import error_answer
from barnabas.connect.rest.api_context import ApiContext
from barnabas.connect.rest.router import Router
from barnabas.connect.runner import Runner
from barnabas.connect.settings import ServiceSettings
from barnabas.connect.state.leadership import Leadership
from barnabas.connect.state.state_topics import StateTopics
from barnabas.web.page_guard import known_hosts
from barnabas.web.server import HttpServer, ServerLimits
from tests.support.wait import wait_until, wait_until_async


class WithoutSpark(Runner):
    """Says of each connector that it runs, unless its settings tell it to fail."""

    @property
    def is_ready(self) -> bool:
        return True

    async def _reconcile(self) -> None:
        self._live = {
            name: _status(name, each.config)
            for name, each in self._topics.definitions.items()
            if each.target == "STARTED"
        }

    async def _stop_all(self) -> None:
        self._live = {}


def _status(name: str, config: Any) -> dict[str, Any]:
    trace = f"/pipelines/{name}.py:7: ValueError: no" if "fail" in str(config) else None
    task = {"state": "RUNNING" if trace is None else "FAILED", "trace": trace}
    return {"state": "RUNNING", "trace": None, "tasks": [task], "topics": ["orders"]}


class ConnectService:
    """Serves it in a thread, for as long as the block."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self._settings = ServiceSettings(
            bootstrap, str(folder / "checkpoints"), folder, allow_code=True
        )
        self._thread = Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Event | None = None
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: self.url)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        assert self._ending is not None
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        limits = ServerLimits(body_bytes=1_000_000, keeps_connections=True)
        server = HttpServer(error_answer, limits, guard=known_hosts((), "--public-host"))
        port = await server.listen("127.0.0.1", 0)
        url = f"http://127.0.0.1:{port}"
        async with StateTopics(self._settings) as topics:
            runner = WithoutSpark(self._settings, topics, f"127.0.0.1:{port}")
            leads = Leadership(
                self._settings, topics, f"127.0.0.1:{port}", url, runner.extend_lease
            )
            await server.serve(Router(ApiContext(self._settings, topics, leads, runner)))
            leading = asyncio.ensure_future(leads.run(partial(runner.lead, leads.write)))
            await wait_until_async(lambda: leads.is_leader)
            self.url = url
            await self._ending.wait()
            leads.resign()
            await leading
            await server.close()
