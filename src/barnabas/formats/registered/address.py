"""Where a registry is, in a form that reaches other processes."""

from typing import NamedTuple


class RegistryAddress(NamedTuple):
    """What `Registry` takes to connect. The URL may contain user and password."""

    url: str
    certificates: str | None = None
    timeout_s: float = 10.0
