"""As whom a client signs in, and by which mechanism."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from barnabas.client.connect.security_settings import SecuritySettings
from barnabas.errors import InvalidArgument
from barnabas.security.sasl import oauthbearer, plain
from barnabas.security.sasl.exchange import ClientExchange, SaslError
from barnabas.security.sasl.jaas import parse_jaas
from barnabas.security.sasl.oauthbearer import OauthClient
from barnabas.security.sasl.plain import PlainClient
from barnabas.security.sasl.scram_client import ScramClient
from barnabas.security.sasl.scram_credential import ScramMechanism

_MECHANISMS = (plain.MECHANISM, *(each.label for each in ScramMechanism), oauthbearer.MECHANISM)
_NONCE_BYTES = 24


@dataclass(frozen=True, slots=True)
class SaslLogin:
    mechanism: str
    user: str = ""
    password: str = field(default="", repr=False)
    token: Callable[[], str] | None = field(default=None, repr=False)
    """Called for every sign-in by OAUTHBEARER, instead of user and password."""
    is_token: bool = False
    """Whether user and password are the id and the HMAC of a delegation token."""

    @classmethod
    def of(cls, security: SecuritySettings) -> "SaslLogin | None":
        """None if the client does not sign in. Raises `InvalidArgument`."""
        if not security.protocol.has_sasl:
            return None
        needed = f"security.protocol={security.protocol.name} needs"
        mechanism = (security.sasl_mechanism or "").upper()
        if mechanism not in _MECHANISMS:
            given = f", not {mechanism}" if mechanism else ""
            raise InvalidArgument(
                f"{needed} sasl.mechanism: one of {', '.join(_MECHANISMS)}{given}"
            )
        if mechanism == oauthbearer.MECHANISM:
            return cls(mechanism, token=_token(security))
        user, password, is_token = _credentials(security)
        if not user or not password:
            raise InvalidArgument(
                f"{needed} sasl.username and sasl.password, or both in sasl.jaas.config"
            )
        if is_token and ScramMechanism.named(mechanism) is None:
            raise InvalidArgument(
                f"a delegation token signs in with SCRAM-SHA-256 or SCRAM-SHA-512, not {mechanism}"
            )
        return cls(mechanism, user, password, is_token=is_token)

    def __str__(self) -> str:
        if self.is_token:
            return f"delegation token {self.user!r}"
        return "the token" if self.token is not None else f"user {self.user!r}"

    def exchange(self) -> ClientExchange:
        """For one sign-in; it may take a while to get a token. Raises `SaslError`."""
        if self.token is not None:
            return OauthClient(self.token())
        kind = ScramMechanism.named(self.mechanism)
        if kind is None:
            return PlainClient(self.user, self.password)
        nonce = secrets.token_hex(_NONCE_BYTES)
        return ScramClient(kind, self.user, self.password, nonce, is_token=self.is_token)


def _credentials(security: SecuritySettings) -> tuple[str | None, str | None, bool]:
    """User, password, and whether they are those of a delegation token."""
    if security.sasl_jaas_config is None:
        return security.sasl_username, security.sasl_password, security.sasl_token_auth
    if security.sasl_username is not None or security.sasl_password is not None:
        raise InvalidArgument("sasl.jaas.config and sasl.username cannot be combined")
    options = _jaas_options(security)
    is_token = options.get("tokenauth", "").lower() == "true" or security.sasl_token_auth
    return options.get("username"), options.get("password"), is_token


def _jaas_options(security: SecuritySettings) -> dict[str, str]:
    if security.sasl_jaas_config is None:
        return {}
    try:
        return parse_jaas(security.sasl_jaas_config).options
    except ValueError as error:
        raise InvalidArgument(f"sasl.jaas.config: {error}") from None


def _token(security: SecuritySettings) -> Callable[[], str]:
    given = security.sasl_token
    if (given is None) == (security.sasl_token_url is None):
        raise InvalidArgument(
            "sasl.mechanism=OAUTHBEARER needs sasl.oauthbearer.token, a token or a function that "
            "returns one, or sasl.oauthbearer.token.endpoint.url, file:///PATH or https://..."
        )
    if given is not None:
        return given if callable(given) else partial(str, given)
    assert security.sasl_token_url is not None
    url = urlsplit(security.sasl_token_url)
    if url.scheme == "file":
        return partial(_read_token, Path(unquote(url.path)))
    return _token_endpoint(security, security.sasl_token_url)


def _token_endpoint(security: SecuritySettings, url: str) -> Callable[[], str]:
    # Imported here: a client for HTTP is a sixth of what importing a Kafka client costs.
    from barnabas.client.connect.token_endpoint import ClientCredentials, TokenEndpoint

    options = _jaas_options(security)
    client_id = security.sasl_client_id or options.get("clientId")
    client_secret = security.sasl_client_secret or options.get("clientSecret")
    if not client_id or not client_secret:
        raise InvalidArgument(
            "sasl.oauthbearer.token.endpoint.url needs "
            "sasl.oauthbearer.client.credentials.client.id and .secret"
        )
    scope = security.sasl_scope or options.get("scope")
    credentials = ClientCredentials(
        url, client_id, client_secret, scope, security.https_ca_location
    )
    try:
        return TokenEndpoint(credentials)
    except ValueError as error:
        raise InvalidArgument(f"sasl.oauthbearer.token.endpoint.url: {error}") from None


def _read_token(path: Path) -> str:
    """Raises `SaslError`."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise SaslError(f"can't read it from {path}: {reason}") from None
