"""Whatever a client sends, an exchange goes on or fails in order."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.security.sasl.exchange import SaslError, ServerExchange
from barnabas.security.sasl.jwt_tokens import TokenRules, unsecured_token
from barnabas.security.sasl.oauthbearer import OauthServer, TokenError
from barnabas.security.sasl.plain import PlainServer
from barnabas.security.sasl.scram_credential import ScramMechanism
from barnabas.security.sasl.scram_server import ScramServer, TokenLogin
from barnabas.security.sasl.unknown_users import credential_of

SHA_256 = ScramMechanism.SCRAM_SHA_256


def no_token(token_id: str) -> TokenLogin:
    return TokenLogin(None, 0, credential_of(SHA_256, {}, b"key")(token_id))


NEW: list[Callable[[], ServerExchange]] = [
    lambda: PlainServer({"alice": "secret"}),
    lambda: ScramServer(SHA_256, credential_of(SHA_256, {}, b"key"), "nonce", no_token),
    lambda: OauthServer(lambda token: unsecured_token(token, TokenRules(), 0)),
]
PIECES = st.sampled_from(
    [
        *(b"n,,", b"n=alice", b"r=x", b",", b"=", b"=3D", b"c=biws", b"p=AAAA", b"\0", b"\x01"),
        *(
            b"auth=Bearer ",
            b"e30",
            b".",
            b"\xff",
            b"a=",
            b"m=",
            b"alice",
            b"x" * 2000,
            b"tokenauth=true",
        ),
    ]
)
MESSAGES = st.one_of(st.binary(max_size=60), st.lists(PIECES, max_size=9).map(b"".join))


@pytest.mark.parametrize("new", NEW)
@given(messages=st.lists(MESSAGES, max_size=3))
def test_any_message(new: Callable[[], ServerExchange], messages: list[bytes]) -> None:
    exchange = new()
    for message in messages:
        try:
            exchange.step(message)
        except SaslError:
            break
    assert exchange.user is None


@pytest.mark.parametrize("token", ["W" * 70_000, "W1tb" * 10_000 + "." + "W1tb" * 5_000 + "."])
def test_large_and_deep_tokens(token: str) -> None:
    with pytest.raises(TokenError):
        unsecured_token(token, TokenRules(), 0)
