"""Tokens of OAUTHBEARER: signed JSON Web Tokens, checked against the keys of their issuer.

Signatures need PyJWT with cryptography (`pip install barnabas[oauth]`). Times are checked here,
against a clock that the caller brings.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.security.sasl.oauthbearer import AcceptedToken, TokenError

_ALGORITHMS = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}
"""By the type of the key. No HS*, whose key would be the public one, and not "none"."""
_MAX_BYTES = 64 * 1024


class UnknownKeyError(TokenError):
    """The token is signed with a key that is not among the known ones; they may be outdated."""


@dataclass(frozen=True, slots=True)
class TokenRules:
    issuer: str | None = None
    audiences: tuple[str, ...] = ()
    """One of them has to be among the token's."""
    user_claim: str = "sub"
    scope_claim: str = "scope"
    required_scopes: tuple[str, ...] = ()
    clock_skew_s: int = 30


def signed_token(token: str, keys: Any, rules: TokenRules, now_s: float) -> AcceptedToken:
    """Check a token against a `jwt.PyJWKSet`. Raises `TokenError`."""
    import jwt

    _check_size(token)
    try:
        header = jwt.get_unverified_header(token)
        algorithm = header.get("alg")
        if not any(algorithm in accepted for accepted in _ALGORITHMS.values()):
            raise TokenError("the token is not signed, or by an algorithm that is not accepted")
        found = _key(keys, header.get("kid"))
        if algorithm not in _ALGORITHMS.get(found.key_type, ()):
            raise TokenError("the token is signed by an algorithm that its key is not made for")
        claims = jwt.decode(
            token,
            found.key,
            algorithms=[algorithm],
            options={
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
                "verify_aud": False,
                "verify_iss": False,
                "verify_sub": False,
            },
        )
    except TokenError:  # a ValueError as well, and it says what is wrong
        raise
    except (jwt.PyJWTError, TypeError, ValueError, RecursionError) as error:
        # The token is a stranger's: whatever PyJWT makes of it, it is not valid.
        raise TokenError(f"the token is not valid: {type(error).__name__}") from None
    return _accepted(claims, rules, now_s)


def unsecured_token(token: str, rules: TokenRules, now_s: float) -> AcceptedToken:
    """Check the claims of a token that nobody has signed. Raises `TokenError`."""
    _check_size(token)
    try:
        header, claims, signature = token.split(".")
        algorithm = _decoded(header).get("alg")
        decoded = _decoded(claims)
    except (ValueError, RecursionError) as error:
        raise TokenError("the token is malformed") from error
    if algorithm != "none" or signature:
        raise TokenError("the token is signed, and here only unsecured ones are accepted")
    return _accepted(decoded, rules, now_s)


def _check_size(token: str) -> None:
    if len(token) > _MAX_BYTES:
        raise TokenError("the token is too large")


def _key(keys: Any, key_id: object) -> Any:
    usable = [each for each in keys.keys if each.public_key_use in (None, "sig")]
    if key_id is None and len(usable) == 1:
        return usable[0]
    for each in usable:
        if key_id is not None and each.key_id == key_id:
            return each
    raise UnknownKeyError("the token is signed with a key that is not known")


def _decoded(part: str) -> dict[str, Any]:
    made = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    if not isinstance(made, dict):
        raise ValueError("not an object")
    return made


def _accepted(claims: Mapping[str, Any], rules: TokenRules, now_s: float) -> AcceptedToken:
    expires_s = _number(claims, "exp")
    if expires_s is None:
        raise TokenError("the token does not say when it expires")
    if expires_s + rules.clock_skew_s <= now_s:
        raise TokenError("the token has expired")
    for name in ("nbf", "iat"):
        begins_s = _number(claims, name)
        if begins_s is not None and begins_s - rules.clock_skew_s > now_s:
            raise TokenError(f"the token is not valid yet ({name})")
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        raise TokenError("the token is of another issuer")
    if rules.audiences and not set(rules.audiences) & set(_texts(claims.get("aud"))):
        raise TokenError("the token is for another audience")
    if not set(rules.required_scopes) <= set(_texts(claims.get(rules.scope_claim))):
        raise TokenError("the token lacks a scope")
    user = claims.get(rules.user_claim)
    if not isinstance(user, str) or not user:
        raise TokenError(f"the token has no {rules.user_claim}")
    return AcceptedToken(user, int(expires_s * 1000))


def _number(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
        raise TokenError(f"{name} of the token is not a time")
    return float(value)


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split()
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
