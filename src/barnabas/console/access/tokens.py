"""The token that a change needs: a page of another origin can neither read it nor send it."""

from hmac import compare_digest
from http import HTTPStatus
from secrets import token_urlsafe

from starlette.requests import Request

from barnabas.console.answers import ApiError

TOKEN_HEADER = "X-Barnabas-Token"  # noqa: S105 - its name
_SAME = ("same-origin", "none")


def new_token() -> str:
    return token_urlsafe(32)


def check_site(request: Request) -> None:
    """Raises `ApiError` if a page of another site asks; browsers say so, and tools say nothing."""
    if request.headers.get("sec-fetch-site", "none") not in _SAME:
        raise ApiError(HTTPStatus.FORBIDDEN, "a page of another site has sent this request")


def is_https(request: Request) -> bool:
    """Whether the browser speaks HTTPS, with the console or with a proxy."""
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto", ""))


def check_token(request: Request, token: str) -> None:
    """Raises `ApiError` for a change that another page has caused."""
    check_site(request)
    given = request.headers.get(TOKEN_HEADER, "")
    if not compare_digest(given.encode(), token.encode()):
        raise ApiError(
            HTTPStatus.FORBIDDEN,
            f"the header {TOKEN_HEADER} is missing or of an earlier console",
            "Reload the page; scripts get the token from GET /api/session.",
        )
