"""Users that are signed in, each with its own connections: the cluster's access rules decide.

Without sign-in there is one session for all, with the console's own settings.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from secrets import token_urlsafe
from time import monotonic

from starlette.requests import Request
from starlette.responses import Response

from barnabas.client.connect.security_settings import SecurityValue
from barnabas.client.users.failed_sign_ins import FailedSignIns
from barnabas.client.users.user_security import encryption_of, user_security
from barnabas.console.access.tokens import is_https, new_token
from barnabas.console.answers import ApiError
from barnabas.console.options import ConsoleOptions
from barnabas.console.user_cluster import UserCluster

COOKIE = "barnabas_console"
IDLE_S = 8 * 3600
LIFETIME_S = 12 * 3600
"""However much it is used: a page that is open asks every few seconds."""
_RECHECK_S = 10.0
"""How often the credentials of a session that is used are tried again: much of what a page shows
was found out before, so the cluster is not asked for it."""
_RECHECK_UNUSED_S = 300.0
_CHECKED_TOGETHER = 8
_MAX_SESSIONS = 200
_MAX_OF_USER = 20
_UPKEEP_S = 5.0


@dataclass(slots=True)
class Session:
    """One user in one browser; `user` is None where there is no sign-in."""

    user: str | None
    cluster: UserCluster
    token: str = field(default_factory=new_token)
    began_at: float = field(default_factory=monotonic)
    used_at: float = field(default_factory=monotonic)
    checked_at: float = field(default_factory=monotonic)

    @property
    def is_over(self) -> bool:
        """Whether it was not used for long, or began long ago."""
        now = monotonic()
        return now - self.used_at > IDLE_S or now - self.began_at > LIFETIME_S

    @property
    def is_due(self) -> bool:
        """Whether its credentials should be tried again."""
        was_used = self.used_at >= self.checked_at
        return monotonic() - self.checked_at >= (_RECHECK_S if was_used else _RECHECK_UNUSED_S)


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
        """Begin to watch, where there is one session for all, or to end sessions that are over."""
        if self._options.sign_in:
            self._upkeep = asyncio.ensure_future(self._keep())
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
        if found is None or found.is_over:
            return None
        found.used_at = monotonic()
        return found

    async def sign_in(
        self, user: str, password: str, mechanism: str | None, address: str
    ) -> tuple[str, Session]:
        """A key for the cookie, and the session. Raises `SignInFailed`, `TooManyFailuresError`."""
        if self._shared is not None:
            raise ApiError(HTTPStatus.BAD_REQUEST, "this console has no sign-in")
        security = user_security(self._options.security, user, password, mechanism)
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
        await self._end([*self._over(), *self._excess(user)])
        cluster.watch.start()
        key = token_urlsafe(32)
        self._by_key[key] = Session(user, cluster)
        return key

    async def sign_out(self, request: Request) -> None:
        session = self._by_key.pop(request.cookies.get(COOKIE, ""), None)
        if session is not None:
            await session.cluster.close()

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(_UPKEEP_S)
            await self._end(self._over())
            await self._end_revoked()

    def _over(self) -> list[str]:
        return [key for key, session in self._by_key.items() if session.is_over]

    def _excess(self, user: str) -> list[str]:
        """What has to end for one more session of this user: their own, the oldest first; if there
        are too many of all users, one of the user that has most."""
        by_user: dict[str | None, list[str]] = {}
        for key, session in sorted(self._by_key.items(), key=lambda each: each[1].used_at):
            if not session.is_over:
                by_user.setdefault(session.user, []).append(key)
        own = by_user.get(user, [])
        if len(own) >= _MAX_OF_USER:
            return own[: len(own) - _MAX_OF_USER + 1]
        if sum(map(len, by_user.values())) >= _MAX_SESSIONS:
            return max(by_user.values(), key=len)[:1]
        return []

    async def end(self, session: Session) -> None:
        """The cluster has refused its credentials."""
        await self._end([key for key, each in self._by_key.items() if each is session])

    async def _end_revoked(self) -> None:
        """End sessions whose credentials the cluster takes no longer, as of a changed password."""
        due = [each for each in self._by_key.values() if each.is_due]
        for first in range(0, len(due), _CHECKED_TOGETHER):
            await asyncio.gather(*map(self._check, due[first : first + _CHECKED_TOGETHER]))

    async def _check(self, session: Session) -> None:
        session.checked_at = monotonic()
        if not await session.cluster.is_signed_in():
            await self.end(session)

    async def _end(self, keys: Iterable[str]) -> None:
        ended = [self._by_key.pop(key) for key in keys if key in self._by_key]
        for session in ended:
            await session.cluster.close()


def token_security(
    options: ConsoleOptions, token: Callable[[], str]
) -> Mapping[str, SecurityValue]:
    """How to connect with a token of the user."""
    return {
        **encryption_of(options.security),
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token": token,
    }


def set_session_cookie(response: Response, request: Request, key: str) -> None:
    """Let the browser keep the key of its session, away from scripts and other sites."""
    response.set_cookie(
        COOKIE,
        key,
        max_age=LIFETIME_S,
        httponly=True,
        samesite="strict",
        secure=is_https(request),
    )
