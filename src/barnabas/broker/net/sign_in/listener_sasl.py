"""The mechanisms of a listener, and exchanges for them."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from barnabas.broker.net.listener import Listener
from barnabas.broker.net.sign_in.delegation_token_logins import DelegationTokenLogins
from barnabas.broker.net.sign_in.listener_tokens import ListenerTokens
from barnabas.broker.settings.component_settings import SaslSettings
from barnabas.broker.settings.config import ConfigError
from barnabas.metadata.scram_image import ScramImage
from barnabas.security.sasl import oauthbearer, plain
from barnabas.security.sasl.exchange import ServerExchange
from barnabas.security.sasl.jaas import parse_jaas
from barnabas.security.sasl.oauthbearer import AcceptedToken, OauthServer
from barnabas.security.sasl.plain import PlainServer
from barnabas.security.sasl.scram_credential import ScramMechanism
from barnabas.security.sasl.scram_server import ScramServer
from barnabas.security.sasl.unknown_users import credential_of

logger = logging.getLogger(__name__)

_ENABLED = "sasl.enabled.mechanisms"
_PLAIN_USERS = "plain.sasl.jaas.config"


@dataclass(frozen=True, slots=True)
class ListenerSasl:
    """How clients sign in on one listener."""

    mechanisms: tuple[str, ...]
    max_receive_bytes: int
    max_reauth_ms: int
    plain_users: Mapping[str, str] = field(repr=False)
    """Passwords by user."""
    tokens: ListenerTokens | None
    """None without OAUTHBEARER."""

    @classmethod
    def of(cls, listener: Listener) -> "ListenerSasl":
        """Raises `ConfigError`."""
        settings = listener.settings(SaslSettings)
        mechanisms = tuple(settings.enabled_mechanisms.split(","))
        return cls(
            mechanisms,
            settings.max_receive_bytes,
            settings.max_reauth_ms,
            _plain_users(listener.name, mechanisms, settings.plain_jaas_config),
            ListenerTokens.of(listener) if oauthbearer.MECHANISM in mechanisms else None,
        )

    def exchange(
        self,
        mechanism: str,
        scram: ScramImage,
        unknown_key: bytes,
        nonce: str,
        accept_token: Callable[[str], AcceptedToken],
        delegation_tokens: DelegationTokenLogins,
    ) -> ServerExchange:
        """A new exchange; the mechanism is one of this listener's."""
        kind = ScramMechanism.named(mechanism)
        if kind is None:
            if mechanism == oauthbearer.MECHANISM:
                return OauthServer(accept_token)
            return PlainServer(self.plain_users)
        users, shapes = scram.of_mechanism(kind), scram.shapes(kind)
        known = credential_of(kind, users, unknown_key, shapes)
        return ScramServer(kind, known, nonce, partial(delegation_tokens.login, kind))


def check_sasl(listeners: Iterable[Listener]) -> None:
    """Refuse wrong settings at the start, not at the first sign-in. Raises `ConfigError`."""
    for listener in listeners:
        if not listener.protocol.has_sasl:
            continue
        tokens = ListenerSasl.of(listener).tokens
        if tokens is not None and tokens.jwks_url is None:
            logger.warning(
                "listener %s accepts tokens without a signature: anyone can sign in as any user",
                listener.name,
            )


def _plain_users(name: str, mechanisms: tuple[str, ...], jaas: str | None) -> dict[str, str]:
    if plain.MECHANISM not in mechanisms:
        return {}
    prefixed = f"listener.name.{name.lower()}.{_PLAIN_USERS}"
    if jaas is None:
        raise ConfigError(
            f"{_ENABLED} of listener {name} has PLAIN, and {prefixed} is not set; name its users "
            'there: PlainLoginModule required user_alice="PASSWORD";'
        )
    try:
        entry = parse_jaas(jaas)
    except ValueError as error:
        raise ConfigError(f"{prefixed}: {error}") from None
    if not entry.users:
        raise ConfigError(f'{prefixed} has no users; add them as user_alice="PASSWORD"')
    return entry.users
