"""Where a node is reached."""

from enum import IntEnum
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


class SecurityProtocol(IntEnum):
    """How a listener encrypts its connections and authenticates clients, with Kafka's codes."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def has_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class Endpoint(NamedTuple):
    """The address of a listener, with the listener's name and protocol.

    Records of voters do not carry the protocol: nodes reach each other by the inter-broker
    listener, whose protocol each node knows from its settings.
    """

    name: str
    host: str
    port: int
    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT

    @property
    def address(self) -> Address:
        return Address(self.host, self.port)
