"""OAUTHBEARER (RFC 7628): the client shows a token that somebody else has signed.

    client   n,[a=authorization id],^Aauth=Bearer TOKEN^A[name=value^A]...^A
    server   nothing, or {"status":"invalid_token"}, to which the client answers ^A

^A is the byte 1. Extensions are read and not used.
"""

from collections.abc import Callable
from typing import NamedTuple

from barnabas.security.sasl.exchange import SaslError

MECHANISM = "OAUTHBEARER"

_SEPARATOR = "\x01"
_BEARER = "bearer "
_REFUSAL = b'{"status":"invalid_token"}'


class AcceptedToken(NamedTuple):
    user: str
    expires_ms: int
    """Since 1970."""


class TokenError(ValueError):
    """Why a token is not accepted; the message has nothing of the token."""


class OauthServer:
    def __init__(self, accept: Callable[[str], AcceptedToken]) -> None:
        """`accept` raises `TokenError`."""
        self._accept = accept
        self._refused: TokenError | None = None
        self.user: str | None = None
        self.claimed: str | None = None
        self.expires_ms: int | None = None
        self.is_by_token = False
        self.credential: object = None

    def step(self, message: bytes) -> bytes:
        if self._refused is not None:
            raise SaslError(str(self._refused))
        authorization_id, token = _parse(message)
        try:
            accepted = self._accept(token)
        except TokenError as error:
            self._refused = error
            return _REFUSAL
        if authorization_id not in ("", accepted.user):
            raise SaslError("the authorization id differs from the token's user")
        self.user, self.expires_ms = accepted
        return b""


class OauthClient:
    def __init__(self, token: str) -> None:
        self._token = token
        self.is_complete = False

    def first(self) -> bytes:
        if not self._token or _SEPARATOR in self._token:
            raise SaslError("the token is empty or malformed")
        return f"n,,{_SEPARATOR}auth=Bearer {self._token}{_SEPARATOR}{_SEPARATOR}".encode()

    def step(self, challenge: bytes) -> bytes | None:
        if challenge:
            return _SEPARATOR.encode()  # the broker then says why, in its error message
        self.is_complete = True
        return None


def _parse(message: bytes) -> tuple[str, str]:
    """The authorization id and the token. Raises `SaslError`."""
    try:
        header, *fields, first_end, second_end = message.decode().split(_SEPARATOR)
        flag, authorization, rest = header.split(",")
    except ValueError as error:
        raise SaslError("the OAUTHBEARER message is malformed") from error
    if first_end or second_end or rest or flag not in ("n", "y"):
        raise SaslError("the OAUTHBEARER message is malformed")
    if authorization and not authorization.startswith("a="):
        raise SaslError("the OAUTHBEARER message is malformed")
    pairs = dict(field.partition("=")[::2] for field in fields)
    value = pairs.get("auth", "")
    if not value.lower().startswith(_BEARER):
        raise SaslError("the OAUTHBEARER message has no bearer token")
    return authorization[2:], value[len(_BEARER) :].strip()
