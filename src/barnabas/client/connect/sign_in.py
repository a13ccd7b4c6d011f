"""Signing in on a connection, and again before the session ends."""

import asyncio
import random

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.sasl_login import SaslLogin
from barnabas.errors import BarnabasError, SignInFailed
from barnabas.security.sasl.exchange import ClientExchange, SaslError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest

_AGAIN_AFTER = (0.85, 0.95)
"""The part of a session after which the client signs in again; each connection at another time."""


async def sign_in(connection: BrokerConnection, login: SaslLogin, timeout_ms: int) -> None:
    """Sign in, and keep it so as long as the connection is open. Raises `SignInFailed`."""
    lifetime_ms = await _session(connection, login, timeout_ms)
    if lifetime_ms > 0:
        again = asyncio.create_task(_sign_in_again(connection, login, timeout_ms, lifetime_ms))
        connection.on_lost(again.cancel)


async def _sign_in_again(
    connection: BrokerConnection, login: SaslLogin, timeout_ms: int, lifetime_ms: int
) -> None:
    while lifetime_ms > 0:
        await asyncio.sleep(lifetime_ms / 1000 * random.uniform(*_AGAIN_AFTER))  # noqa: S311
        # If it fails, the connection is closed, by the broker or here. The next one fails as well,
        # where somebody waits for it.
        is_done = False
        # A request before it, such as a join, may take long to be answered.
        patience_ms = max(timeout_ms, int(lifetime_ms * (1 - _AGAIN_AFTER[1])))
        try:
            lifetime_ms = await _session(connection, login, patience_ms)
            is_done = True
        except BarnabasError:
            return
        finally:
            if not is_done:
                connection.abandon("the client could not sign in again")


async def _session(connection: BrokerConnection, login: SaslLogin, timeout_ms: int) -> int:
    """Begin a session; how long it lasts, in milliseconds, or 0 if it does not end."""
    exchange = await _new_exchange(login)
    async with connection.alone():
        return await _converse(connection, login, exchange, timeout_ms)


async def _converse(
    connection: BrokerConnection, login: SaslLogin, exchange: ClientExchange, timeout_ms: int
) -> int:
    mechanism = login.mechanism
    shaken = await connection.send(
        SaslHandshakeRequest(mechanism), timeout_ms=timeout_ms, is_sign_in=True
    )
    if shaken.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(shaken.mechanisms)
        raise _failed(login, f"the broker offers {offered}; set sasl.mechanism to one of them")
    if shaken.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        raise _failed(
            login, "this listener does not use SASL; set security.protocol to PLAINTEXT or SSL"
        )
    if shaken.error_code:
        raise _failed(login, f"error {shaken.error_code}")
    try:
        message: bytes | None = exchange.first()
        while True:
            assert message is not None
            answer = await connection.send(
                SaslAuthenticateRequest(message), timeout_ms=timeout_ms, is_sign_in=True
            )
            if answer.error_code:
                raise _failed(login, answer.error_message or f"error {answer.error_code}")
            message = exchange.step(bytes(answer.auth_bytes))
            if exchange.is_complete:
                return answer.session_lifetime_ms
    except SaslError as error:
        raise _failed(login, str(error)) from error


async def _new_exchange(login: SaslLogin) -> ClientExchange:
    try:
        if login.token is None:
            return login.exchange()
        return await asyncio.to_thread(login.exchange)  # it may ask a server for a token
    except SaslError as error:
        raise _failed(login, str(error)) from error


def _failed(login: SaslLogin, reason: str) -> SignInFailed:
    return SignInFailed(f"{login} cannot sign in with {login.mechanism}: {reason}")
