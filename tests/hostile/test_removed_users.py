"""What is left to users whose password was changed, and to users and tokens that were removed."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from barnabas import Admin
from barnabas.client.admin.delegation_tokens import DelegationToken
from barnabas.security.delegation_tokens import token_password
from barnabas.security.sasl.scram_client import ScramClient
from barnabas.security.sasl.scram_credential import ScramMechanism
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.broker.raw_client import RawClient
from tests.broker.verbs import create_topic
from tests.support.sasl import (
    SCRAM_PASSWORD,
    SaslBroker,
    SaslCluster,
    exchange,
    sign_in,
    sign_in_by,
)
from tests.support.wait import LIMIT_S

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
SETTINGS = {
    "delegation.token.secret.key": "the-secret-of-all-tokens",
    "delegation.token.expiry.check.interval.ms": "100",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslBroker]:
    with SaslBroker(tmp_path_factory.mktemp("removed"), SETTINGS) as broker:
        with RawClient(broker.host, broker.port) as client:
            create_topic(client, "t")
        yield broker


@pytest.fixture
def admin(broker: SaslBroker) -> Iterator[Admin]:
    with Admin(broker.bootstrap) as admin:
        yield admin


def _signed_in(broker: SaslBroker, user: str, mechanism: str = SHA_256) -> RawClient:
    client = broker.connect(timeout_s=LIMIT_S)
    assert sign_in(client, mechanism, user, SCRAM_PASSWORD).error_code == 0
    return client


def _is_served(client: RawClient) -> bool:
    return bool(client.ask(MetadataRequest([])).brokers)


@pytest.mark.parametrize(
    "withdraw",
    [
        lambda admin, user: admin.set_password(user, "another password"),
        lambda admin, user: admin.delete_user(user),
    ],
    ids=["changed", "removed"],
)
def test_open_connections_end_with_the_password(
    broker: SaslBroker, admin: Admin, withdraw: Callable[[Admin, str], None]
) -> None:
    admin.set_password("bob", SCRAM_PASSWORD)
    admin.set_password("carol", SCRAM_PASSWORD)
    with (
        _signed_in(broker, "bob") as quiet,
        _signed_in(broker, "bob", SHA_512) as other_mechanism,
        _signed_in(broker, "bob") as waiting,
        _signed_in(broker, "carol") as other_user,
        broker.connect() as namesake,
        broker.connect() as beginner,
    ):
        assert sign_in(namesake, "PLAIN", "carol", "hatter").error_code == 0
        waiting.send(_long_poll(waiting))
        withdraw(admin, "bob")
        assert quiet.is_closed(LIMIT_S)
        assert other_mechanism.is_closed(LIMIT_S)
        assert waiting.is_closed(LIMIT_S)
        admin.delete_user("carol")
        assert other_user.is_closed(LIMIT_S)
        assert _is_served(namesake), "a user of PLAIN, whose password is in a setting"
        assert sign_in(beginner, SHA_256, "bob", SCRAM_PASSWORD).error_code


def test_one_mechanism_has_its_own_password(broker: SaslBroker, admin: Admin) -> None:
    admin.set_password("dave", SCRAM_PASSWORD)
    with _signed_in(broker, "dave") as by_256, _signed_in(broker, "dave", SHA_512) as by_512:
        admin.set_password("dave", "another password", mechanisms=[SHA_256])
        assert by_256.is_closed(LIMIT_S)
        assert _is_served(by_512)


def test_a_connection_ends_with_its_delegation_token(broker: SaslBroker, admin: Admin) -> None:
    admin.set_password("erin", SCRAM_PASSWORD)
    as_erin = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": SHA_256,
        "sasl.username": "erin",
        "sasl.password": SCRAM_PASSWORD,
    }
    with Admin(broker.sasl_bootstrap, security=as_erin) as owner:
        tokens = [owner.create_delegation_token() for _ in range(2)]
        with _by_token(broker, tokens[0]) as ended, _by_token(broker, tokens[1]) as kept:
            owner.expire_delegation_token(tokens[0].hmac)
            assert ended.is_closed(LIMIT_S)
            assert _is_served(kept)


def test_a_sign_in_under_way_ends_with_the_password_too(broker: SaslBroker, admin: Admin) -> None:
    admin.set_password("frank", SCRAM_PASSWORD)
    steps = exchange(SHA_256, "frank", SCRAM_PASSWORD)
    with broker.connect() as client:
        client.ask(SaslHandshakeRequest(SHA_256))
        challenge = client.ask(SaslAuthenticateRequest(steps.first())).auth_bytes
        admin.set_password("frank", "another password")
        proof = steps.step(bytes(challenge))
        assert proof is not None
        assert client.ask(SaslAuthenticateRequest(proof)).error_code
        assert client.is_closed(LIMIT_S)


def _by_token(broker: SaslBroker, token: DelegationToken) -> RawClient:
    mechanism, password = ScramMechanism.named(SHA_256), token_password(token.hmac)
    assert mechanism is not None
    steps = ScramClient(mechanism, token.token_id, password, "nonce", is_token=True)
    client = broker.connect()
    assert sign_in_by(client, SHA_256, steps).error_code == 0
    return client


def test_they_end_at_every_node(tmp_path_factory: pytest.TempPathFactory) -> None:
    cluster = SaslCluster(tmp_path_factory.mktemp("removed-everywhere"), 3)
    with cluster, Admin(cluster.bootstrap) as admin, ExitStack() as stack:
        admin.set_password("bob", SCRAM_PASSWORD)
        clients = []
        for address in cluster.sasl_bootstrap.split(","):
            host, _, port = address.partition(":")
            client = stack.enter_context(RawClient(host, int(port)))
            assert sign_in(client, SHA_256, "bob", SCRAM_PASSWORD).error_code == 0
            clients.append(client)
        admin.delete_user("bob")
        assert all(client.is_closed(LIMIT_S) for client in clients)


def _long_poll(client: RawClient) -> FetchRequest:
    (topic,) = client.ask(MetadataRequest(None)).topics
    wanted = FetchTopic(topic.name, topic.topic_id, [FetchPartition(0, partition_max_bytes=1000)])
    return FetchRequest(max_wait_ms=10 * 60_000, min_bytes=1, topics=[wanted])
