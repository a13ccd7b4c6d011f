"""Tokens of OAUTHBEARER from an identity provider: OAuth 2.0's client credentials (RFC 6749, 4.4).

    POST URL                        200
    Authorization: Basic ID:SECRET  {"access_token": TOKEN, "expires_in": SECONDS}
    grant_type=client_credentials
    &scope=SCOPE

A token is kept and shown again until four fifths of its lifetime are over; then a new one is
fetched, and as long as that fails, the old one is used to its end. The secret is sent to this URL
and to no other: redirections are not followed, and without TLS it goes to this machine only.
"""

import json
import math
import ssl
import threading
import time
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request

from barnabas.security.sasl.exchange import SaslError
from barnabas.web.loopback import is_loopback
from barnabas.web.no_redirects import opener_without_redirects

_TIMEOUT_S = 10
_MAX_BYTES = 1 << 20
_MAX_SHOWN = 200
_REFRESH_AFTER = 0.8
"""The part of a token's lifetime after which a new one is fetched, as in Kafka."""
_ATTEMPTS = 3
_PAUSE_S = 0.2
_TOO_MANY = 429
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """As whom, and where, tokens are asked for."""

    url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None
    ca_location: str | None = None
    """CAs that the certificate of the URL's host may be of; None: those of the system."""


class _PassingError(SaslError):
    """An attempt that may be repeated."""


class TokenEndpoint:
    """Returns a token when it is called; threads may share it."""

    def __init__(
        self,
        credentials: ClientCredentials,
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raises `ValueError` if the URL or its CAs can't be used."""
        _check(credentials.url)
        self._credentials = credentials
        self._now_s = now_s
        self._sleep = sleep
        try:
            context = ssl.create_default_context(cafile=credentials.ca_location)
        except OSError as error:  # also of `ssl`
            raise ValueError(
                f"https.ca.location={credentials.ca_location}: {error.strerror or error}"
            ) from None
        self._opener = opener_without_redirects(context)
        self._lock = threading.Lock()
        self._token = ""
        self._refresh_s = self._end_s = -math.inf

    def __call__(self) -> str:
        """Raises `SaslError`."""
        with self._lock:
            if self._now_s() >= self._refresh_s:
                try:
                    self._renew()
                except SaslError:
                    if self._now_s() >= self._end_s:
                        raise
            return self._token

    def _renew(self) -> None:
        asked_s = self._now_s()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                answer = self._ask()
                break
            except _PassingError:
                if attempt == _ATTEMPTS:
                    raise
                self._sleep(_PAUSE_S * attempt)
        token = answer.get("access_token")
        if not isinstance(token, str) or not token:
            raise self._error("its answer has no access_token")
        lifetime_s = _lifetime_s(answer, token)
        self._token = token
        self._refresh_s = asked_s + _REFRESH_AFTER * lifetime_s
        self._end_s = asked_s + lifetime_s

    def _ask(self) -> dict[str, Any]:
        try:
            with self._opener.open(self._request(), timeout=_TIMEOUT_S) as response:
                body = response.read(_MAX_BYTES)
        except HTTPError as error:
            with error:
                reason = f"{error.code} {error.reason}{_explained(error.read(_MAX_BYTES))}"
            again = error.code == _TOO_MANY or error.code >= _SERVER_ERROR
            raise self._error(
                f"it answers {reason}", _PassingError if again else SaslError
            ) from None
        except URLError as error:
            is_tls = isinstance(error.reason, ssl.SSLError)
            raise self._error(str(error.reason), SaslError if is_tls else _PassingError) from None
        except (OSError, HTTPException) as error:
            raise self._error(str(error) or type(error).__name__, _PassingError) from None
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            raise self._error("its answer is not JSON") from None
        if not isinstance(answer, dict):
            raise self._error("its answer is not a JSON object")
        return answer

    def _request(self) -> Request:
        mine = self._credentials
        form = {"grant_type": "client_credentials"}
        if mine.scope:
            form["scope"] = mine.scope
        pair = b64encode(f"{mine.client_id}:{mine.client_secret}".encode()).decode()
        headers = {"Authorization": f"Basic {pair}", "Accept": "application/json"}
        return Request(mine.url, urlencode(form).encode(), headers)  # noqa: S310 - checked

    def _error(self, reason: str, kind: type[SaslError] = SaslError) -> SaslError:
        parts = urlsplit(self._credentials.url)
        where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        return kind(f"no token from {where}: {reason[:_MAX_SHOWN]}")


def _check(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme != "http" or not parts.hostname:
        raise ValueError("the URL of a token endpoint begins with https:// or file:///")
    if not is_loopback(parts.hostname):
        raise ValueError("the URL of a token endpoint begins with https://, or shows the secret")


def _explained(body: bytes) -> str:
    """What RFC 6749 has in errors; neither has anything of the secret."""
    try:
        answer = json.loads(body)
        texts = [answer.get("error"), answer.get("error_description")]
    except (ValueError, AttributeError, RecursionError):
        return ""
    found = [text for text in texts if isinstance(text, str) and text.isprintable()]
    return f" ({': '.join(found)})" if found else ""


def _lifetime_s(answer: dict[str, Any], token: str) -> float:
    """By `expires_in`, which is not required; otherwise by the token's own claim; 0 if it is not
    known, so that the token is not used again."""
    given = answer.get("expires_in")
    if isinstance(given, str) and given.isdecimal():
        given = int(given)
    if isinstance(given, int | float) and math.isfinite(given):
        return max(0.0, float(given))
    try:
        claims = json.loads(urlsafe_b64decode(token.split(".")[1] + "=="))
        return max(0.0, float(claims["exp"]) - time.time())
    except (ValueError, LookupError, TypeError, RecursionError):
        return 0.0
