"""Requests, responses, and errors in Kafka Connect's shape."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


class ApiError(Exception):
    """An answer that is an error: `{"error_code": 404, "message": "..."}`."""

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
        """The body; raises `ApiError`."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise ApiError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send JSON with Content-Type: application/json"
            )
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from None

    def json_object(self) -> dict[str, Any]:
        found = self.json()
        if not isinstance(found, dict):
            raise ApiError(HTTPStatus.BAD_REQUEST, "the body has to be a JSON object")
        return found


@dataclass(frozen=True)
class Response:
    """One response."""

    status: HTTPStatus = HTTPStatus.OK
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def answer(value: Any, status: HTTPStatus = HTTPStatus.OK, **headers: str) -> Response:
    """A value as JSON."""
    return Response(status, json.dumps(value).encode(), headers)


def nothing(status: HTTPStatus = HTTPStatus.NO_CONTENT) -> Response:
    """No body."""
    return Response(status)


def error_answer(status: HTTPStatus, message: str) -> Response:
    return answer({"error_code": int(status), "message": message}, status)


def texts(config: Any) -> dict[str, str]:
    """Settings as texts: JSON may have numbers and truth values; raises `ApiError`."""
    if not isinstance(config, dict):
        raise ApiError(HTTPStatus.BAD_REQUEST, "config has to be a JSON object of settings")
    found = {}
    for name, value in config.items():
        if isinstance(value, bool):
            found[name] = str(value).lower()
        elif isinstance(value, str | int | float):
            found[name] = str(value)
        else:
            raise ApiError(HTTPStatus.BAD_REQUEST, f"setting {name!r} has to be a string")
    return found
