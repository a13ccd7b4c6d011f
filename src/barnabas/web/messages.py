"""Requests, responses, and errors that are answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


class HttpError(Exception):
    """An answer that is an error."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Request:
    """One request, with its body read."""

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """Their names are in lower case."""
    body: bytes = b""
    peer: str = ""
    """The address that it comes from."""

    @property
    def path(self) -> tuple[str, ...]:
        """The parts of the path; a `/` in a name is `%2F`."""
        parts = urlsplit(self.target).path.split("/")
        return tuple(unquote(each) for each in parts if each)

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.target).query)

    def flag(self, name: str) -> bool:
        """Whether a parameter of the query is true."""
        return self.query.get(name, ["false"])[-1].lower() == "true"

    def json(self) -> Any:
        """The body; raises `HttpError`."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HttpError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send JSON with Content-Type: application/json"
            )
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise HttpError(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None

    def json_object(self) -> dict[str, Any]:
        found = self.json()
        if not isinstance(found, dict):
            raise HttpError(HTTPStatus.BAD_REQUEST, "the body has to be a JSON object")
        return found


@dataclass(frozen=True)
class Response:
    """One response; a long body may be in parts, which are sent one after the other."""

    status: HTTPStatus = HTTPStatus.OK
    body: bytes | Sequence[bytes] = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> Sequence[bytes]:
        return [self.body] if isinstance(self.body, bytes) else self.body
