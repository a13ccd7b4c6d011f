"""SCRAM, the side that signs in; it also learns that the broker knows the user."""

import hmac

from barnabas.security.sasl.exchange import SaslError
from barnabas.security.sasl.scram_credential import (
    MIN_ITERATIONS,
    ScramMechanism,
    hash_of,
    salted_password,
)
from barnabas.security.sasl.scram_messages import (
    client_final_without_proof,
    client_first,
    parse_server_final,
    parse_server_first,
    with_proof,
)
from barnabas.security.sasl.scram_server import xor

_MOST_ITERATIONS = 1_000_000
"""A broker that asks for more wants to keep this process busy."""


class ScramClient:
    def __init__(
        self,
        mechanism: ScramMechanism,
        user: str,
        password: str,
        nonce: str,
        *,
        is_token: bool = False,
    ) -> None:
        """With `is_token`, the user is the id of a delegation token, and the password its HMAC."""
        self._mechanism = mechanism
        self._password = password
        self._first = client_first(user, nonce, is_token=is_token)
        self._expected: bytes | None = None
        self.is_complete = False

    def first(self) -> bytes:
        return f"{self._first.header}{self._first.bare}".encode()

    def step(self, challenge: bytes) -> bytes | None:
        if self.is_complete:
            raise SaslError("the SCRAM exchange is over")
        if self._expected is None:
            return self._prove(challenge)
        if not hmac.compare_digest(parse_server_final(challenge), self._expected):
            raise SaslError("the broker could not prove that it knows the user")
        self.is_complete = True
        return None

    def _prove(self, challenge: bytes) -> bytes:
        mechanism, first = self._mechanism, self._first
        asked = parse_server_first(challenge)
        if not asked.nonce.startswith(first.nonce) or asked.nonce == first.nonce:
            raise SaslError("the broker answered with the nonce of another exchange")
        if not MIN_ITERATIONS <= asked.iterations <= _MOST_ITERATIONS:
            raise SaslError(
                f"the broker asks for {asked.iterations} iterations; {MIN_ITERATIONS} to "
                f"{_MOST_ITERATIONS} are accepted"
            )
        salted = salted_password(mechanism, self._password, asked.salt, asked.iterations)
        client_key = hmac.digest(salted, b"Client Key", mechanism.digest)
        server_key = hmac.digest(salted, b"Server Key", mechanism.digest)
        without_proof = client_final_without_proof(first.header, asked.nonce)
        signed = f"{first.bare},{challenge.decode()},{without_proof}".encode()
        self._expected = hmac.digest(server_key, signed, mechanism.digest)
        signature = hmac.digest(hash_of(mechanism, client_key), signed, mechanism.digest)
        return with_proof(without_proof, xor(client_key, signature))
