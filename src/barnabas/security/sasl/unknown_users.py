"""Credentials of users that do not exist.

SCRAM shows salt and iterations to all who name a user. So a name that is not a user's gets some
as well: always the same, on every node, and of a shape that users have. Nothing fits them.

If users have several shapes, names that are not users' have them as well, each shape equally often:
a shape that few users have then says little about the name that has it.
"""

import hmac
from collections.abc import Callable, Collection, Mapping

from barnabas.metadata.scram_image import ScramCredential
from barnabas.security.sasl.scram_credential import (
    DEFAULT_ITERATIONS,
    SALT_BYTES,
    ScramMechanism,
)

_DEFAULT_SHAPE = (DEFAULT_ITERATIONS, SALT_BYTES)


def credential_of(
    mechanism: ScramMechanism,
    users: Mapping[str, ScramCredential],
    key: bytes,
    shapes: Collection[tuple[int, int]] = (),
) -> Callable[[str], ScramCredential]:
    """A credential for every name; `shapes` has the iterations and salt bytes of those made up.

    `key` is a secret that all nodes share.
    """

    def found(user: str) -> ScramCredential:
        # Always, so that the time says nothing.
        shape = _shape(mechanism, user, key, shapes)
        made_up = _made_up(mechanism, user, key, shape)
        return users.get(user, made_up)

    return found


def _shape(
    mechanism: ScramMechanism, user: str, key: bytes, shapes: Collection[tuple[int, int]]
) -> tuple[int, int]:
    """One of the shapes. Another user changes it for a name at most if its shape is new."""

    def rank(shape: tuple[int, int]) -> bytes:
        label = f"shape\0{shape[0]}\0{shape[1]}\0{mechanism.label}\0{user}"
        return hmac.digest(key, label.encode(), "sha256")

    return max(shapes or (_DEFAULT_SHAPE,), key=rank)


def _made_up(
    mechanism: ScramMechanism, user: str, key: bytes, shape: tuple[int, int]
) -> ScramCredential:
    iterations, salt_bytes = shape
    label = f"{mechanism.label}\0{user}".encode()

    def derived(role: bytes, size: int) -> bytes:
        made = b""
        while len(made) < size:
            made += hmac.digest(key, role + made[-64:] + b"\0" + label, "sha512")
        return made[:size]

    return ScramCredential(
        derived(b"salt", salt_bytes),
        derived(b"stored key", mechanism.key_bytes),
        derived(b"server key", mechanism.key_bytes),
        iterations,
    )
