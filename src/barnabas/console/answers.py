"""Answers as JSON, and errors that say what to do."""

import json
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from barnabas.client.users.failed_sign_ins import TooManyFailuresError
from barnabas.errors import (
    BarnabasError,
    BrokerError,
    BrokerUnreachable,
    ConnectionLost,
    GroupNotEmpty,
    InvalidArgument,
    NotAuthorized,
    ProtocolMismatch,
    RequestTimedOut,
    SignInFailed,
    TopicExists,
    UnknownGroup,
    UnknownTopic,
)

_STATUSES: tuple[tuple[type[BarnabasError], HTTPStatus, str], ...] = (
    (UnknownTopic, HTTPStatus.NOT_FOUND, "It may have been deleted; look at the list of topics."),
    (UnknownGroup, HTTPStatus.NOT_FOUND, "It may have been deleted; look at the list of groups."),
    (TopicExists, HTTPStatus.CONFLICT, "Choose another name."),
    (GroupNotEmpty, HTTPStatus.CONFLICT, "Stop the group's consumers and try again."),
    (
        SignInFailed,
        HTTPStatus.UNAUTHORIZED,
        "Check the user name and the password, or sign in again.",
    ),
    (
        NotAuthorized,
        HTTPStatus.FORBIDDEN,
        "The cluster's access rules do not allow it; ask an administrator for an ACL.",
    ),
    (
        ProtocolMismatch,
        HTTPStatus.NOT_IMPLEMENTED,
        "This cluster's version does not offer it.",
    ),
    (
        BrokerUnreachable,
        HTTPStatus.BAD_GATEWAY,
        "Check that the brokers run and that this machine reaches their advertised addresses.",
    ),
    (ConnectionLost, HTTPStatus.BAD_GATEWAY, "A broker went away; try again in a moment."),
    (RequestTimedOut, HTTPStatus.GATEWAY_TIMEOUT, "A broker is slow or away; try again."),
    (InvalidArgument, HTTPStatus.BAD_REQUEST, ""),
    (BrokerError, HTTPStatus.BAD_REQUEST, ""),
    (TooManyFailuresError, HTTPStatus.TOO_MANY_REQUESTS, ""),
)


class ApiError(Exception):
    """An answer that is an error."""

    def __init__(self, status: HTTPStatus, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.hint = hint


def json_response(value: Any, status: int = HTTPStatus.OK) -> Response:
    """A value; `<` is escaped, so that no browser takes it for a page, whatever it is told."""
    return Response(json_bytes(value), status, media_type="application/json")


def json_bytes(value: Any) -> bytes:
    """ASCII only: surrogates and separators of lines in messages survive."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c").encode()


def error_response(error: ApiError | BarnabasError) -> Response:
    """`{"error": {"message", "hint"}}` with the status that fits."""
    if isinstance(error, ApiError):
        status, hint = error.status, error.hint
    else:
        status, hint = _status_of(error)
    return json_response({"error": {"message": str(error), "hint": hint}}, status)


def _status_of(error: BarnabasError) -> tuple[HTTPStatus, str]:
    for kind, status, hint in _STATUSES:
        if isinstance(error, kind):
            return status, hint
    return HTTPStatus.BAD_GATEWAY, "Try again; the console's log says more."
