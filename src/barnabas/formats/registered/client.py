"""Calls a registry: this one, Confluent's or another with the same REST API."""

import json
import ssl
from base64 import b64encode
from http import HTTPStatus
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlencode, urlsplit, urlunsplit
from urllib.request import Request

from barnabas.errors import BarnabasError, InvalidArgument, RegistryUnreachable
from barnabas.schemas.schema import Json
from barnabas.security.secret_settings import without_credentials
from barnabas.web.no_redirects import opener_without_redirects

_TIMEOUT_S = 30.0
_TYPE = "application/vnd.schemaregistry.v1+json"
_EXCERPT = 60
_SERVER_ERROR = 500
_LATER = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
_OF_REQUEST = (HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY)
_OF_REGISTRY = (*_OF_REQUEST, HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.CONFLICT)


class RegistryAnswerError(BarnabasError):
    """What the registry refuses, with its code: 40301, or 403 if only the HTTP status is known."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        status = int(str(code)[:3])
        self.retriable = status >= _SERVER_ERROR or status in _LATER
        self.is_of_request = code in _OF_REQUEST or (code != status and status in _OF_REGISTRY)
        """Whether it is about what was asked for, and nothing else: other requests may do.

        A 403 without a code of a registry may be of a proxy, which denies everything.
        """


class RegistryClient:
    """One registry."""

    def __init__(
        self, url: str, timeout_s: float = _TIMEOUT_S, *, certificates: str | None = None
    ) -> None:
        """User and password may be in the URL. Raises `InvalidArgument`.

        `certificates` is a PEM file with those to trust; without it, those of the system are.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidArgument(
                f"registry {without_credentials(url)!r}: write http://… or https://…"
            )
        host = parts.netloc.rpartition("@")[2]
        self.url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
        self._headers = {"Content-Type": _TYPE, "Accept": f"{_TYPE}, application/json"}
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(user.encode()).decode()}"
        self._timeout_s = timeout_s
        self._opener = opener_without_redirects(
            None if certificates is None else _tls(certificates)
        )

    def call(self, method: str, *path: str, body: Json = None, **query: str | list[str]) -> Json:
        """The answer's JSON, None if it has none.

        Raises `RegistryAnswerError`, and `BarnabasError` if there is no answer.
        """
        target = "/".join([self.url, *(quote(each, safe="") for each in path)])
        if query:
            target += f"?{urlencode(query, doseq=True)}"
        data = None if body is None else json.dumps(body).encode()
        request = Request(target, data, self._headers, method=method)  # noqa: S310 - checked
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                text = answer.read()
        except HTTPError as error:
            raise _refused(error) from None
        except (URLError, OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise RegistryUnreachable(
                f"no answer from the schema registry at {self.url}: {reason}; is `barnabas "
                "registry` running there?"
            ) from None
        try:
            found: Json = json.loads(text) if text.strip() else None
        except (ValueError, RecursionError):
            raise BarnabasError(
                f"{self.url} does not answer with JSON, but with {text[:_EXCERPT]!r}: is it a "
                "schema registry?"
            ) from None
        return found


def _tls(certificates: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=certificates)
    except (OSError, ssl.SSLError) as error:
        raise InvalidArgument(f"certificates={certificates!r}: {error}") from error


def _refused(error: HTTPError) -> RegistryAnswerError:
    text = error.read().decode(errors="replace")
    try:
        found = json.loads(text)
        code, message = int(found["error_code"]), str(found["message"])
    except (ValueError, KeyError, TypeError):
        code, message = error.code, f"{error.code} {error.reason}"
        if "Location" in error.headers:
            message += f"; use the URL that it redirects to: {error.headers['Location']}"
    if error.code == HTTPStatus.UNAUTHORIZED:
        message += "; write the URL of the registry as http://USER:PASSWORD@HOST"
    return RegistryAnswerError(code, message)
