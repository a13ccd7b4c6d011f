"""What clients with delegation tokens sign in as.

The credential of a token is derived when it first signs in, which takes milliseconds, and kept for
as long as the token is known.
"""

from collections.abc import Callable

from barnabas.broker.settings.config import BrokerConfig
from barnabas.metadata.delegation_tokens_image import DelegationTokensImage
from barnabas.metadata.scram_image import ScramCredential
from barnabas.security.delegation_tokens import (
    TOKEN_SHAPE,
    token_credential,
    token_hmac,
    token_password,
)
from barnabas.security.principal import Principal
from barnabas.security.sasl.scram_credential import ScramMechanism
from barnabas.security.sasl.scram_server import TokenLogin
from barnabas.security.sasl.unknown_users import credential_of

_MAX_KEPT = 10_000


class DelegationTokenLogins:
    def __init__(
        self,
        config: BrokerConfig,
        tokens: DelegationTokensImage,
        now_ms: Callable[[], int],
        unknown_key: Callable[[], bytes],
    ) -> None:
        """`now_ms` is the wall clock, `unknown_key` a secret that all nodes share."""
        self._config = config
        self._tokens = tokens
        self._now_ms = now_ms
        self._unknown_key = unknown_key
        self._kept: dict[tuple[ScramMechanism, str], ScramCredential] = {}

    def login(self, mechanism: ScramMechanism, token_id: str) -> TokenLogin:
        """For every id; for one that is not known or has expired, one that nothing fits."""
        unknown = credential_of(mechanism, {}, self._unknown_key(), (TOKEN_SHAPE,))(token_id)
        secret = self._config.tokens.secret_key
        token = self._tokens.by_id.get(token_id)
        if not secret or token is None or token.is_expired(self._now_ms()):
            return TokenLogin(None, 0, unknown)
        expires_ms = min(token.expiry_timestamp_ms, token.max_timestamp_ms)
        credential = self._credential(mechanism, token_id, secret, unknown.salt)
        return TokenLogin(Principal.parse(token.owner).name, expires_ms, credential)

    def _credential(
        self, mechanism: ScramMechanism, token_id: str, secret: str, salt: bytes
    ) -> ScramCredential:
        kept = self._kept.get((mechanism, token_id))
        if kept is None or kept.salt != salt:
            password = token_password(token_hmac(secret, token_id))
            kept = token_credential(mechanism, password, salt)
            if len(self._kept) >= _MAX_KEPT:
                self._forget()
            self._kept[mechanism, token_id] = kept
        return kept

    def _forget(self) -> None:
        """Those that are gone; all, if all are still known."""
        known = self._tokens.by_id
        left = {key: kept for key, kept in self._kept.items() if key[1] in known}
        self._kept = left if len(left) < _MAX_KEPT else {}
