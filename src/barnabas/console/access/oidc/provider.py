"""The provider: its endpoints and keys; codes and refresh tokens to tokens."""

import base64
import json
import time
from base64 import b64encode
from dataclasses import dataclass, field
from hmac import compare_digest
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode

from barnabas.console.access.oidc.attempts import Attempt
from barnabas.console.access.oidc.http import ProviderError, ProviderUnusableError, ask
from barnabas.console.access.oidc.options import OidcOptions
from barnabas.security.sasl.jwt_tokens import TokenRules, UnknownKeyError, signed_token
from barnabas.security.sasl.oauthbearer import TokenError

_KEPT_S = 3600.0
_FAILED_S = 5.0
"""For so long a failure is remembered: browsers that wait do not each ask again."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a user has got."""

    for_cluster: str = field(repr=False)
    expires_s: float
    """By the clock of `time.time`."""
    refresh: str | None = field(default=None, repr=False)


class Provider:
    """Blocking: it is asked in threads."""

    def __init__(self, options: OidcOptions) -> None:
        self._options = options
        self._found: dict[str, Any] = {}
        self._found_at = float("-inf")
        self._failed: tuple[float, ProviderError] | None = None
        self._discovery = Lock()
        self._keys: Any = None

    def authorization_url(self, attempt: Attempt, redirect_uri: str) -> str:
        """Where to send the browser. Raises `ProviderError`."""
        query = {
            "response_type": "code",
            "client_id": self._options.client_id,
            "redirect_uri": redirect_uri,
            "scope": self._options.scopes,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        endpoint = self._endpoint("authorization_endpoint")
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    def tokens(self, code: str, attempt: Attempt, redirect_uri: str) -> tuple[str, Tokens]:
        """The user, and the tokens for a code. Raises `ProviderError`."""
        answer = self._token_request(
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": redirect_uri,
                "code_verifier": attempt.verifier,
            }
        )
        id_token = _text(answer, "id_token")
        user = self._check(id_token, attempt.nonce)
        return user, self._made(answer, id_token)

    def renew(self, refresh: str) -> Tokens:
        """Raises `ProviderError`."""
        answer = self._token_request({"grant_type": "refresh_token", "refresh_token": refresh})
        tokens = self._made(answer, answer.get("id_token"))
        return tokens if tokens.refresh is not None else Tokens(*_parts(tokens), refresh)

    def _made(self, answer: dict[str, Any], id_token: Any) -> Tokens:
        chosen = id_token if self._options.token == "id" else answer.get("access_token")  # noqa: S105
        if not isinstance(chosen, str) or not chosen:
            raise ProviderError(f"the answer has no {self._options.token}_token")
        refresh = answer.get("refresh_token")
        lifetime = answer.get("expires_in")
        claims = claims_of(chosen)
        expires = claims.get("exp")
        if not isinstance(expires, int | float) or isinstance(expires, bool):
            expires = time.time() + (float(lifetime) if isinstance(lifetime, int | float) else 0.0)
        return Tokens(chosen, float(expires), refresh if isinstance(refresh, str) else None)

    def _check(self, id_token: str, nonce: str) -> str:
        """The user of an ID token that is for this console and this sign-in."""
        mine = self._options
        rules = TokenRules(
            issuer=mine.issuer, audiences=(mine.client_id,), user_claim=mine.user_claim
        )
        try:
            accepted = signed_token(id_token, self._known_keys(), rules, time.time())
        except UnknownKeyError:  # keys are changed now and then
            try:
                keys = self._known_keys(again=True)
                accepted = signed_token(id_token, keys, rules, time.time())
            except TokenError as error:
                raise ProviderError(str(error)) from None
        except TokenError as error:
            raise ProviderError(str(error)) from None
        claims = claims_of(id_token)
        if not compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise ProviderError("the token is of another sign-in (nonce)")
        authorized = claims.get("azp")
        audience = claims.get("aud")
        if isinstance(audience, list) and len(audience) > 1 and authorized is None:
            raise ProviderError("the token is for several audiences and does not say for whom")
        if authorized not in (None, mine.client_id):
            raise ProviderError("the token was issued to another client (azp)")
        return accepted.user

    def _token_request(self, form: dict[str, str]) -> dict[str, Any]:
        mine = self._options
        endpoint = self._endpoint("token_endpoint")
        if mine.client_secret is None:
            return ask(endpoint, {**form, "client_id": mine.client_id})
        offered = self._configuration().get("token_endpoint_auth_methods_supported")
        if offered and "client_secret_basic" not in offered and "client_secret_post" in offered:
            secret = {"client_id": mine.client_id, "client_secret": mine.client_secret}
            return ask(endpoint, {**form, **secret})
        pair = f"{quote(mine.client_id, safe='')}:{quote(mine.client_secret, safe='')}"
        return ask(endpoint, form, f"Basic {b64encode(pair.encode()).decode()}")

    def _endpoint(self, name: str) -> str:
        return _text(self._configuration(), name)

    def _configuration(self) -> dict[str, Any]:
        with self._discovery:  # one asks, and the others get the same answer
            now = time.monotonic()
            if now - self._found_at <= _KEPT_S:
                return self._found
            if self._failed is None or now - self._failed[0] > _FAILED_S:
                try:
                    self._found, self._failed = self._discovered(), None
                    self._found_at, self._keys = now, None
                    return self._found
                except ProviderError as error:
                    self._failed = time.monotonic(), error
            if self._found:  # an old one is better than none
                return self._found
            raise type(self._failed[1])(str(self._failed[1]))

    def _discovered(self) -> dict[str, Any]:
        url = self._options.issuer.rstrip("/") + "/.well-known/openid-configuration"
        found = ask(url)
        if found.get("issuer") != self._options.issuer:
            raise ProviderUnusableError(
                f"{url} is of the issuer {str(found.get('issuer'))[:200]!r}; give exactly that "
                "one as --oidc-issuer"
            )
        return found

    def _known_keys(self, *, again: bool = False) -> Any:
        import jwt

        if self._keys is None or again:
            url = self._endpoint("jwks_uri")
            try:
                self._keys = jwt.PyJWKSet.from_dict(ask(url))
            except jwt.PyJWTError as error:
                raise ProviderUnusableError(f"{url} has no keys: {error}") from None
        return self._keys


def _parts(tokens: Tokens) -> tuple[str, float]:
    return tokens.for_cluster, tokens.expires_s


def _text(answer: dict[str, Any], name: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str) or not value:
        raise ProviderError(f"the provider's answer has no {name}")
    return value


def claims_of(token: str) -> dict[str, Any]:
    """What a token says, without a check of its signature; nothing if it is no JWT."""
    try:
        part = token.split(".")[1]
        found = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, LookupError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
