"""Requests that change something, on an instance that stands by: the leader answers them."""

import asyncio
import http.client
from http import HTTPStatus
from urllib.parse import urlsplit

from barnabas.connect.rest.answers import ApiError
from barnabas.web.messages import Request, Response

FORWARDED = "barnabas-forwarded"
_TIMEOUT_S = 90.0


async def forward(request: Request, url: str) -> Response:
    """What the leader answers; raises `ApiError` if it can't be asked."""
    try:
        return await asyncio.to_thread(_ask, request, url)
    except (OSError, http.client.HTTPException) as error:
        raise ApiError(
            HTTPStatus.INTERNAL_SERVER_ERROR,
            f"IO Error trying to forward REST request to the leader at {url}: {error}",
        ) from None


def _ask(request: Request, url: str) -> Response:
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if is_secure else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=_TIMEOUT_S)
    try:
        headers = {FORWARDED: "1"}
        if "content-type" in request.headers:
            headers["content-type"] = request.headers["content-type"]
        target = parts.path.rstrip("/") + request.target
        connection.request(request.method, target, request.body or None, headers)
        found = connection.getresponse()
        location = found.getheader("location")
        body = found.read()
    finally:
        connection.close()
    given = {} if location is None else {"Location": location}
    return Response(HTTPStatus(found.status), body, given)
