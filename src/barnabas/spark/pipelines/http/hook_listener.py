"""A server for webhooks: each request becomes a record, and is answered once that is acknowledged.

The sender is told that all is well when a topic has the record, and never before: a source that
kept requests in memory until a micro-batch has them would lose them with its process.
"""

import hmac
import json
import logging
import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.sync.producer import Producer

_log = logging.getLogger(__name__)

_SOCKET_TIMEOUT_S = 30.0
_MOST_AT_ONCE = 64
_MOST_CONNECTIONS = 256
_ACKNOWLEDGED_WITHIN_MS = 20_000


@dataclass(frozen=True)
class HookSettings:
    """Where a listener listens, and what it takes."""

    port: int
    host: str = "127.0.0.1"
    path: str = "/"
    token: str | None = field(default=None, repr=False)
    key_header: str | None = None
    max_body_bytes: int = 1 << 20

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise InvalidArgument(f"port is 0 to 65535, not {self.port}")
        if not self.path.startswith("/"):
            raise InvalidArgument(f"path begins with a slash, as /hooks, not {self.path!r}")
        if self.max_body_bytes < 1:
            raise InvalidArgument(f"max_body_bytes is 1 or more, not {self.max_body_bytes}")
        if self.token is not None and not self.token:
            raise InvalidArgument("token is empty: leave it out to accept requests from anyone")


class HookListener:
    """Listens until it is closed."""

    def __init__(self, settings: HookSettings, topic: str, cluster: ClusterAddress) -> None:
        self.settings = settings
        self.topic = topic
        self.cluster = cluster
        self.pipelines: set[str] = set()
        self.is_closed = False
        self.producer = Producer(
            cluster.bootstrap_servers,
            delivery_timeout_ms=_ACKNOWLEDGED_WITHIN_MS,
            security=cluster.security,
        )
        self.places = threading.BoundedSemaphore(_MOST_AT_ONCE)
        listener = self

        class Handler(_Handler):
            hooks = listener

        try:
            self._server = _Server((settings.host, settings.port), Handler)
        except OSError as error:
            self.producer.close()
            raise InvalidArgument(
                f"can't listen on {settings.host}:{settings.port}: {error.strerror}; choose "
                "another port"
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_port)

    def close(self) -> None:
        """Take no more requests, on connections that are kept either; answer those that came."""
        self.is_closed = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self.producer.close()


class _Server(ThreadingHTTPServer):
    """Has a thread for each connection, and only so many of them."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()


class _Handler(BaseHTTPRequestHandler):
    """Answers one request after the other, of one connection."""

    hooks: HookListener
    protocol_version = "HTTP/1.1"
    server_version = "barnabas"
    sys_version = ""
    timeout = _SOCKET_TIMEOUT_S

    def do_POST(self) -> None:
        settings = self.hooks.settings
        if self.hooks.is_closed:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "nothing takes hooks here now")
            return
        if not self.hooks.places.acquire(blocking=False):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "too many requests at once")
            return
        try:
            if self.path.partition("?")[0] != settings.path:
                self._refuse(HTTPStatus.NOT_FOUND, f"hooks are at {settings.path}")
            elif settings.token is None and self._is_of_page():
                self._refuse(HTTPStatus.FORBIDDEN, "web pages may send hooks with a token only")
            elif not self._is_allowed():
                self._refuse(HTTPStatus.UNAUTHORIZED, "Authorization: Bearer TOKEN is wrong")
            else:
                body = self._body()
                if body is not None:
                    self._store(body)
        finally:
            self.hooks.places.release()

    do_PUT = do_POST  # noqa: N815 - of the base class

    def _is_of_page(self) -> bool:
        """Whether a browser sends it: any page that it shows could, and senders of hooks have none.
        Browsers send these headers with each POST and PUT, and scripts can't keep them from it."""
        return "Origin" in self.headers or "Sec-Fetch-Site" in self.headers

    def _is_allowed(self) -> bool:
        token = self.hooks.settings.token
        given = self.headers.get("Authorization") or ""
        return token is None or hmac.compare_digest(given.encode(), f"Bearer {token}".encode())

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length") or ""
        if not length.isdecimal():
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "send a Content-Length")
            return None
        if int(length) > self.hooks.settings.max_body_bytes:
            limit = self.hooks.settings.max_body_bytes
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {limit} bytes")
            return None
        body = self.rfile.read(int(length))
        if len(body) < int(length):  # the sender is gone, and will send it again
            self.close_connection = True
            return None
        return body

    def _store(self, body: bytes) -> None:
        name = self.hooks.settings.key_header
        key = None if name is None else self.headers.get(name)
        kind = self.headers.get("Content-Type") or ""
        try:
            sent = self.hooks.producer.send(
                self.hooks.topic,
                body,
                None if key is None else key.encode(),
                headers=[("content-type", kind.encode())] if kind else [],
            )
            stored = sent.result()
        except BarnabasError as error:
            _log.warning("a webhook can't be stored in %s: %s", self.hooks.topic, error)
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "it can't be stored now: try again")
            return
        self._answer(
            HTTPStatus.OK,
            {"topic": stored.topic, "partition": stored.partition, "offset": stored.offset},
        )

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # what is left of the request would be the next one
        self._answer(status, {"error": why})

    def _answer(self, status: HTTPStatus, content: dict[str, object]) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            self.send_header("Retry-After", "1")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - of the base class
        _log.debug(format, *args)


_open: dict[tuple[str, int], HookListener] = {}
_lock = threading.Lock()


def listening(
    settings: HookSettings, topic: str, cluster: ClusterAddress, pipeline: str = ""
) -> HookListener:
    """The listener of this process on that host and port, for a pipeline that is to use it.

    It is started if there is none. Pipelines share it if they want the same of it; one that has it
    for itself may change what it takes, and where to.
    """
    place = settings.host, settings.port
    with _lock:
        found = _open.get(place)
        if found is None:
            found = _open[place] = HookListener(settings, topic, cluster)
        elif found.pipelines <= {pipeline} and found.cluster == cluster:
            found.settings, found.topic = settings, topic
        elif (found.settings, found.topic) != (settings, topic):
            raise InvalidArgument(
                f"port {settings.port} already takes webhooks for topic {found.topic}, with "
                f"path {found.settings.path}: choose another port"
            )
        found.pipelines.add(pipeline)
        return found


def stop_listening(settings: HookSettings, pipeline: str) -> None:
    """The pipeline has ended: close its listener, unless others use it."""
    place = settings.host, settings.port
    with _lock:
        found = _open.get(place)
        if found is not None and pipeline in found.pipelines:
            found.pipelines.remove(pipeline)
            if not found.pipelines:
                _open.pop(place).close()


def close_listeners() -> None:
    """Close all listeners of this process."""
    with _lock:
        while _open:
            _open.popitem()[1].close()
