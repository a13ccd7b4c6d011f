"""Sign-ins of a node: handshake, steps, failures, sessions that end.

A failed sign-in is answered late, so that guessing takes time, and closes the connection. When a
session of limited length (`connections.max.reauth.ms`) has ended, the next request closes the
connection, unless it is one to sign in again: with the same mechanism and as the same user. Java's
clients sign in again when they have something to send, however late.
"""

import hmac
from asyncio import AbstractEventLoop, Future
from collections.abc import Awaitable
from functools import partial
from random import Random
from typing import Any, TypeVar

from barnabas.broker.net.connection import Connection
from barnabas.broker.net.listener import Listener
from barnabas.broker.net.node_credentials import NodeCredentials
from barnabas.broker.net.sign_in.delegation_token_logins import DelegationTokenLogins
from barnabas.broker.net.sign_in.failures import FailedSignIns
from barnabas.broker.net.sign_in.jwks import Jwks
from barnabas.broker.net.sign_in.listener_sasl import ListenerSasl
from barnabas.broker.net.sign_in.listener_tokens import ListenerTokens
from barnabas.broker.net.sign_in.state import SignIn
from barnabas.broker.net.sign_in.withdrawn_credentials import is_current
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.metadata.image import MetadataImage
from barnabas.security.principal import USER, Principal
from barnabas.security.sasl import oauthbearer
from barnabas.security.sasl.exchange import SaslError
from barnabas.security.sasl.oauthbearer import AcceptedToken
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from barnabas.wire.messages.sasl_handshake import SaslHandshakeResponse

_NONCE_BYTES = 24

ResponseT = TypeVar("ResponseT")


