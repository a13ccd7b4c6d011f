"""PLAIN (RFC 4616): one message, `[authorization id] NUL user NUL password`.

Encrypts nothing, so it belongs on a listener with TLS.
"""

import hmac
from collections.abc import Mapping
from hashlib import sha256

from barnabas.security.sasl.exchange import SaslError

MECHANISM = "PLAIN"

_INVALID = "invalid user or password"


class PlainServer:
    """Checks against passwords that are known as they are."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.user: str | None = None
        self.claimed: str | None = None
        self.expires_ms: int | None = None
        self.is_by_token = False
        self.credential: object = None

    def step(self, message: bytes) -> bytes:
        try:
            authorization_id, user, password = message.decode().split("\0")
        except ValueError as error:
            raise SaslError("the PLAIN message is malformed") from error
        if not user or not password:
            raise SaslError("the PLAIN message has no user or no password")
        self.claimed = user
        if authorization_id not in ("", user):
            raise SaslError("the authorization id differs from the user")
        expected = self._passwords.get(user)
        # An unknown user is compared as well, and digests have one length: the time says nothing.
        matches = hmac.compare_digest(_digest(password), _digest(expected or ""))
        if expected is None or not matches:
            raise SaslError(_INVALID)
        self.user = user
        return b""


class PlainClient:
    def __init__(self, user: str, password: str) -> None:
        self._user = user
        self._password = password
        self.is_complete = False

    def first(self) -> bytes:
        if "\0" in self._user or "\0" in self._password:
            raise SaslError("a user or password with a NUL character can't be sent by PLAIN")
        return f"\0{self._user}\0{self._password}".encode()

    def step(self, challenge: bytes) -> None:
        if challenge:
            raise SaslError("the broker answered PLAIN with a challenge")
        self.is_complete = True


def _digest(text: str) -> bytes:
    return sha256(text.encode()).digest()
