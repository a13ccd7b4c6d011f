"""Where a node is reached."""

from typing import NamedTuple

_WILDCARDS = ("", "0.0.0.0", "::", "*")  # noqa: S104 - recognised here, not bound by default


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    @property
    def is_wildcard(self) -> bool:
        """Whether it stands for all addresses of a machine."""
        return self.host in _WILDCARDS

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Endpoint(NamedTuple):
    """The address of a listener, with the listener's name."""

    name: str
    host: str
    port: int
