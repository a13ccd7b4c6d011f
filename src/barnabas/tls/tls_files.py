"""Where the certificate, its key, the trusted certificates and the revoked ones are.

In files, or given as text.
"""

from dataclasses import dataclass, field
from pathlib import Path

VERSIONS = ("TLSv1.2", "TLSv1.3")


class TlsError(ValueError):
    """Certificates or keys that can't be used; the message names the file and what to do."""


@dataclass(frozen=True, slots=True)
class Pem:
    """A PEM file, or its text."""

    setting: str
    """The setting that gives it, for errors."""
    path: str | None = None
    text: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """What one side of a connection shows and trusts.

    `certificate` is a chain, the own certificate first. Without `key` the key is in the same file.
    """

    certificate: Pem | None = None
    key: Pem | None = None
    key_password: str | None = field(default=None, repr=False)
    trusted: Pem | None = None
    """Certificates of CAs."""
    versions: tuple[str, ...] = VERSIONS
    revoked: Pem | None = None
    """Certificate revocation lists (CRLs) of these CAs; None: nothing is checked."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, to notice when one is replaced."""
        given = (self.certificate, self.key, self.trusted, self.revoked)
        return tuple(each.path for each in given if each is not None and each.path is not None)

    def fingerprint(self) -> tuple[tuple[int, int, int], ...]:
        """Changes when a file is replaced, also by a link to another one."""
        return tuple(map(_stat, self.paths))


def _stat(path: str) -> tuple[int, int, int]:
    try:
        found = Path(path).stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
