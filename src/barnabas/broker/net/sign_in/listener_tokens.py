"""Which tokens of OAUTHBEARER a listener accepts."""

from dataclasses import dataclass
from importlib.util import find_spec

from barnabas.broker.net.listener import Listener
from barnabas.broker.net.sign_in.jwks import Jwks
from barnabas.broker.settings.component_settings import OauthSettings
from barnabas.broker.settings.config import ConfigError
from barnabas.security.sasl.jaas import parse_jaas
from barnabas.security.sasl.jwt_tokens import (
    TokenRules,
    UnknownKeyError,
    signed_token,
    unsecured_token,
)
from barnabas.security.sasl.oauthbearer import AcceptedToken, TokenError

_JAAS = "oauthbearer.sasl.jaas.config"
_URL = "sasl.oauthbearer.jwks.endpoint.url"
_UNSECURED = "unsecuredValidator"
_REQUIRED_SCOPE = "unsecuredValidatorRequiredScope"
_USER_CLAIM = "unsecuredValidatorPrincipalClaimName"
_SCOPE_CLAIM = "unsecuredValidatorScopeClaimName"
_KNOWN = (_REQUIRED_SCOPE, _USER_CLAIM, _SCOPE_CLAIM)


@dataclass(frozen=True, slots=True)
class ListenerTokens:
    """`jwks_url` is None if tokens are not signed: only if the operator has said so."""

    rules: TokenRules
    jwks_url: str | None
    jwks_refresh_ms: int

    @classmethod
    def of(cls, listener: Listener) -> "ListenerTokens":
        """Raises `ConfigError`."""
        settings = listener.settings(OauthSettings)
        options = _unsecured_options(settings.jaas_config)
        where = f"listener {listener.name} has OAUTHBEARER"
        if settings.jwks_url is None and not options:
            raise ConfigError(f"{where}: set {_URL} to the keys of the issuer of the tokens")
        if settings.jwks_url is not None and options:
            raise ConfigError(f"{where}: {_URL} and {_UNSECURED}... cannot be combined")
        if settings.jwks_url is not None and not (settings.issuer and settings.audience):
            raise ConfigError(
                f"{where}: set sasl.oauthbearer.expected.issuer and "
                "sasl.oauthbearer.expected.audience, so that tokens for others are not accepted"
            )
        if settings.jwks_url is not None and find_spec("jwt") is None:
            raise ConfigError(f"{where}, which needs PyJWT: pip install 'barnabas[oauth]'")
        rules = TokenRules(
            settings.issuer or None,
            tuple(settings.audience.split(",")) if settings.audience else (),
            options.get(_USER_CLAIM, settings.user_claim),
            options.get(_SCOPE_CLAIM, settings.scope_claim),
            tuple(options.get(_REQUIRED_SCOPE, "").split()),
            settings.clock_skew_s,
        )
        return cls(rules, settings.jwks_url, settings.jwks_refresh_ms)

    def accept(self, token: str, jwks: Jwks | None, now_s: float) -> AcceptedToken:
        """Raises `TokenError`."""
        if jwks is None:
            return unsecured_token(token, self.rules, now_s)
        if jwks.keys is None:
            raise TokenError("this node has no keys to check tokens with")
        try:
            return signed_token(token, jwks.keys, self.rules, now_s)
        except UnknownKeyError:
            jwks.doubt()
            raise


def _unsecured_options(jaas: str | None) -> dict[str, str]:
    """Options that allow tokens which nobody has signed."""
    if jaas is None:
        return {}
    try:
        options = parse_jaas(jaas).options
    except ValueError as error:
        raise ConfigError(f"{_JAAS}: {error}") from None
    found = {name: value for name, value in options.items() if name.startswith(_UNSECURED)}
    for name in found:
        if name not in _KNOWN:
            raise ConfigError(f"{_JAAS}: {name} is not supported, only {', '.join(_KNOWN)}")
    return found
