"""PLAIN, both sides."""

import pytest

from barnabas.security.sasl.exchange import SaslError
from barnabas.security.sasl.plain import PlainClient, PlainServer

PASSWORDS = {"alice": "wönder land", "bob": "b"}


@pytest.mark.parametrize("user", PASSWORDS)
def test_a_user_signs_in(user: str) -> None:
    client, server = PlainClient(user, PASSWORDS[user]), PlainServer(PASSWORDS)
    assert client.step(server.step(client.first())) is None
    assert client.is_complete
    assert server.user == user


@pytest.mark.parametrize("message", [b"\0alice\0b", b"\0nobody\0b", b"alice\0alice\0B"])
def test_wrong_passwords_and_unknown_users_look_the_same(message: bytes) -> None:
    server = PlainServer(PASSWORDS)
    with pytest.raises(SaslError, match=r"^invalid user or password$"):
        server.step(message)
    assert server.user is None


@pytest.mark.parametrize(
    "message",
    [b"", b"\0", b"\0bob", b"\0bob\0", b"\0\0b", b"alice\0bob\0b", b"\0bob\0b\0", b"\0\xff\0b"],
)
def test_malformed_messages_are_refused(message: bytes) -> None:
    server = PlainServer(PASSWORDS)
    with pytest.raises(SaslError) as refused:
        server.step(message)
    assert server.user is None
    assert "bob" not in str(refused.value)


def test_a_nul_is_not_sent() -> None:
    with pytest.raises(SaslError, match="NUL"):
        PlainClient("alice\0bob", "b").first()
