"""Tokens from an endpoint: what is asked, how long an answer is used, what goes wrong."""

import json
import ssl
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from barnabas.client.connect.token_endpoint import ClientCredentials, TokenEndpoint
from barnabas.security.sasl.exchange import SaslError
from tests.support.certificates import Authority
from tests.support.http_server import Answer, HttpServer, Received

SECRET = "hush:hush"


class Provider:
    """An identity provider that counts, and a clock."""

    def __init__(self) -> None:
        self.server = HttpServer(self._answer)
        self.answers: list[Answer] = []
        """Those that come before tokens."""
        self.lifetime_s: object = 100
        self.now_s = 0.0
        self.slept_s: list[float] = []
        self._count = 0

    def _answer(self, _: Received) -> Answer:
        if self.answers:
            return self.answers.pop(0)
        self._count += 1
        token = {"access_token": f"token-{self._count}", "token_type": "Bearer"}
        return 200, json.dumps({**token, "expires_in": self.lifetime_s}).encode()

    def endpoint(self, scope: str | None = None) -> TokenEndpoint:
        credentials = ClientCredentials(f"{self.server.url}/token?x=1", "me", SECRET, scope)
        return TokenEndpoint(credentials, lambda: self.now_s, self.slept_s.append)


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.server.close()


def test_what_is_asked(provider: Provider) -> None:
    assert provider.endpoint("read write")() == "token-1"
    (asked,) = provider.server.received
    assert (asked.method, asked.path) == ("POST", "/token?x=1")
    assert asked.headers["authorization"] == f"Basic {b64encode(f'me:{SECRET}'.encode()).decode()}"
    assert parse_qs(asked.body.decode()) == {
        "grant_type": ["client_credentials"],
        "scope": ["read write"],
    }
    provider.endpoint()()
    assert b"scope" not in provider.server.received[-1].body


def test_a_token_is_replaced_before_it_expires(provider: Provider) -> None:
    endpoint = provider.endpoint()
    given = []
    for now_s in (0, 79, 81, 160, 162):
        provider.now_s = now_s
        given.append(endpoint())
    assert given == ["token-1", "token-1", "token-2", "token-2", "token-3"]


def test_an_old_token_is_used_while_there_is_no_new_one(provider: Provider) -> None:
    endpoint = provider.endpoint()
    assert endpoint() == "token-1"
    provider.now_s = 90
    provider.answers = [(503, b"")] * 3
    assert endpoint() == "token-1"
    provider.now_s = 101
    provider.answers = [(503, b"")] * 3
    with pytest.raises(SaslError, match="503 Service Unavailable"):
        endpoint()
    assert endpoint() == "token-2"


def test_a_failed_attempt_is_repeated(provider: Provider) -> None:
    provider.answers = [None, (429, b"")]
    assert provider.endpoint()() == "token-1"
    assert len(provider.slept_s) == 2


@pytest.mark.parametrize("lifetime_s", [None, "soon", [], 0, -5, float("nan")])
def test_a_token_of_unknown_lifetime_is_used_once(provider: Provider, lifetime_s: object) -> None:
    provider.lifetime_s = lifetime_s
    endpoint = provider.endpoint()
    assert [endpoint(), endpoint()] == ["token-1", "token-2"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            (401, b'{"error": "invalid_client", "error_description": "no such client"}'),
            r"it answers 401 Unauthorized \(invalid_client: no such client\)",
        ),
        ((400, b"[1]"), "it answers 400 Bad Request$"),
        ((302, b"", {"Location": "http://127.0.0.1:1/"}), "it answers 302 Found"),
        ((200, b"<html>"), "its answer is not JSON"),
        ((200, b"[]"), "its answer is not a JSON object"),
        ((200, b"[" * 100_000), "its answer is not JSON"),
        ((200, b'{"access_token": 7}'), "its answer has no access_token"),
    ],
)
def test_what_goes_wrong_is_named_and_not_repeated(
    provider: Provider, answer: Answer, reason: str
) -> None:
    provider.answers = [answer]
    with pytest.raises(SaslError, match=reason) as failed:
        provider.endpoint()()
    assert str(failed.value).startswith(f"no token from {provider.server.url}/token: ")
    assert "hush" not in str(failed.value)
    assert len(provider.server.received) == 1


def test_nobody_listens(provider: Provider) -> None:
    endpoint = provider.endpoint()
    provider.server.close()
    with pytest.raises(SaslError, match="Connection refused"):
        endpoint()
    provider.server = HttpServer()  # to be closed


def test_the_certificate_is_verified(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("/CN=idp", hosts=("127.0.0.1",)).both)
    server = HttpServer(lambda _: (200, b'{"access_token": "x", "expires_in": 9}'), context)
    ca = str(authority.certificate)
    try:
        with pytest.raises(SaslError, match="certificate verify failed"):
            TokenEndpoint(ClientCredentials(server.url, "me", SECRET))()
        elsewhere = server.url.replace("127.0.0.1", "localhost")
        with pytest.raises(SaslError, match="certificate verify failed: Hostname mismatch"):
            TokenEndpoint(ClientCredentials(elsewhere, "me", SECRET, None, ca))()
        assert not server.received
        assert TokenEndpoint(ClientCredentials(server.url, "me", SECRET, None, ca))() == "x"
    finally:
        server.close()
