"""OAUTHBEARER with confluent-kafka and with our client, unsecured and against a JWKS."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

import barnabas
from barnabas.errors import SignInFailed
from barnabas.security.sasl.oauthbearer import OauthClient
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata import MetadataRequest
from tests.support.http_server import Answer, HttpServer, Received
from tests.support.sasl import SaslBroker, sign_in_by
from tests.support.wait import LIMIT_S

ISSUER = "https://issuer.example"


LIFE_S = 4
"""Of a token: a busy machine may take a second to use it."""


class Tokens:
    """Whoever issues tokens."""

    def __init__(self, directory: Path) -> None:
        self._jwt: Any = pytest.importorskip("jwt")
        from cryptography.hazmat.primitives.asymmetric import rsa

        self.keys = directory / "keys.json"
        self._new_key = lambda: rsa.generate_private_key(65537, 2048)
        self.rotate("first")

    def rotate(self, key_id: str) -> None:
        self._key, self._id = self._new_key(), key_id
        jwk = json.loads(self._jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key()))
        self.keys.write_text(json.dumps({"keys": [{**jwk, "kid": key_id}]}))

    def issue(self, user: str, **changed: object) -> str:
        claims = {"iss": ISSUER, "aud": "kafka", "sub": user, "exp": time.time() + 600, **changed}
        made: str = self._jwt.encode(claims, self._key, "RS256", headers={"kid": self._id})
        return made


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    return Tokens(tmp_path_factory.mktemp("issuer"))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, tokens: Tokens) -> Iterator[SaslBroker]:
    settings = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.clients.sasl.oauthbearer.jwks.endpoint.url": tokens.keys.as_uri(),
        "listener.name.clients.sasl.oauthbearer.expected.issuer": ISSUER,
        "listener.name.clients.sasl.oauthbearer.expected.audience": "kafka",
        "listener.name.short.oauthbearer.sasl.jaas.config": "OAuthBearerLoginModule required "
        'unsecuredValidatorRequiredScope="required";',
    }
    with SaslBroker(tmp_path_factory.mktemp("oauth"), settings) as broker:
        with barnabas.Admin(broker.bootstrap) as admin:
            admin.create_topic("orders")
        yield broker


def our_security(directory: Path, token: str) -> dict[str, str]:
    file = directory / "token"
    file.write_text(token + "\n")
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": file.as_uri(),
    }


def test_signed_tokens(broker: SaslBroker, tokens: Tokens, tmp_path: Path) -> None:
    theirs = confluent_kafka.Producer(
        {
            "bootstrap.servers": broker.sasl_bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "oauth_cb": lambda _: (tokens.issue("alice"), time.time() + 600),
        }
    )
    theirs.produce("orders", b"theirs")
    assert theirs.flush(LIMIT_S) == 0
    security = our_security(tmp_path, tokens.issue("bob"))
    with barnabas.Producer(broker.sasl_bootstrap, security=security) as ours:
        ours.send("orders", b"ours").result(LIMIT_S)


def test_a_function_gives_tokens_for_each_session(broker: SaslBroker, tokens: Tokens) -> None:
    given: list[str] = []

    def token() -> str:
        given.append(tokens.issue("bob", exp=time.time() + LIFE_S))
        return given[-1]

    security = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token": token,
    }
    said = len(broker.log.read_text())
    with barnabas.Producer(broker.sasl_bootstrap, security=security) as ours:
        while len(given) < 3:
            ours.send("orders", b"ours").result(LIMIT_S)
            time.sleep(0.1)
    assert "session" not in broker.log.read_text()[said:]


def test_our_client_gets_tokens_from_an_endpoint(broker: SaslBroker, tokens: Tokens) -> None:
    """And a new one before each ends."""

    def answer(_: Received) -> Answer:
        token = tokens.issue("bob", exp=time.time() + LIFE_S)
        return 200, json.dumps({"access_token": token, "expires_in": LIFE_S}).encode()

    server = HttpServer(answer)
    security = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": f"{server.url}/token",
        "sasl.oauthbearer.client.credentials.client.id": "me",
        "sasl.oauthbearer.client.credentials.client.secret": "hush",
        "sasl.oauthbearer.scope": "orders",
    }
    said = len(broker.log.read_text())
    try:
        with barnabas.Producer(broker.sasl_bootstrap, security=security) as ours:
            while len(server.received) < 2:
                ours.send("orders", b"ours").result(LIMIT_S)
                time.sleep(0.1)
        assert "session" not in broker.log.read_text()[said:]
        server.answer = lambda _: (401, b'{"error": "invalid_client"}')
        with (
            pytest.raises(SignInFailed, match=r"401 Unauthorized \(invalid_client\)") as refused,
            barnabas.Admin(broker.sasl_bootstrap, security=security) as admin,
        ):
            admin.topics()
        assert "hush" not in str(refused.value)
    finally:
        server.close()


def test_keys_are_replaced(broker: SaslBroker, tokens: Tokens) -> None:
    before = tokens.issue("bob")
    tokens.rotate("second")
    for token, error in ((tokens.issue("bob"), 0), (before, ErrorCode.SASL_AUTHENTICATION_FAILED)):
        with broker.connect() as client:
            assert sign_in_by(client, "OAUTHBEARER", OauthClient(token)).error_code == error


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"aud": "other"}, "another audience"),
        ({"iss": "https://other"}, "another issuer"),
        ({"exp": time.time() - 100}, "expired"),
    ],
)
def test_tokens_that_are_not_accepted(
    broker: SaslBroker, tokens: Tokens, tmp_path: Path, changed: dict[str, Any], reason: str
) -> None:
    token = tokens.issue("bob", **changed)
    security = our_security(tmp_path, token)
    with (
        barnabas.Admin(broker.sasl_bootstrap, security=security) as admin,
        pytest.raises(SignInFailed, match=reason) as refused,
    ):
        admin.topics()
    assert token not in str(refused.value)
    assert token not in broker.log.read_text()


def test_a_session_ends_with_its_token(broker: SaslBroker, tokens: Tokens) -> None:
    with broker.connect() as client:
        answer = sign_in_by(
            client, "OAUTHBEARER", OauthClient(tokens.issue("bob", exp=time.time() + LIFE_S))
        )
        assert 0 < answer.session_lifetime_ms <= LIFE_S * 1000
        assert client.ask(MetadataRequest([])).brokers
        time.sleep(LIFE_S + 0.1)
        client.send(MetadataRequest([]))
        assert client.is_closed()


def test_unsecured_tokens_where_they_are_allowed(broker: SaslBroker) -> None:
    def produce(config: str) -> int:
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": f"127.0.0.1:{broker.short_port}",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "OAUTHBEARER",
                "enable.sasl.oauthbearer.unsecure.jwt": True,
                "sasl.oauthbearer.config": config,
                "log_level": 0,
            }
        )
        producer.produce("orders", b"unsecured")
        return int(producer.flush(3))

    assert produce("principal=bob scope=required") == 0
    assert produce("principal=bob scope=other") == 1
    assert "accepts tokens without a signature" in broker.log.read_text()
