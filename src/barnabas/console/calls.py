"""Answers the calls of the API: session, token, arguments, audit, and then the call itself."""

import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from barnabas import __version__
from barnabas.client.users.user_security import PASSWORD_MECHANISMS
from barnabas.console.access.audit import Audit
from barnabas.console.access.sessions import COOKIE, Session, Sessions, set_session_cookie
from barnabas.console.access.tokens import check_site, check_token
from barnabas.console.answers import ApiError, error_response, json_response
from barnabas.console.endpoint import Call, Endpoint
from barnabas.console.messages.masking import Masks
from barnabas.console.messages.view import View
from barnabas.console.options import ConsoleOptions
from barnabas.console.schemas.decoding import Schemas
from barnabas.errors import BarnabasError, SignInFailed

_log = logging.getLogger(__name__)
_MAX_BODY = 20 * 1024 * 1024
_MAX_SIGN_IN = 4 * 1024

Answer = Callable[[Request], Awaitable[Response]]


class Calls:
    """All that is asked below /api."""

    def __init__(self, options: ConsoleOptions, sessions: Sessions) -> None:
        self._options = options
        self._sessions = sessions
        masks = Masks(options.masks)
        self._audit = Audit(options, masks)
        self._view = View(masks, Schemas(options.registry_url))

    async def close(self) -> None:
        await self._audit.close()

    def answer(self, endpoint: Endpoint) -> Answer:
        """The function that answers a call."""

        async def respond(request: Request) -> Response:
            try:
                value = await self._call(endpoint, request)
            except (ApiError, BarnabasError) as error:
                return error_response(error)
            return value if isinstance(value, Response) else json_response(value)

        return respond

    async def _call(self, endpoint: Endpoint, request: Request) -> Any:
        check_site(request)
        session = self._session(request)
        try:
            return await self._called(endpoint, request, session)
        except SignInFailed:
            await self._sessions.end(session)
            raise

    async def _called(self, endpoint: Endpoint, request: Request, session: Session) -> Any:
        if endpoint.changes:
            check_token(request, session.token)
        given = {**request.query_params, **request.path_params}
        arguments = endpoint.arguments(given, await _body(endpoint, request))
        is_change = endpoint.changes and arguments.get("execute", True)
        if is_change and self._options.read_only:
            raise ApiError(
                HTTPStatus.FORBIDDEN,
                "this console is read-only",
                "Start another one without --read-only to make changes.",
            )
        if is_change:
            self._audit.check(arguments)
        await session.cluster.ready()
        call = Call(self._options, session.cluster, arguments, self._view)
        if not is_change:
            return await endpoint.handler(call)
        return await self._change(endpoint, session, call)

    async def _change(self, endpoint: Endpoint, session: Session, call: Call) -> Any:
        who = (session.user, endpoint, dict(call.arguments))
        await self._audit.record(*who, "asked")
        try:
            value = await endpoint.handler(call)
        except (ApiError, BarnabasError) as error:
            with suppress(ApiError, BarnabasError):  # the failure itself matters more
                await self._audit.record(*who, f"failed: {error}")
            raise
        _log.info("%s by %s", endpoint.operation, session.user or "the console's user")
        await self._audit.record(*who, "done")
        return value

    def _session(self, request: Request) -> Session:
        session = self._sessions.find(request)
        if session is None:
            raise ApiError(HTTPStatus.UNAUTHORIZED, "this browser is not signed in", "Sign in.")
        return session

    # -- sessions ------------------------------------------------------------------------------

    async def get_session(self, request: Request) -> Response:
        session = self._sessions.find(request)
        return json_response(self._describe(session))

    async def sign_in(self, request: Request) -> Response:
        try:
            check_site(request)
            body = _object(await _read(request, _MAX_SIGN_IN))
            if not self._options.passwords:
                raise ApiError(HTTPStatus.BAD_REQUEST, "this console has no sign-in by password")
            user, password = body.get("user"), body.get("password")
            mechanism = body.get("mechanism") or None
            if not isinstance(user, str) or not isinstance(password, str) or not user:
                raise ApiError(HTTPStatus.BAD_REQUEST, "user and password have to be given")
            if mechanism not in (None, *PASSWORD_MECHANISMS):
                raise ApiError(
                    HTTPStatus.BAD_REQUEST, f"mechanism: use {', '.join(PASSWORD_MECHANISMS)}"
                )
            address = "" if request.client is None else request.client.host
            key, session = await self._sessions.sign_in(user, password, mechanism, address)
        except (ApiError, BarnabasError) as error:
            return error_response(error)
        response = json_response(self._describe(session))
        set_session_cookie(response, request, key)
        return response

    async def sign_out(self, request: Request) -> Response:
        try:
            check_token(request, self._session(request).token)
        except ApiError as error:
            return error_response(error)
        await self._sessions.sign_out(request)
        response = json_response(self._describe(None))
        response.delete_cookie(COOKIE)
        return response

    def _describe(self, session: Session | None) -> dict[str, Any]:
        options = self._options
        return {
            "version": __version__,
            "bootstrap": options.bootstrap if session is not None else None,
            "sign_in": options.sign_in,
            "passwords": options.passwords,
            "oidc": options.oidc and options.oidc.name,
            "mechanisms": PASSWORD_MECHANISMS,
            "signed_in": session is not None,
            "user": session and session.user,
            "token": session and session.token,
            "read_only": options.read_only,
            "connect": options.connect_url is not None,
            "registry": options.registry_url is not None,
            "pipelines": options.pipelines is not None,
            "audit": options.audit_topic is not None,
        }


async def _body(endpoint: Endpoint, request: Request) -> dict[str, Any]:
    if not endpoint.body:
        return {}
    return _object(await _read(request))


async def _read(request: Request, most: int = _MAX_BODY) -> bytes:
    """The body; raises `ApiError` for one that is too large, or no JSON by its own words."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ApiError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send JSON, as application/json")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise ApiError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is larger than {most} bytes"
            )
        parts.append(part)
    return b"".join(parts)


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise ApiError(HTTPStatus.BAD_REQUEST, "the body is not JSON") from None
    if not isinstance(value, dict):
        raise ApiError(HTTPStatus.BAD_REQUEST, "the body has to be a JSON object")
    return value
