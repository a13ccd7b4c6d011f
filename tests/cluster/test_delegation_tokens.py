"""Delegation tokens on three nodes: created at any of them, good at all of them."""

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

import barnabas
from barnabas.broker.control.envelope import seal
from barnabas.client.admin.acls import AclBinding
from barnabas.client.admin.delegation_tokens import DelegationToken
from barnabas.errors import BrokerError, NotAuthorized, SignInFailed
from barnabas.security.principal import Principal
from barnabas.security.sasl.scram_client import ScramClient
from barnabas.security.sasl.scram_credential import ScramMechanism
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.wire.messages.metadata import MetadataRequest
from tests.broker.raw_client import RawClient
from tests.support.access import AUTHORIZER
from tests.support.sasl import PLAIN_PASSWORD, SaslCluster, sign_in, sign_in_by
from tests.support.wait import LIMIT_S, wait_until

SECRET = "the-secret-of-all-tokens"
SETTINGS = {
    **AUTHORIZER,
    "super.users": "User:ANONYMOUS",
    "delegation.token.secret.key": SECRET,
    "delegation.token.expiry.check.interval.ms": "200",
}
"""Who does not sign in, on the open listener, is the administrator."""
PASSWORDS = {"alice": PLAIN_PASSWORD, "carol": "hatter"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslCluster]:
    with SaslCluster(tmp_path_factory.mktemp("tokens"), 3, SETTINGS) as cluster:
        with barnabas.Admin(cluster.bootstrap) as admin:
            admin.create_topic("t", partitions=3, replication_factor=3)
            admin.create_acls([AclBinding("User:alice", "WRITE", "TOPIC", "t")])
        yield cluster


def as_user(user: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": PASSWORDS[user],
    }


