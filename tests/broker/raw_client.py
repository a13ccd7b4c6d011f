"""A blocking socket that speaks our codec: what real clients would never send, this one does."""

import socket
import struct
import time
from collections import deque
from ssl import SSLContext
from typing import Any, Self

from barnabas.records.encode import encode_batch
from barnabas.records.record import Row
from barnabas.wire.framing import correlation_id_of, decode_response, encode_request
from barnabas.wire.message import Request, Response

_TIMEOUT_S = 60.0


class RawClient:
    """One connection. Requests may be pipelined: `send` them all, then `receive` each."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        receive_buffer: int | None = None,
        timeout_s: float = _TIMEOUT_S,
        tls: SSLContext | None = None,
        client_id: str = "raw",
    ) -> None:
        self._client_id = client_id
        self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout_s)
        self._timeout_s = timeout_s
        try:
            self.socket.connect((host, port))
            if tls is not None:
                self.socket = tls.wrap_socket(self.socket, server_hostname=host)
        except OSError:
            self.socket.close()
            raise
        self._asked: deque[tuple[int, type[Response], int]] = deque()
        self._last_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    # -- requests ----------------------------------------------------------------------------------

    def ask(self, request: Request[Any], version: int | None = None) -> Any:
        """Send one request and read its answer; without a version, in the newest."""
        self.send(request, version)
        return self.receive()

    def send(self, request: Request[Any], version: int | None = None) -> None:
        self.send_bytes(self.frame(request, version))

    def frame(self, request: Request[Any], version: int | None = None) -> bytes:
        """The request's bytes; an answer is expected for it from now on."""
        version = request.MAX_VERSION if version is None else version
        self._last_id += 1
        self._asked.append((self._last_id, request.RESPONSE, version))
        return b"".join(encode_request(request, version, self._last_id, self._client_id))

    def expect_no_answer(self) -> None:
        """The frame made last gets none: a Produce with acks=0."""
        self._asked.pop()

    def send_bytes(self, data: bytes) -> None:
        self.socket.sendall(data)

    # -- answers -----------------------------------------------------------------------------------

    def receive(self) -> Any:
        """The answer to the oldest request that has none yet."""
        correlation_id, response_type, version = self._asked.popleft()
        frame = self.receive_frame()
        assert correlation_id_of(frame) == correlation_id
        return decode_response(frame, response_type, version)

    def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._receive_exactly(4))
        return self._receive_exactly(size)

    def _receive_exactly(self, count: int) -> bytes:
        received = bytearray()
        while len(received) < count:
            chunk = self.socket.recv(min(count - len(received), 1 << 20))
            if not chunk:
                raise EOFError(f"the broker closed after {len(received)} of {count} bytes")
            received += chunk
        return bytes(received)

    def is_closed(self, timeout_s: float = 30.0) -> bool:
        """Whether the broker ends the connection, without a further answer, in that time."""
        self.socket.settimeout(timeout_s)
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False
        finally:
            self.socket.settimeout(self._timeout_s)

    def is_silent(self, seconds: float) -> bool:
        """Whether nothing comes, not even the end, for so long."""
        self.socket.settimeout(seconds)
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(self._timeout_s)
        return False


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def batch(*values: bytes, **settings: Any) -> bytes:
    """One batch with these values, stamped now and keyed with themselves."""
    rows: list[Row] = [(now_ms(), value, value, ()) for value in values]
    return bytes(encode_batch(rows, **settings))
