"""OAUTHBEARER: its messages, and which tokens are accepted."""

import base64
import json
from typing import Any

import pytest

from barnabas.security.sasl.exchange import SaslError
from barnabas.security.sasl.jwt_tokens import TokenRules, signed_token, unsecured_token
from barnabas.security.sasl.oauthbearer import (
    AcceptedToken,
    OauthClient,
    OauthServer,
    TokenError,
)

NOW_S = 1_800_000_000
RULES = TokenRules("https://issuer", ("kafka",), required_scopes=("read",), clock_skew_s=30)
CLAIMS = {
    "iss": "https://issuer",
    "aud": ["other", "kafka"],
    "sub": "alice",
    "exp": NOW_S + 60,
    "scope": "read write",
}


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def unsecured(claims: object, header: object = {"alg": "none"}) -> str:
    return f"{part(header)}.{part(claims)}."


def accept(token: str) -> AcceptedToken:
    return unsecured_token(token, RULES, NOW_S)


def test_a_token_signs_its_user_in() -> None:
    client, server = OauthClient(unsecured(CLAIMS)), OauthServer(accept)
    assert client.step(server.step(client.first())) is None
    assert client.is_complete
    assert (server.user, server.expires_ms) == ("alice", CLAIMS["exp"] * 1000)


def test_the_client_is_told_why_in_the_end() -> None:
    client, server = OauthClient(unsecured(CLAIMS | {"aud": "x"})), OauthServer(accept)
    answer = client.step(server.step(client.first()))
    assert answer == b"\x01"
    with pytest.raises(SaslError, match="another audience"):
        server.step(answer)
    assert server.user is None


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer x\x01",
        b"p,,\x01auth=Bearer x\x01\x01",
        b"n,bob,\x01auth=Bearer x\x01\x01",
        b"n,,\x01auth=Basic x\x01\x01",
        b"n,,x\x01auth=Bearer x\x01\x01",
        b"\xff",
    ],
)
def test_malformed_messages_are_refused(message: bytes) -> None:
    with pytest.raises(SaslError):
        OauthServer(accept).step(message)


def test_the_authorization_id_is_the_user() -> None:
    token = unsecured(CLAIMS).encode()
    OauthServer(accept).step(b"n,a=alice,\x01auth=Bearer " + token + b"\x01x=y\x01\x01")
    with pytest.raises(SaslError, match="authorization id"):
        OauthServer(accept).step(b"n,a=bob,\x01auth=Bearer " + token + b"\x01\x01")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"exp": NOW_S - 30}, "expired"),
        ({"exp": None}, "when it expires"),
        ({"exp": "soon"}, "not a time"),
        ({"exp": True}, "not a time"),
        ({"exp": 1e300}, "not a time"),
        ({"nbf": NOW_S + 31}, "not valid yet"),
        ({"iat": NOW_S + 31}, "not valid yet"),
        ({"iss": "https://other"}, "another issuer"),
        ({"iss": None}, "another issuer"),
        ({"aud": "other"}, "another audience"),
        ({"aud": {"kafka": 1}}, "another audience"),
        ({"scope": ["write"]}, "lacks a scope"),
        ({"sub": ""}, "no sub"),
        ({"sub": ["alice"]}, "no sub"),
    ],
)
def test_claims_that_are_not_accepted(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(TokenError, match=reason):
        accept(unsecured(CLAIMS | changed))


def test_clocks_may_differ_a_little() -> None:
    assert accept(unsecured(CLAIMS | {"exp": NOW_S - 29, "iat": NOW_S + 30})).user == "alice"


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b",
        "a.b.c",
        "..",
        f"{part([])}.{part({})}.",
        unsecured(CLAIMS, {"alg": "RS256"}),
        unsecured(CLAIMS) + "x",
    ],
)
def test_what_is_no_unsecured_token(token: str) -> None:
    with pytest.raises(TokenError):
        accept(token)


def test_signed_tokens() -> None:
    jwt = pytest.importorskip("jwt")
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    def jwk(algorithm: Any, private: Any, key_id: str, **more: str) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(algorithm.to_jwk(private.public_key()))
        return made | {"kid": key_id} | more

    as_rsa, as_ec = jwt.algorithms.RSAAlgorithm, jwt.algorithms.ECAlgorithm
    curve, own, other = (
        ec.generate_private_key(ec.SECP256R1()),
        *(rsa.generate_private_key(65537, 2048) for _ in range(2)),
    )
    keys = jwt.PyJWKSet.from_dict(
        {
            "keys": [
                jwk(as_rsa, own, "r"),
                jwk(as_ec, curve, "e"),
                jwk(as_rsa, other, "enc", use="enc"),
            ]
        }
    )

    def check(token: str) -> AcceptedToken:
        return signed_token(token, keys, RULES, NOW_S)

    for private, key_id, algorithm in (
        (own, "r", "RS256"),
        (own, "r", "PS512"),
        (curve, "e", "ES256"),
    ):
        token = jwt.encode(CLAIMS, private, algorithm, headers={"kid": key_id})
        assert check(token).user == "alice"
        head, claims, signature = token.split(".")
        forged = part(CLAIMS | {"sub": "root"})
        for wrong in (f"{head}.{forged}.{signature}", f"{head}.{claims}.", f"{head}.{claims}.AAAA"):
            with pytest.raises(TokenError):
                check(wrong)
    for token in (
        jwt.encode(CLAIMS, other, "RS256", headers={"kid": "r"}),
        jwt.encode(CLAIMS, other, "RS256", headers={"kid": "new"}),
        jwt.encode(CLAIMS, other, "RS256", headers={"kid": "enc"}),
        jwt.encode(CLAIMS, own, "RS256"),
        jwt.encode(CLAIMS, curve, "ES256", headers={"kid": "r"}),
        jwt.encode(CLAIMS, own, "PS256", headers={"kid": "e"}),
        jwt.encode(CLAIMS, b"k" * 32, "HS256", headers={"kid": "r"}),
        jwt.encode(CLAIMS | {"exp": NOW_S - 100}, own, "RS256", headers={"kid": "r"}),
        unsecured(CLAIMS),
        "x" * 100_000,
    ):
        with pytest.raises(TokenError) as refused:
            check(token)
        assert token not in str(refused.value)
