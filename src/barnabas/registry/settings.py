"""What an instance of the registry is started with."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from barnabas.client.users.user_security import PASSWORD_MECHANISMS, password_mechanism
from barnabas.errors import InvalidArgument
from barnabas.web.loopback import is_loopback

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
    sign_in: bool = False
    """Whether callers sign in as users of the cluster."""
    requests_per_second: float | None = None
    """How many each user may send to this instance, or each address without a sign-in."""
    max_body_bytes: int = 4 << 20

    def check(self, *, insecure_http: bool) -> None:
        """Raises `InvalidArgument` for a sign-in that can't be, or that shows passwords."""
        if not self.sign_in:
            return
        protocol = str(self.security.get("security.protocol", "PLAINTEXT")).upper()
        if not protocol.startswith("SASL_"):
            raise InvalidArgument(
                f"--sign-in: users sign in with SASL, but the registry itself connects with "
                f"security.protocol={protocol}; give --command-config FILE with its own user, and "
                "security.protocol=SASL_SSL or SASL_PLAINTEXT"
            )
        mechanism = password_mechanism(self.security)
        if mechanism not in PASSWORD_MECHANISMS:
            raise InvalidArgument(
                f"--sign-in: users can't sign in with a password by sasl.mechanism={mechanism}; "
                f"use {', '.join(PASSWORD_MECHANISMS)}"
            )
        if self.certificate is None and not insecure_http and not is_loopback(self.host):
            raise InvalidArgument(
                f"--listen {self.host}: passwords would cross the network unencrypted; add "
                "--certificate and --key, or --insecure-http if a proxy in front of it does TLS"
            )

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
