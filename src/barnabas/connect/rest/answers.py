"""Responses and errors in Kafka Connect's shape."""

import json
from http import HTTPStatus
from typing import Any

from barnabas.web.messages import HttpError, Response


class ApiError(HttpError):
    """An answer that is an error: `{"error_code": 404, "message": "..."}`."""


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
