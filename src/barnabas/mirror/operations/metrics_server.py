"""Serves the metrics of mirrors on `/metrics`, from a thread of its own."""

import asyncio
from collections.abc import Sequence
from threading import Event, Thread
from types import TracebackType
from typing import Self

from barnabas.errors import InvalidArgument
from barnabas.metrics.exposition import CONTENT_TYPE
from barnabas.mirror.operations.metrics import FlowMetrics, scraped
from barnabas.web.messages import Response
from barnabas.web.page_guard import no_browsers
from barnabas.web.pages import PAGE_LIMITS, page, serving, text_refusal
from barnabas.web.server import HttpServer

_PATH = "/metrics"


class MirrorMetricsServer:
    """Listens once it is entered; port 0 chooses a free one."""

    def __init__(self, host: str, port: int, flows: Sequence[FlowMetrics]) -> None:
        self.url = ""
        self._host = host
        self._port = port
        self._flows = flows
        self._listening = Event()
        self._failure: OSError | None = None
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._scraping = asyncio.Lock()
        self._thread = Thread(target=self._run, name="metrics", daemon=True)

    def __enter__(self) -> Self:
        """Raises `InvalidArgument` if the address can't be had."""
        self._thread.start()
        self._listening.wait()
        if self._failure is not None:
            raise InvalidArgument(
                f"metrics can't be served at {self._host}:{self._port}: {self._failure}"
            )
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = HttpServer(text_refusal, PAGE_LIMITS, guard=no_browsers)
        try:
            port = await server.listen(self._host, self._port)
        except OSError as error:
            self._failure = error
            self._listening.set()
            return
        host = f"[{self._host}]" if ":" in self._host else self._host
        self.url = f"http://{host}:{port}{_PATH}"
        await server.serve(serving({_PATH: self._page}))
        self._listening.set()
        await self._closing.wait()
        await server.close()

    async def _page(self) -> Response:
        async with self._scraping:  # those that come at the same time get the same answer
            return page(*await scraped(self._flows), content_type=CONTENT_TYPE)
