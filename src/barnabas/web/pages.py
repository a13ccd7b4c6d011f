"""A few fixed paths that are read with GET or HEAD: metrics and probes.

Nothing of a request but its method and path is looked at.
"""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus

from barnabas.web.messages import Request, Response
from barnabas.web.server import Handler, ServerLimits

PAGE_LIMITS = ServerLimits(
    head_bytes=8 << 10, body_bytes=8 << 10, connections=32, read_s=10.0, write_s=30.0
)

Page = Callable[[], Awaitable[Response]]

_TEXT = "text/plain; charset=utf-8"
_ALWAYS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def page(
    *body: bytes, status: HTTPStatus = HTTPStatus.OK, content_type: str = _TEXT, **headers: str
) -> Response:
    """A page, which is never kept."""
    return Response(status, body, {"Content-Type": content_type, **_ALWAYS, **headers})


def text_refusal(status: HTTPStatus, why: str) -> Response:
    """An error as text."""
    return page(f"{why}\n".encode(), status=status)


def serving(pages: Mapping[str, Page]) -> Handler:
    """Answers with pages by path."""

    async def answer(request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            status = HTTPStatus.METHOD_NOT_ALLOWED
            return page(b"use GET or HEAD\n", status=status, Allow="GET, HEAD")
        found = pages.get(request.target.partition("?")[0])
        if found is None:
            return text_refusal(HTTPStatus.NOT_FOUND, f"there is {', '.join(pages)}")
        return await found()

    return answer
