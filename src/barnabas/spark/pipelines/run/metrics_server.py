"""Serves the metrics of a run on `/metrics`, for Prometheus to scrape.

One thread of the standard library's server. It renders what the run published last, so that it
shares no changing state with it.
"""

import time
from copy import deepcopy
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Self

from barnabas.metrics.exposition import CONTENT_TYPE
from barnabas.metrics.histogram import Histogram
from barnabas.spark.pipelines.run.metrics import Status, exposition
from barnabas.web.page_guard import no_browsers

_PATH = "/metrics"
_TIMEOUT_S = 10


class MetricsServer:
    """Listens as soon as it is created; port 0 chooses a free one."""

    def __init__(self, host: str, port: int) -> None:
        self._published: list[tuple[Status, Histogram]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            timeout = _TIMEOUT_S

            def do_GET(self) -> None:
                given = {name.lower(): value for name, value in self.headers.items()}
                try:
                    refusal = no_browsers(given)
                except ValueError as error:
                    refusal = str(error)
                if refusal is not None:
                    self.send_error(HTTPStatus.FORBIDDEN, refusal)
                    return
                if self.path.split("?")[0] != _PATH:
                    self.send_error(HTTPStatus.NOT_FOUND, f"see {_PATH}")
                    return
                body = exposition(outer._published, time.time()).encode()
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
                """Scrapes are not logged: there is one every few seconds."""

        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        name, number = self._server.server_address[:2]
        self.url = f"http://{name if isinstance(name, str) else name.decode()}:{number}{_PATH}"
        self._thread = Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    def publish(self, pipelines: list[tuple[Status, Histogram]]) -> None:
        """Replace what is served."""
        self._published = [(status, deepcopy(durations)) for status, durations in pipelines]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()
