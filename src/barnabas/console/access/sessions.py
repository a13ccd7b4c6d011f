"""Users that are signed in, each with its own connections: the cluster's access rules decide.

Without sign-in there is one session for all, with the console's own settings.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from secrets import token_urlsafe
from time import monotonic

from starlette.requests import Request
from starlette.responses import Response

from barnabas.client.connect.security_settings import SecurityValue
from barnabas.console.access.failed_sign_ins import FailedSignIns
from barnabas.console.access.tokens import is_https, new_token
from barnabas.console.answers import ApiError
from barnabas.console.options import ConsoleOptions
from barnabas.console.user_cluster import UserCluster

COOKIE = "barnabas_console"
IDLE_S = 8 * 3600
_MAX_SESSIONS = 200
_UPKEEP_S = 60.0
_PROTOCOL = "security.protocol"
_OWN = ("sasl.", "https.")
"""Settings by which the console signs in itself: no user may get a part of them."""


@dataclass(slots=True)
class Session:
    """One user in one browser; `user` is None where there is no sign-in."""

    user: str | None
    cluster: UserCluster
    token: str = field(default_factory=new_token)
    used_at: float = field(default_factory=monotonic)

    @property
    def is_idle(self) -> bool:
        """Whether it was not used for so long that it is over."""
        return monotonic() - self.used_at > IDLE_S


class Sessions:
    """All of them."""

    def __init__(self, options: ConsoleOptions) -> None:
        self._options = options
        self._by_key: dict[str, Session] = {}
        self.failed = FailedSignIns()
        """By passwords, and at a provider."""
        self._upkeep: asyncio.Task[None] | None = None
        self._shared: Session | None = None

    def open(self) -> None:
        """Begin to watch, where there is one session for all, or to end sessions that are idle."""
        if self._options.sign_in:
            self._upkeep = asyncio.ensure_future(self._end_idle_ones())
        else:
            cluster = UserCluster(self._options.bootstrap, self._options.security)
            cluster.watch.start()
            self._shared = Session(None, cluster)

    async def close(self) -> None:
        if self._upkeep is not None:
            self._upkeep.cancel()
        shared = [] if self._shared is None else [self._shared]
        for each in [*self._by_key.values(), *shared]:
            await each.cluster.close()

    def find(self, request: Request) -> Session | None:
        """The session of a request, if it has one."""
        if self._shared is not None:
            return self._shared
        found = self._by_key.get(request.cookies.get(COOKIE, ""))
        if found is None or found.is_idle:
            return None
        found.used_at = monotonic()
        return found

    async def sign_in(
        self, user: str, password: str, mechanism: str | None, address: str
    ) -> tuple[str, Session]:
        """A key for the cookie, and the session. Raises `SignInFailed`, or `ApiError` too early."""
        if self._shared is not None:
            raise ApiError(HTTPStatus.BAD_REQUEST, "this console has no sign-in")
        security = user_security(self._options, user, password, mechanism)
        with self.failed.attempt(user, address):
            cluster = await self._connect(security)
        key = await self._add(user, cluster)
        return key, self._by_key[key]

    async def sign_in_by_token(self, user: str, token: Callable[[], str]) -> str:
        """A key for the cookie. The cluster says whether it takes the token: `SignInFailed`."""
        cluster = await self._connect(token_security(self._options, token))
        return await self._add(user, cluster)

    async def _connect(self, security: Mapping[str, SecurityValue]) -> UserCluster:
        cluster = UserCluster(self._options.bootstrap, security)
        try:
            await cluster.client.refresh([])
        except BaseException:  # a browser that goes away cancels
            await cluster.close()
            raise
        return cluster

    async def _add(self, user: str, cluster: UserCluster) -> str:
        await self._end(_MAX_SESSIONS - 1)
        cluster.watch.start()
        key = token_urlsafe(32)
        self._by_key[key] = Session(user, cluster)
        return key

    async def sign_out(self, request: Request) -> None:
        session = self._by_key.pop(request.cookies.get(COOKIE, ""), None)
        if session is not None:
            await session.cluster.close()

    async def _end_idle_ones(self) -> None:
        while True:
            await asyncio.sleep(_UPKEEP_S)
            await self._end(_MAX_SESSIONS)

    async def _end(self, most: int) -> None:
        """End sessions that are idle, and the oldest if there are more than so many."""
        oldest_first = sorted(self._by_key.items(), key=lambda each: each[1].used_at)
        excess = len(oldest_first) - most
        ended = [
            key
            for number, (key, session) in enumerate(oldest_first)
            if session.is_idle or number < excess
        ]
        for session in [self._by_key.pop(key) for key in ended]:
            await session.cluster.close()


def user_security(
    options: ConsoleOptions, user: str, password: str, mechanism: str | None
) -> Mapping[str, SecurityValue]:
    """How to connect on behalf of a user: encrypted as the console, with the user's credentials."""
    return {
        **_encryption(options),
        "sasl.mechanism": mechanism or options.mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


def token_security(
    options: ConsoleOptions, token: Callable[[], str]
) -> Mapping[str, SecurityValue]:
    """The same with a token of the user."""
    return {
        **_encryption(options),
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token": token,
    }


def _encryption(options: ConsoleOptions) -> dict[str, SecurityValue]:
    settings = {
        name: value for name, value in options.security.items() if not name.startswith(_OWN)
    }
    encrypted = "SSL" in str(settings.get(_PROTOCOL, "")).upper()
    return {**settings, _PROTOCOL: "SASL_SSL" if encrypted else "SASL_PLAINTEXT"}


def set_session_cookie(response: Response, request: Request, key: str) -> None:
    """Let the browser keep the key of its session, away from scripts and other sites."""
    response.set_cookie(
        COOKIE,
        key,
        max_age=IDLE_S,
        httponly=True,
        samesite="strict",
        secure=is_https(request),
    )
