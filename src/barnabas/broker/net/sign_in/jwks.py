"""The keys by which tokens are checked: a JWKS from a file or a URL, fetched again now and then.

A sign-in that finds the keys outdated has them fetched. It waits only for keys from a file, or if
there are none yet: an issuer that is slow or away holds nobody up.
"""

import logging
from asyncio import AbstractEventLoop, Task, shield
from collections.abc import Coroutine
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

logger = logging.getLogger(__name__)

_TIMEOUT_S = 10
_MAX_BYTES = 1 << 20
_AT_MOST_EVERY_S = 10.0
"""Keys are not fetched more often than this, whatever tokens are shown."""


class _StaysEncrypted(HTTPRedirectHandler):
    """Whoever can change what is sent unencrypted could give keys of their own."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        if urlsplit(newurl).scheme != "https" and req.type == "https":
            raise ValueError(f"it redirects to {newurl}, which is not encrypted")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = build_opener(_StaysEncrypted)


class Jwks:
    def __init__(self, loop: AbstractEventLoop, url: str) -> None:
        self._loop = loop
        self._url = url
        self._fetched_at: float | None = None
        self._fetching: Task[None] | None = None
        self._is_doubted = False
        self._stamp = _stamp(url)
        self.keys: Any = None
        """A `jwt.PyJWKSet`; None as long as it could not be fetched."""

    def is_outdated(self, refresh_ms: int) -> bool:
        if self._fetched_at is None or self._stamp != _stamp(self._url):
            return True
        age_s = self._loop.time() - self._fetched_at
        is_needed = self._is_doubted or self.keys is None or age_s >= refresh_ms / 1000
        return is_needed and age_s >= _AT_MOST_EVERY_S

    def doubt(self) -> None:
        """A token is signed with another key: there may be new ones."""
        self._is_doubted = True
        if self._fetched_at is None or self._loop.time() - self._fetched_at >= _AT_MOST_EVERY_S:
            self._begin()

    def renew(self, refresh_ms: int) -> "Coroutine[Any, Any, None] | None":
        """Have outdated keys fetched; what a sign-in has to wait for."""
        if not self.is_outdated(refresh_ms):
            return None
        if self.keys is None or _file_of(self._url) is not None:
            return self.fetch()
        self._begin()
        return None

    async def fetch(self) -> None:
        """Fetch the keys. If that fails, it is logged, and the former ones stay."""
        await shield(self._begin())  # others may wait for it too

    def _begin(self) -> Task[None]:
        if self._fetching is None:
            self._fetching = self._loop.create_task(self._fetch())
        return self._fetching

    async def _fetch(self) -> None:
        self._stamp = _stamp(self._url)
        try:
            self.keys = await self._loop.run_in_executor(None, load_keys, self._url)
            self._is_doubted = False
        except (OSError, ValueError) as error:
            logger.error("can't get keys for tokens from %s: %s", self._url, error)
        finally:
            self._fetched_at = self._loop.time()
            self._fetching = None


def _stamp(url: str) -> tuple[int, int] | None:
    """Changes when the file is replaced; None if there is none, as for keys from elsewhere."""
    path = _file_of(url)
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_ino)


def _file_of(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def load_keys(url: str) -> Any:
    """A `jwt.PyJWKSet`. Raises `OSError` or `ValueError`."""
    import jwt

    path = _file_of(url)
    if path is not None:
        text = path.read_bytes()
    elif urlsplit(url).scheme in ("http", "https"):
        try:
            with _OPENER.open(url, timeout=_TIMEOUT_S) as answer:
                text = answer.read(_MAX_BYTES)
        except HTTPException as error:
            raise ValueError(f"it does not speak HTTP: {error!r}") from error
    else:
        raise ValueError("it is neither a file nor an http URL")
    try:
        return jwt.PyJWKSet.from_json(text.decode())
    except (jwt.PyJWTError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise ValueError(f"it is not a JWKS: {error}") from error
