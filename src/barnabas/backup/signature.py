"""Signatures of points, with a key that stays with the operator and never with the backup.

A point's checksums find damage. They do not find a change by someone who can write to the store and
computes them again, for example to add an access rule. A signature does:

    HMAC-SHA256(key, "barnabas backup point 1\\n" + the point's JSON, as its checksum has it)

It covers the whole point: names, sizes and SHA-256 of all data files, and all metadata. It is
checked for the point as it was decoded, so what is checked is what is restored. It does not show
that later points were deleted: an older signed point stays a signed point.
"""

import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from barnabas.backup.manifest import Point, canonical_json
from barnabas.errors import BarnabasError, InvalidArgument

MIN_KEY_BYTES = 32
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_PURPOSE = b"barnabas backup point 1\n"


class SignatureError(BarnabasError):
    """A point has no signature, or a wrong one, or one that nobody asked to check."""


class SigningKey:
    """A secret that signs points, and checks them."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def signature_of(self, point: Point) -> str:
        """In hexadecimal digits."""
        return hmac.new(self._secret, _PURPOSE + canonical_json(point), "sha256").hexdigest()

    def has_signed(self, point: Point) -> bool:
        signature = (point.signature or "").encode()
        return hmac.compare_digest(signature, self.signature_of(point).encode())

    def check(self, point: Point, name: str) -> None:
        """Raises `SignatureError`."""
        if point.signature is None:
            raise SignatureError(
                f"{name} is not signed, so anyone who can write to the store may have changed it; "
                "use a point that was created with --key-file"
            )
        if not self.has_signed(point):
            raise SignatureError(
                f"the signature of {name} is wrong: it was changed, or signed with another key; "
                "if the key file is the right one, restore another point with --point"
            )


def create_key(path: Path) -> None:
    """Write a new key that only its owner can read. Raises `FileExistsError`."""
    # Text, because a secret's way into a vault and back often changes bytes that are none.
    with os.fdopen(os.open(path, _NEW, 0o600), "w") as file:
        file.write(secrets.token_hex(MIN_KEY_BYTES) + "\n")
        file.flush()
        os.fsync(file.fileno())


def load_key(path: Path) -> SigningKey:
    """Raises `InvalidArgument`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidArgument(f"the key file can't be read: {error}") from error
    # An editor or a vault may add or drop the newline at the end.
    secret = content.rstrip(b"\r\n")
    if len(secret) < MIN_KEY_BYTES:
        raise InvalidArgument(
            f"the key in {path} has {len(secret)} bytes, at least {MIN_KEY_BYTES} are needed; "
            "make one with `barnabas backup keygen FILE`"
        )
    return SigningKey(secret)


def check_before_restore(
    points: Mapping[str, Point], key: SigningKey | None, *, unverified: bool
) -> None:
    """Decide whether points, by name, may be restored; without a key, unsigned ones may.

    A signed point without a key is most likely an option that was forgotten, so it takes an
    explicit `unverified`. Raises `SignatureError`.
    """
    for name, point in points.items():
        if key is not None:
            key.check(point, name)
        elif point.signature is not None and not unverified:
            raise SignatureError(
                f"{name} is signed; check it with --key-file FILE, or restore it without a check "
                "with --unverified"
            )
