"""Calls Kafka Connect's REST API, of this service or of Kafka's own."""

import json
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.security.secret_settings import without_credentials

DEFAULT_URL = "http://127.0.0.1:8083"
_TIMEOUT_S = 90.0
_EXCERPT = 60


class RestError(BarnabasError):
    """What the service refuses, with its reason."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class RestClient:
    """One service."""

    def __init__(self, url: str = DEFAULT_URL, timeout_s: float = _TIMEOUT_S) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidArgument(f"--url {without_credentials(url)}: write http://… or https://…")
        self.url = url.rstrip("/")
        self._shown = without_credentials(self.url)
        self._timeout_s = timeout_s

    def call(self, method: str, *path: str, body: object = None, query: str = "") -> Any:
        """The answer's JSON, None if it has none. Raises `RestError`, and if none answers too."""
        target = "/".join([self.url, *(quote(each, safe="") for each in path)])
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        request = Request(target + query, data, headers, method=method)  # noqa: S310 - checked
        try:
            with urlopen(request, timeout=self._timeout_s) as answer:  # noqa: S310 - checked above
                text = answer.read()
        except HTTPError as error:
            raise RestError(error.code, _message(error)) from None
        except (URLError, OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise BarnabasError(
                f"no answer from {self._shown}: {reason}; is `barnabas connect run` running there?"
            ) from None
        try:
            return json.loads(text) if text.strip() else None
        except (ValueError, RecursionError):
            raise BarnabasError(
                f"{self._shown} does not answer with JSON, but with {text[:_EXCERPT]!r}: is it the "
                "REST API of `barnabas connect run`?"
            ) from None


def _message(error: HTTPError) -> str:
    text = error.read().decode(errors="replace")
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return f"{error.code} {error.reason}"
