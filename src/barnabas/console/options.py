"""What a console serves, and what it allows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.client.connect.security_settings import SecurityValue
from barnabas.client.users.user_security import (
    MECHANISM_NAMES,
    PASSWORD_MECHANISMS,
    password_mechanism,
)
from barnabas.console.access.oidc.options import OidcOptions
from barnabas.console.messages.masking import MaskRule
from barnabas.errors import InvalidArgument
from barnabas.web.loopback import is_loopback

DEFAULT_PORT = 8080
_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class ConsoleOptions:
    """All of it. Raises `InvalidArgument` for a console that would be open to everybody."""

    bootstrap: str
    security: Mapping[str, SecurityValue] = field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    read_only: bool = False
    sign_in: bool = False
    """Whether each user signs in as a user of the cluster."""
    passwords: bool = True
    """Whether that may be by a password."""
    oidc: OidcOptions | None = None
    public_hosts: tuple[str, ...] = ()
    """Other names under which browsers reach it, say of a proxy."""
    certificate: Path | None = None
    key: Path | None = None
    insecure_http: bool = False
    """Whether a proxy encrypts: HTTP is spoken on another address than localhost."""
    masks: tuple[MaskRule, ...] = ()
    audit_topic: str | None = None
    connect_url: str | None = None
    registry_url: str | None = None
    """A schema registry; user and password may be in it."""
    pipelines: Path | None = None

    def __post_init__(self) -> None:
        if not self.is_local and not self.sign_in:
            raise InvalidArgument(
                f"--listen {self.host}: on another address than localhost, users have to sign in; "
                "add --sign-in or --oidc-issuer, or listen on localhost and use a tunnel (ssh -L)"
            )
        if not self.is_local and self.certificate is None and not self.insecure_http:
            raise InvalidArgument(
                f"--listen {self.host}: passwords would cross the network unencrypted; add "
                "--certificate and --key, or --insecure-http if a proxy in front of it does TLS"
            )
        if (self.certificate is None) != (self.key is None):
            raise InvalidArgument("give --certificate together with --key")
        if self.sign_in and self.passwords and self.mechanism not in PASSWORD_MECHANISMS:
            raise InvalidArgument(
                f"--sign-in: users can't sign in with a password by sasl.mechanism="
                f"{self.mechanism}; use {', '.join(PASSWORD_MECHANISMS)} in the configuration"
            )

        if self.audit_topic is not None and self.sign_in and not self._has_credentials:
            raise InvalidArgument(
                "--audit-topic: the console writes it as itself, so that users can't; add "
                "sasl.username and sasl.password of a user that may write the topic to the "
                "configuration (--command-config)"
            )

    @property
    def _has_credentials(self) -> bool:
        """Whether the console itself can sign in where its users do."""
        return any(
            name.startswith("sasl.") and name not in MECHANISM_NAMES for name in self.security
        )

    @property
    def mechanism(self) -> str:
        """By which users sign in, unless they choose another one."""
        return password_mechanism(self.security)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The names that a request may ask for; any other is a page that has rebound its name."""
        return frozenset(each.lower() for each in (*_LOCAL_NAMES, self.host, *self.public_hosts))

    @property
    def scheme(self) -> str:
        return "http" if self.certificate is None else "https"


def parse_listen(text: str) -> tuple[str, int]:
    """HOST:PORT, HOST or :PORT. Raises `InvalidArgument`."""
    host, separator, port = text.rpartition(":")
    if not separator or text.endswith("]"):
        host, port = text, str(DEFAULT_PORT)
    if not port.isdecimal() or int(port) > 65535:
        raise InvalidArgument(f"--listen {text}: expected HOST:PORT, as localhost:{DEFAULT_PORT}")
    return host.strip("[]") or "127.0.0.1", int(port)
