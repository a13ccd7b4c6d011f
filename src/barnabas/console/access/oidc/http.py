"""Requests to the provider: bounded, short, never redirected, encrypted except on this machine."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request

from barnabas.console.outside import OPENER
from barnabas.web.loopback import is_loopback

_TIMEOUT_S = 10
_MAX_BYTES = 1 << 20
_MAX_REFUSAL = 4_096
_OF_THE_REQUEST = (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN)
"""Statuses by which providers refuse a code; 401 is about the console's own secret."""
_OF_THE_CONSOLE = ("invalid_client", "unauthorized_client", "unsupported_grant_type")


class ProviderError(Exception):
    """What the provider does not give, and why. It is for the log, not for the page."""


class ProviderUnusableError(ProviderError):
    """It does not answer, or refuses the console itself: no word about the user."""


def check_url(url: str) -> None:
    """Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and parts.hostname and is_loopback(parts.hostname):
        return
    raise ValueError("it begins with https://, or is on this machine")


def ask(
    url: str, form: Mapping[str, str] | None = None, authorization: str | None = None
) -> dict[str, Any]:
    """An object of JSON. Raises `ProviderError`."""
    try:
        check_url(url)
    except ValueError as error:
        raise ProviderUnusableError(f"{url}: {error}") from None
    data = None if form is None else urlencode(form).encode()
    request = Request(url, data, {"Accept": "application/json"})  # noqa: S310 - checked
    if authorization is not None:
        request.add_header("Authorization", authorization)
    try:
        with OPENER.open(request, timeout=_TIMEOUT_S) as answer:
            text = answer.read(_MAX_BYTES)
    except HTTPError as error:
        with error:
            answer = error.read(_MAX_REFUSAL)
        said = f"{url} answers {error.code} {answer[:200]!r}"
        if error.code not in _OF_THE_REQUEST or _is_of_the_console(answer):
            raise ProviderUnusableError(said) from None
        raise ProviderError(said) from None
    except (URLError, OSError, HTTPException) as error:
        raise ProviderUnusableError(f"no answer from {url}: {error}") from None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ProviderUnusableError(f"{url} does not answer with JSON") from None
    if not isinstance(value, dict):
        raise ProviderUnusableError(f"{url} does not answer with an object")
    return value


def _is_of_the_console(refusal: bytes) -> bool:
    """Whether the provider refuses this client, whatever the code is."""
    try:
        said = json.loads(refusal)
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and said.get("error") in _OF_THE_CONSOLE
