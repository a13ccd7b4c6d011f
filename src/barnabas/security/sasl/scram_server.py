"""SCRAM, the side that authenticates: it learns that the client knows the password, not what it is.

An exchange with an unknown user goes on to its end, with a credential that nothing fits
(`unknown_users`): it takes the same time and fails with the same message as a wrong password.
"""

import hmac
from collections.abc import Callable
from typing import NamedTuple

from barnabas.metadata.scram_image import ScramCredential
from barnabas.security.sasl.exchange import SaslError
from barnabas.security.sasl.scram_credential import ScramMechanism, hash_of
from barnabas.security.sasl.scram_messages import (
    ClientFirst,
    ServerFirst,
    parse_client_final,
    parse_client_first,
    server_final,
)

_INVALID = "invalid user or password"


class TokenLogin(NamedTuple):
    """What a delegation token signs in as."""

    owner: str | None
    """None if there is no such token; nothing fits its credential."""
    expires_ms: int
    credential: ScramCredential


class ScramServer:
    def __init__(
        self,
        mechanism: ScramMechanism,
        credential_of: Callable[[str], ScramCredential],
        nonce: str,
        token_of: Callable[[str], TokenLogin],
    ) -> None:
        """`credential_of` has a credential for every name, also for those of no user; `token_of`
        for every id of a delegation token."""
        self._mechanism = mechanism
        self._credential_of = credential_of
        self._nonce = nonce
        self._token_of = token_of
        self._token: TokenLogin | None = None
        self._begun: tuple[ClientFirst, ServerFirst, ScramCredential] | None = None
        self._is_over = False
        self.user: str | None = None
        self.claimed: str | None = None
        self.expires_ms: int | None = None
        self.is_by_token = False
        self.credential: object = None

    def step(self, message: bytes) -> bytes:
        if self._is_over:
            raise SaslError("the SCRAM exchange is over")
        if self._begun is None:
            return self._begin(message)
        self._is_over = True
        return self._finish(message, *self._begun)

    def _begin(self, message: bytes) -> bytes:
        first = parse_client_first(message)
        self.claimed = first.user
        if first.is_token:
            self._token = self._token_of(first.user)
            credential = self._token.credential
        else:
            credential = self._credential_of(first.user)
        answer = ServerFirst(first.nonce + self._nonce, credential.salt, credential.iterations)
        self._begun = first, answer, credential
        return str(answer).encode()

    def _finish(
        self, message: bytes, first: ClientFirst, sent: ServerFirst, credential: ScramCredential
    ) -> bytes:
        final = parse_client_final(message)
        if final.channel_binding != first.header:
            raise SaslError("the SCRAM messages differ in their channel binding")
        # librdkafka before 2.6.1 repeats its own nonce in front of the one that it was sent. That
        # has all of the nonce too, so nothing can be replayed.
        if final.nonce not in (sent.nonce, first.nonce + sent.nonce):
            raise SaslError("the SCRAM message has the nonce of another exchange")
        mechanism = self._mechanism
        signed = f"{first.bare},{sent},{final.without_proof}".encode()
        signature = hmac.digest(credential.stored_key, signed, mechanism.digest)
        client_key = xor(final.proof, signature)
        if not hmac.compare_digest(hash_of(mechanism, client_key), credential.stored_key):
            raise SaslError(_INVALID)
        if self._token is None:
            self.user = first.user
            self.credential = credential
        elif self._token.owner is None:
            raise SaslError(_INVALID)
        else:
            self.user, self.expires_ms = self._token.owner, self._token.expires_ms
            self.is_by_token = True
        return server_final(hmac.digest(credential.server_key, signed, mechanism.digest))


def xor(left: bytes, right: bytes) -> bytes:
    """Of equal lengths; otherwise an empty result, which is no key of anybody."""
    if len(left) != len(right):
        return b""
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
