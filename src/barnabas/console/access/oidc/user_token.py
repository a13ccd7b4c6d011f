"""The token of a signed-in user, renewed before it ends."""

import threading
import time

from barnabas.console.access.oidc.http import ProviderError
from barnabas.console.access.oidc.provider import Provider, Tokens
from barnabas.security.sasl.exchange import SaslError

_EARLY_S = 30.0


class UserToken:
    """Called in a thread for each connection that signs in."""

    def __init__(self, provider: Provider, tokens: Tokens) -> None:
        self._provider = provider
        self._tokens = tokens
        self._lock = threading.Lock()

    def __call__(self) -> str:
        """Raises `SaslError` when the user has to sign in again."""
        with self._lock:
            now = time.time()
            if self._tokens.expires_s - _EARLY_S <= now and self._tokens.refresh is not None:
                try:
                    self._tokens = self._provider.renew(self._tokens.refresh)
                except ProviderError as error:
                    if self._tokens.expires_s <= now:
                        raise SaslError(f"the sign-in has ended: {error}") from None
            if self._tokens.expires_s <= now:
                raise SaslError("the sign-in has ended; sign in again")
            return self._tokens.for_cluster
