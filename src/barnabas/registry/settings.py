"""What an instance of the registry is started with."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from barnabas.errors import InvalidArgument

DEFAULT_PORT = 8081
DEFAULT_TOPIC = "_schemas"


@dataclass(frozen=True)
class RegistrySettings:
    """One instance."""

    bootstrap: str
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    topic: str = DEFAULT_TOPIC
    """Where the state is; instances with the same topic are one registry."""
    advertised: str | None = None
    """The URL under which other instances reach this one."""
    instances: tuple[str, ...] = ()
    """URLs of all instances, to which writes may be forwarded."""
    public_hosts: tuple[str, ...] = ()
    """Other names under which clients reach it."""
    replication_factor: int | None = None
    certificate: Path | None = None
    key: Path | None = None
    security: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Encryption and sign-in by Kafka's names of settings."""
    max_body_bytes: int = 4 << 20

    @property
    def scheme(self) -> str:
        return "http" if self.certificate is None else "https"

    def tls(self) -> ssl.SSLContext | None:
        """What HTTPS is served with. Raises `InvalidArgument`."""
        if self.certificate is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise InvalidArgument(f"--certificate {self.certificate}: {error}") from error
        return context

    @property
    def transactional_id(self) -> str:
        """The one that all instances write with, so that the latest writer fences the others."""
        return f"schema-registry-{self.topic}"

    @property
    def known_hosts(self) -> frozenset[str]:
        """The names that a request may ask for."""
        urls = (*self.instances, *([] if self.advertised is None else [self.advertised]))
        named = (urlsplit(each).hostname or "" for each in urls)
        return frozenset((self.host, *self.public_hosts, *named))
