"""Requests over HTTP, tried again with growing pauses where that may help."""

import http.client
import random
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from barnabas.backoff import Backoff
from barnabas.errors import BarnabasError, InvalidArgument

_PAUSES = Backoff(0.2, 30.0)
_LONGEST_WISH_S = 60.0
_EXCERPT = 300
_LONGEST_ERROR = 8 << 10
_USER = re.compile(r"//.*@")
_TRY_AGAIN = (408, 425, 429)
_SUCCESS, _REDIRECT, _REFUSED, _FAILED = 200, 300, 400, 500


class HttpRefusedError(BarnabasError):
    """The server refuses a request: it would do so again."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class HttpUnavailableError(BarnabasError):
    """The server can't be reached, or fails, for longer than was waited."""


@dataclass
class HttpCalls:
    """Sends requests to servers, one after the other, on a connection that is kept."""

    timeout_s: float = 30.0
    """How long an attempt may take, once there is a connection; and how long that may take."""
    retry_for_s: float = 60.0
    longest_answer: int = 64 << 20
    """How many bytes of an answer are read."""
    _connection: http.client.HTTPConnection | None = field(default=None, init=False)
    _server: tuple[str, str] = field(default=("", ""), init=False)

    def call(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        """Send a request until it is answered with success; returns what the answer has."""
        deadline = time.monotonic() + self.retry_for_s
        attempt = 0
        while True:
            attempt += 1
            wish = 0.0
            try:
                status, reason, answer, wish = self._once(method, url, body, headers)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                why = f"{type(error).__name__}: {error}"
            else:
                if _SUCCESS <= status < _REDIRECT:
                    return answer
                why = f"it answers {status} {reason}{_excerpt(answer)}"
                if status < _FAILED and status not in _TRY_AGAIN:
                    raise HttpRefusedError(f"{method} {shown_url(url)}: {why}", status)
            pause = max(_PAUSES.pause(attempt, random.random), min(wish, _LONGEST_WISH_S))
            if time.monotonic() + pause > deadline:
                tried = f"{attempt} attempts in {self.retry_for_s:g} s"
                raise HttpUnavailableError(f"{method} {shown_url(url)}: {why} ({tried})")
            time.sleep(pause)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _once(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, str, bytes, float]:
        parts = urlsplit(url)
        if self._connection is None or self._server != (parts.scheme, parts.netloc):
            self.close()
            kind = http.client.HTTPSConnection if parts.scheme == "https" else None
            made = kind or http.client.HTTPConnection
            self._connection = made(parts.hostname or "", parts.port, timeout=self.timeout_s)
            self._server = (parts.scheme, parts.netloc)
        if self._connection.sock is None:
            self._connection.connect()
        path = parts.path or "/"
        with self._time_limit(self._connection.sock):
            self._connection.request(
                method, f"{path}?{parts.query}" if parts.query else path, body, dict(headers)
            )
            response = self._connection.getresponse()
            is_success = _SUCCESS <= response.status < _REDIRECT
            answer = response.read(self.longest_answer if is_success else _LONGEST_ERROR)
        if not response.isclosed():  # the rest would be taken for the next answer
            self.close()
        wish = response.getheader("Retry-After") or ""
        return response.status, response.reason, answer, float(wish) if wish.isdecimal() else 0.0

    @contextmanager
    def _time_limit(self, connected: socket.socket) -> Iterator[None]:
        """Cut the connection if it takes longer: a socket's timeout starts over with each byte."""
        is_over = threading.Event()

        def cut() -> None:
            is_over.set()
            with suppress(OSError):  # it is closed already
                # Not the method of a TLS socket, which another thread is reading.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)

        timer = threading.Timer(self.timeout_s, cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (OSError, http.client.HTTPException):
            if not is_over.is_set():
                raise
        finally:
            timer.cancel()
        if is_over.is_set():
            raise TimeoutError(f"no complete answer in {self.timeout_s:g} s")


def check_url(url: str) -> None:
    """Raise `InvalidArgument` unless it is a URL of HTTP."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise InvalidArgument(f"url {shown_url(url)!r}: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidArgument(f"url {shown_url(url)!r}: write http://… or https://…")
    if parts.username or parts.password:
        raise InvalidArgument(
            'url has a user or password: give them as a header, as "Authorization: Basic …"'
        )


def shown_url(url: str) -> str:
    """A URL without its query and its user, which may have secrets."""
    return _USER.sub("//", url.partition("?")[0])


def headers_given(headers: Mapping[str, str] | list[str] | tuple[str, ...]) -> dict[str, str]:
    """Headers by name; a SQL file has texts as `Name: value`."""
    if isinstance(headers, Mapping):
        return dict(headers)
    found = {}
    for each in headers:
        name, colon, value = each.partition(":")
        if not colon or not name.strip():
            given = each.split()[0] if each.split() else ""  # what follows may be a secret
            raise InvalidArgument(f"headers: write {given!r} as Name: value")
        found[name.strip()] = value.strip()
    return found


def _excerpt(answer: bytes) -> str:
    text = " ".join(answer[:_EXCERPT].decode("utf-8", "replace").split())
    return f": {text}" if text else ""
