"""What is kept of a password for SCRAM (RFC 5802, RFC 7677), and how it is derived from it.

    SaltedPassword = PBKDF2-HMAC(password, salt, iterations)
    ClientKey      = HMAC(SaltedPassword, "Client Key")
    StoredKey      = H(ClientKey)
    ServerKey      = HMAC(SaltedPassword, "Server Key")

The server keeps salt, iterations, StoredKey and ServerKey. From these nobody can sign in, but
passwords can be guessed, so they are secrets. Passwords are UTF-8 without SASLprep, as in Kafka.
"""

import hashlib
import hmac
from enum import IntEnum

from barnabas.metadata.scram_image import ScramCredential

MIN_ITERATIONS = 4096
MAX_ITERATIONS = 16_384
DEFAULT_ITERATIONS = MAX_ITERATIONS
"""Of every user that we make: SCRAM shows the iterations of a user to strangers, so a user with
other ones stands out. Only clients do this work, 15 ms for each sign-in."""
SALT_BYTES = 32


class ScramMechanism(IntEnum):
    """The numbers are those of the protocol and of the metadata log."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def label(self) -> str:
        return self.name.replace("_", "-")

    @property
    def digest(self) -> str:
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"

    @property
    def key_bytes(self) -> int:
        return 32 if self is ScramMechanism.SCRAM_SHA_256 else 64

    @classmethod
    def named(cls, label: str) -> "ScramMechanism | None":
        """The mechanism with this name, such as SCRAM-SHA-256."""
        return next((each for each in cls if each.label == label), None)


def credential_of_salted_password(
    mechanism: ScramMechanism, salt: bytes, salted_password: bytes, iterations: int
) -> ScramCredential:
    client_key = hmac.digest(salted_password, b"Client Key", mechanism.digest)
    server_key = hmac.digest(salted_password, b"Server Key", mechanism.digest)
    return ScramCredential(salt, hash_of(mechanism, client_key), server_key, iterations)


def salted_password(
    mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
) -> bytes:
    """Takes milliseconds on purpose."""
    return hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)


def hash_of(mechanism: ScramMechanism, data: bytes) -> bytes:
    return hashlib.new(mechanism.digest, data).digest()