class SignIns:
    def __init__(
        self,
        loop: AbstractEventLoop,
        random: Random,
        config: BrokerConfig,
        image: MetadataImage,
        credentials: NodeCredentials,
        clock: Clock,
    ) -> None:
        self._loop = loop
        self._random = random
        self._config = config
        self._image = image
        self._credentials = credentials
        self._clock = clock
        self._jwks: dict[str, Jwks] = {}
        """Keys by the URL from which they come."""
        self._sasl: dict[Listener, ListenerSasl] = {}
        """Settings of listeners, read at the first sign-in after they have changed."""
        self._delegation_tokens = DelegationTokenLogins(
            config, image.delegation_tokens, clock.now_ms, self._unknown_key
        )
        self.failures = FailedSignIns(loop.time)

    def new(self, listener: Listener) -> SignIn:
        """The sign-in of a new connection."""
        return SignIn(self._sasl_of(listener).max_receive_bytes)

    def reconfigure(self) -> None:
        """Settings have changed."""
        self._sasl.clear()

    def _sasl_of(self, listener: Listener) -> ListenerSasl:
        sasl = self._sasl.get(listener)
        if sasl is None:
            sasl = self._sasl[listener] = ListenerSasl.of(listener)
        return sasl

    # -- the exchange ------------------------------------------------------------------------------

    def handshake(
        self, connection: Connection, sign_in: SignIn, mechanism: str, *, is_raw: bool
    ) -> "SaslHandshakeResponse | Future[SaslHandshakeResponse]":
        """The client chooses a mechanism."""
        sasl = self._sasl_of(connection.listener)
        if sign_in.exchange is not None or (sign_in.is_complete and sign_in.expiry is None):
            response = SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE, list(sasl.mechanisms))
            return self._refuse(connection, sign_in, "a handshake out of order", response)
        if mechanism not in sasl.mechanisms:
            response = SaslHandshakeResponse(
                ErrorCode.UNSUPPORTED_SASL_MECHANISM, list(sasl.mechanisms)
            )
            sign_in.mechanism = sign_in.mechanism or mechanism
            return self._refuse(connection, sign_in, "the mechanism is not enabled", response)
        if sign_in.is_complete and mechanism != sign_in.mechanism:
            response = SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE, list(sasl.mechanisms))
            return self._refuse(connection, sign_in, "the mechanism has changed", response)
        sign_in.mechanism = mechanism
        sign_in.is_raw = is_raw
        jwks = self._jwks_of(sasl.tokens) if mechanism == oauthbearer.MECHANISM else None
        sign_in.exchange = sasl.exchange(
            mechanism,
            self._image.scram,
            self._unknown_key(),
            self._random.randbytes(_NONCE_BYTES).hex(),
            partial(self._accept_token, sasl.tokens, jwks),
            self._delegation_tokens,
        )
        response = SaslHandshakeResponse(mechanisms=list(sasl.mechanisms))
        refresh_ms = 0 if sasl.tokens is None else sasl.tokens.jwks_refresh_ms
        wait = None if jwks is None else jwks.renew(refresh_ms)
        return response if wait is None else self._loop.create_task(_after(wait, response))

    def _jwks_of(self, tokens: ListenerTokens | None) -> Jwks | None:
        url = None if tokens is None else tokens.jwks_url
        if url is None:
            return None
        if url not in self._jwks:
            self._jwks[url] = Jwks(self._loop, url)
        return self._jwks[url]

    def _accept_token(
        self, tokens: ListenerTokens | None, jwks: Jwks | None, token: str
    ) -> AcceptedToken:
        assert tokens is not None
        return tokens.accept(token, jwks, self._clock.now_ms() / 1000)

    def authenticate(
        self, connection: Connection, sign_in: SignIn, message: bytes
    ) -> "SaslAuthenticateResponse | Future[SaslAuthenticateResponse]":
        """One step of the exchange."""
        if sign_in.exchange is None:
            illegal = SaslAuthenticateResponse(
                ErrorCode.ILLEGAL_SASL_STATE, "SaslHandshake has to come first"
            )
            return self._refuse(connection, sign_in, "a message before the handshake", illegal)
        try:
            answer, lifetime_ms = self._step(connection, sign_in, message)
        except SaslError as error:
            reason = f"Authentication failed with SASL mechanism {sign_in.mechanism}: {error}"
            failed = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, reason)
            return self._refuse(connection, sign_in, str(error), failed)
        return SaslAuthenticateResponse(
            error_message=None, auth_bytes=answer, session_lifetime_ms=lifetime_ms
        )

    def raw_step(self, connection: Connection, sign_in: SignIn, message: bytes) -> bytes | None:
        """One step without headers; None if it failed, which has no other answer than the end."""
        try:
            return self._step(connection, sign_in, message)[0]
        except SaslError as error:
            self._say_failed(connection, sign_in, str(error))
            connection.stop_accepting_requests()
            self._loop.call_later(self._delay_s(), connection.close)
            return None

    def _step(self, connection: Connection, sign_in: SignIn, message: bytes) -> tuple[bytes, int]:
        """The answer, and the lifetime of the session if it begins; raises `SaslError`."""
        exchange = sign_in.exchange
        assert exchange is not None
        answer = exchange.step(message)
        if exchange.user is None:
            return answer, 0
        if sign_in.is_complete and exchange.user != sign_in.user:
            raise SaslError("another user than before")
        sign_in.user = exchange.user
        sign_in.token_id = exchange.claimed if exchange.is_by_token else None
        sign_in.credential = exchange.credential
        if not is_current(self._image, sign_in):
            raise SaslError("the password was changed, or the user removed, during the sign-in")
        sign_in.exchange = None
        sign_in.is_raw = False
        sign_in.is_complete = True
        sign_in.is_expired = False
        connection.principal = Principal(USER, exchange.user)
        return answer, self._begin_session(connection, sign_in, exchange.expires_ms)

    # -- sessions ----------------------------------------------------------------------------------

    def _begin_session(
        self, connection: Connection, sign_in: SignIn, expires_ms: int | None
    ) -> int:
        """How long it lasts, in milliseconds; 0 if it does not end."""
        if sign_in.expiry is not None:
            sign_in.expiry.cancel()
            sign_in.expiry = None
        lifetime_ms = self._sasl_of(connection.listener).max_reauth_ms
        if expires_ms is not None:
            # A token may be accepted for a moment after it has expired (the clock skew).
            left_ms = max(1000, expires_ms - self._clock.now_ms())
            lifetime_ms = min(lifetime_ms, left_ms) if lifetime_ms > 0 else left_ms
        if lifetime_ms > 0:
            sign_in.expiry = self._loop.call_later(lifetime_ms / 1000, connection.end_session)
        return lifetime_ms

    # -- failures ----------------------------------------------------------------------------------

    def _refuse(
        self, connection: Connection, sign_in: SignIn, reason: str, response: ResponseT
    ) -> "Future[ResponseT]":
        """The response, after a while; then the connection is closed."""
        self._say_failed(connection, sign_in, reason)
        return self.answer_late(connection, response)

    def answer_late(self, connection: Connection, response: ResponseT) -> "Future[ResponseT]":
        """Answer a failed sign-in, or a failed proof of a node, after a while, and close."""
        connection.finish()
        answer: Future[ResponseT] = self._loop.create_future()
        self._loop.call_later(self._delay_s(), _set_result, answer, response)
        return answer

    def _say_failed(self, connection: Connection, sign_in: SignIn, reason: str) -> None:
        exchange, sign_in.exchange = sign_in.exchange, None
        self.failures.say(
            connection.client_host,
            connection.listener.name,
            sign_in.mechanism,
            None if exchange is None else exchange.claimed,
            reason,
        )

    def _delay_s(self) -> float:
        return self._config.connections.failed_authentication_delay_ms / 1000

    def refuse_unsigned(self, connection: Connection, api_key: int) -> None:
        """Close a connection whose client sends requests and has not signed in."""
        sign_in = connection.sign_in
        has_ended = sign_in is not None and sign_in.is_expired
        reason = f"a request of API {api_key} " + (
            "after the session has ended" if has_ended else "before signing in"
        )
        self.failures.say(
            connection.client_host,
            connection.listener.name,
            sign_in.mechanism if sign_in is not None else None,
            sign_in.user if sign_in is not None else None,
            reason,
        )
        connection.finish()

    def _unknown_key(self) -> bytes:
        """A key that all nodes share."""
        credentials = self._credentials.current()
        key = b"" if credentials is None else credentials.key
        return hmac.digest(key, b"users that do not exist", "sha256")


async def _after(wait: Awaitable[None], response: ResponseT) -> ResponseT:
    await wait
    return response


def _set_result(answer: "Future[Any]", response: object) -> None:
    if not answer.done():
        answer.set_result(response)