def by_token(token: DelegationToken, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
    return {"security.protocol": "SASL_PLAINTEXT", **token.client_settings(mechanism)}


def known_everywhere(cluster: SaslCluster, token_id: str, *, is_there: bool = True) -> None:
    for bootstrap in cluster.sasl_bootstrap.split(","):
        with barnabas.Admin(bootstrap, security=as_user("alice")) as admin:
            wait_until(
                lambda admin=admin: (
                    is_there == (token_id in [t.token_id for t in admin.delegation_tokens()])
                ),
                "the nodes differ in their tokens",
            )


def test_each_node_creates_tokens_that_all_nodes_accept(cluster: SaslCluster) -> None:
    """The controller learns who has asked, also from the nodes that are not it."""
    nodes = cluster.sasl_bootstrap.split(",")
    tokens = []
    for bootstrap in nodes:
        with barnabas.Admin(bootstrap, security=as_user("alice")) as admin:
            token = admin.create_delegation_token(renewers=["carol"])
            assert (token.owner, token.requester, token.renewers) == (
                "User:alice",
                "User:alice",
                ("User:carol",),
            )
            tokens.append(token)
    for token in tokens:
        known_everywhere(cluster, token.token_id)
    for number, bootstrap in enumerate(nodes):
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            security = by_token(tokens[(number + 1) % 3], mechanism)
            with barnabas.Producer(bootstrap, security=security) as producer:
                producer.send("t", b"as alice").result(LIMIT_S)
    with barnabas.Admin(nodes[0], security=as_user("carol")) as admin:
        expires_ms = admin.renew_delegation_token(tokens[0].hmac, period_ms=3_600_000)
        assert expires_ms < tokens[0].expiry_timestamp_ms
        assert admin.expire_delegation_token(tokens[0].hmac) <= time.time() * 1000
    known_everywhere(cluster, tokens[0].token_id, is_there=False)
    with (
        pytest.raises(SignInFailed, match="invalid user or password"),
        barnabas.Admin(nodes[1], security=by_token(tokens[0])) as admin,
    ):
        admin.topics()


def test_whose_tokens_they_are(cluster: SaslCluster) -> None:
    nodes = cluster.sasl_bootstrap.split(",")
    with barnabas.Admin(nodes[0], security=as_user("alice")) as alice:
        token = alice.create_delegation_token()
    known_everywhere(cluster, token.token_id)
    for bootstrap in nodes:
        with barnabas.Admin(bootstrap, security=as_user("carol")) as carol:
            assert token.token_id not in [each.token_id for each in carol.delegation_tokens()]
            with pytest.raises(BrokerError) as refused:
                carol.renew_delegation_token(token.hmac)
            assert refused.value.code is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
            with pytest.raises(BrokerError) as refused:
                carol.create_delegation_token(owner="alice")
            assert refused.value.code is ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        with barnabas.Admin(bootstrap, security=by_token(token)) as job:
            with pytest.raises(BrokerError) as refused:
                job.create_delegation_token()
            assert refused.value.code is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_rights_to_see_and_create_tokens_of_others(cluster: SaslCluster) -> None:
    with barnabas.Admin(cluster.bootstrap) as admin:
        rules = [
            AclBinding("User:alice", "CREATE_TOKENS", "USER", "User:carol"),
            AclBinding("User:alice", "DESCRIBE_TOKENS", "USER", "User:carol"),
        ]
        admin.create_acls(rules)
    with barnabas.Admin(cluster.sasl_bootstrap, security=as_user("carol")) as carol:
        own = carol.create_delegation_token()
    known_everywhere(cluster, own.token_id)
    with barnabas.Admin(cluster.sasl_bootstrap, security=as_user("alice")) as alice:

        def may_create() -> bool:
            with suppress(NotAuthorized):
                made.append(alice.create_delegation_token(owner="carol"))
            return bool(made)

        made: list[DelegationToken] = []
        wait_until(may_create, "the rule is not known")
        assert (made[0].owner, made[0].requester) == ("User:carol", "User:alice")
        known_everywhere(cluster, made[0].token_id)
        seen: dict[str, DelegationToken] = {}

        def may_see() -> bool:
            seen.update({each.token_id: each for each in alice.delegation_tokens()})
            return own.token_id in seen

        wait_until(may_see, "the rule is not known")
        assert seen[own.token_id].hmac == b"", "who may see a token does not get to use it"
        assert alice.delegation_tokens(owners=["nobody"]) == []


def test_no_client_says_who_it_is(cluster: SaslCluster) -> None:
    """Envelopes, in which nodes forward principals, are refused to clients."""
    forged = seal(CreateDelegationTokenRequest(None, None), Principal("User", "root"), "10.0.0.1")
    for bootstrap in cluster.sasl_bootstrap.split(","):
        host, _, port = bootstrap.partition(":")
        with RawClient(host, int(port)) as client:
            assert not sign_in(client, "PLAIN", "carol", PASSWORDS["carol"]).error_code
            assert client.ask(forged).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    for node in cluster.awake():
        assert node.ask(forged).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_session_ends_with_its_token(cluster: SaslCluster) -> None:
    with barnabas.Admin(cluster.sasl_bootstrap, security=as_user("alice")) as alice:
        token = alice.create_delegation_token(max_lifetime_ms=3_000)
    known_everywhere(cluster, token.token_id)
    host, _, port = cluster.sasl_bootstrap.split(",")[0].partition(":")
    mechanism = ScramMechanism.SCRAM_SHA_256

    def exchange() -> ScramClient:
        return ScramClient(mechanism, token.token_id, token.password, "nonce", is_token=True)

    with RawClient(host, int(port)) as client:
        signed_in = sign_in_by(client, mechanism.label, exchange())
        assert not signed_in.error_code
        assert 0 < signed_in.session_lifetime_ms <= 3_000
        assert client.ask(MetadataRequest(None)).brokers

        def is_closed() -> bool:
            try:
                return not client.ask(MetadataRequest(None)).brokers
            except (EOFError, OSError):
                return True

        wait_until(is_closed, "the session goes on")
    with RawClient(host, int(port)) as client:
        refused = sign_in_by(client, mechanism.label, exchange())
        assert refused.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    known_everywhere(cluster, token.token_id, is_there=False)


def test_secrets_are_nowhere_to_be_read(cluster: SaslCluster) -> None:
    with barnabas.Admin(cluster.sasl_bootstrap, security=as_user("alice")) as alice:
        token = alice.create_delegation_token()
        assert token.password not in repr(token)
        assert repr(token.hmac) not in repr(token)
    with barnabas.Admin(cluster.bootstrap) as admin:
        shown = admin.configs(broker=1)["delegation.token.secret.key"]
        assert shown.value is None
        assert SECRET not in repr(shown)
    for node in cluster.nodes.values():
        log = node.log.read_text()
        assert SECRET not in log
        assert token.password not in log
        assert token.hmac.hex() not in log
