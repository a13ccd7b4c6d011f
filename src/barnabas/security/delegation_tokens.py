"""What a client signs in with that has a delegation token: its id as the user, its HMAC as the
password, by SCRAM.

    HMAC     = HMAC-SHA512(delegation.token.secret.key, token id)
    password = base64(HMAC)

So every node that knows the secret can check every token, and nothing of it is stored.
"""

import hmac
from base64 import b64encode

from barnabas.metadata.scram_image import ScramCredential
from barnabas.security.sasl.scram_credential import (
    MIN_ITERATIONS,
    SALT_BYTES,
    ScramMechanism,
    credential_of_salted_password,
    salted_password,
)

TOKEN_SHAPE = (MIN_ITERATIONS, SALT_BYTES)
"""Iterations and salt bytes of every token. More iterations would be no safer: the password is not
one that can be guessed."""


def token_hmac(secret: str, token_id: str) -> bytes:
    return hmac.digest(secret.encode(), token_id.encode(), "sha512")


def token_password(token_hmac: bytes) -> str:
    """In the form in which clients are given it."""
    return b64encode(token_hmac).decode()


def token_credential(mechanism: ScramMechanism, password: str, salt: bytes) -> ScramCredential:
    """Takes milliseconds: keep it."""
    iterations = TOKEN_SHAPE[0]
    salted = salted_password(mechanism, password, salt, iterations)
    return credential_of_salted_password(mechanism, salt, salted, iterations)
