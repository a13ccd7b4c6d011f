"""An HTTP server for tests that keeps what it was sent and answers as it is told."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext


@dataclass(frozen=True)
class Received:
    """A request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Answer = tuple[int, bytes] | tuple[int, bytes, dict[str, str]] | None
"""A status and a body, perhaps with headers; None closes the connection without an answer."""


class HttpServer:
    """Listens on a port of its own until it is closed."""

    def __init__(
        self,
        answer: Callable[[Received], Answer] = lambda _: (200, b"{}"),
        tls: SSLContext | None = None,
    ) -> None:
        self.received: list[Received] = []
        self.answer = answer
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Received(self.command, self.path, headers, self.rfile.read(length))
                outer.received.append(request)
                answer = outer.answer(request)
                if answer is None:
                    self.close_connection = True
                    return
                self.send_response(answer[0])
                for name, value in (answer[2] if len(answer) == 3 else {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer[1])))
                self.end_headers()
                self.wfile.write(answer[1])

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_any

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._scheme = "http"
        if tls is not None:
            self._scheme = "https"
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
