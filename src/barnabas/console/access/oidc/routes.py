"""The two addresses of a sign-in: to the provider, and back with a code."""

import logging
from functools import partial
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from barnabas.client.users.failed_sign_ins import TooManyFailuresError
from barnabas.console.access.oidc.attempts import Attempt, Attempts
from barnabas.console.access.oidc.http import ProviderError, ProviderUnusableError
from barnabas.console.access.oidc.options import OidcOptions
from barnabas.console.access.oidc.provider import Provider
from barnabas.console.access.oidc.user_token import UserToken
from barnabas.console.access.sessions import Sessions, set_session_cookie
from barnabas.console.access.tokens import is_https
from barnabas.console.outside import OutsideCalls
from barnabas.errors import BarnabasError, SignInFailed

_log = logging.getLogger(__name__)
BEGIN, BACK = "/sign-in/oidc", "/sign-in/oidc/back"
_BROWSER = "barnabas_oidc"
_COOKIE_S = 600
_MAX_CODE = 4_096
_AT_ONCE = 4


class OidcRoutes:
    """Problems are words that the page explains: what a provider says is not shown."""

    def __init__(self, options: OidcOptions, sessions: Sessions) -> None:
        self._provider = Provider(options)
        self._sessions = sessions
        self._attempts = Attempts()
        self._calls = OutsideCalls(_AT_ONCE)

    async def begin(self, request: Request) -> Response:
        attempt = self._attempts.begin(_address(request))
        try:
            url = await self._calls.run(
                partial(self._provider.authorization_url, attempt, _redirect_uri(request))
            )
        except ProviderError as error:
            return _problem("provider", error)
        response = RedirectResponse(url, 302)
        response.set_cookie(
            _BROWSER,
            attempt.browser,
            max_age=_COOKIE_S,
            path=BEGIN,
            httponly=True,
            samesite="lax",  # the provider sends the browser back
            secure=is_https(request),
        )
        return response

    async def back(self, request: Request) -> Response:
        given = request.query_params
        attempt = self._attempts.take(given.get("state", ""), request.cookies.get(_BROWSER, ""))
        if attempt is None:
            return _problem("expired")
        code = given.get("code", "")
        if "error" in given or not code or len(code) > _MAX_CODE:
            return _problem("refused", given.get("error", "")[:200])
        try:
            with self._sessions.failed.attempt(None, _address(request)):
                key = await self._sign_in(code, attempt, _redirect_uri(request))
        except TooManyFailuresError as error:
            return _problem("wait", error)
        except _WrongTokenError as error:
            return _problem("token", error)
        except SignInFailed as error:
            return _problem("cluster", error)
        except ProviderUnusableError as error:
            return _problem("provider", error)
        except BarnabasError as error:
            return _problem("unreachable", error)
        response = RedirectResponse("/", 302)
        response.delete_cookie(_BROWSER, path=BEGIN)
        set_session_cookie(response, request, key)
        return response

    async def _sign_in(self, code: str, attempt: Attempt, redirect_uri: str) -> str:
        """The key of the session. Raises `SignInFailed`, which counts as a failed attempt."""
        try:
            user, tokens = await self._calls.run(
                partial(self._provider.tokens, code, attempt, redirect_uri)
            )
        except ProviderUnusableError:
            raise
        except ProviderError as error:
            raise _WrongTokenError(str(error)) from None
        return await self._sessions.sign_in_by_token(user, UserToken(self._provider, tokens))


class _WrongTokenError(SignInFailed):
    """The provider has refused the code, or its token is not for this sign-in."""


def _address(request: Request) -> str:
    return "" if request.client is None else request.client.host


def _problem(word: str, detail: object = "") -> Response:
    if detail:
        _log.warning("sign-in by OIDC failed: %s", str(detail).encode("unicode_escape").decode())
    return RedirectResponse(f"/sign-in?problem={quote(word)}", 302)


def _redirect_uri(request: Request) -> str:
    """The Host header is one of the console's names: others are refused before."""
    scheme = "https" if is_https(request) else "http"
    return f"{scheme}://{request.headers['host']}{BACK}"
