"""`Cluster(secure=True)`: TLS, users and access rules in a test."""

import pytest
from confluent_kafka import Consumer, Producer

import barnabas
from barnabas.embedded.errors import ClusterError
from barnabas.errors import BarnabasError, NotAuthorized
from tests.support.wait import LIMIT_S, wait_until


def _is_sent(servers: str, security: dict[str, str]) -> bool:
    try:
        with barnabas.Producer(servers, security=security) as producer:
            producer.send("orders", b"1").result()
    except NotAuthorized:
        return False
    return True


def test_users_get_what_they_are_allowed_also_after_a_kill() -> None:
    with barnabas.Cluster(nodes=3, secure=True) as cluster:
        cluster.create_topic("orders")
        alice = cluster.add_user("alice")
        bob = cluster.add_user("bob", "battery staple")
        servers = cluster.bootstrap_servers
        with barnabas.Admin(servers, security=cluster.security) as admin:
            assert set(admin.users()) == {"admin", "alice", "bob"}
            admin.create_acls(
                [
                    barnabas.AclBinding("User:alice", "READ", "TOPIC", "orders"),
                    barnabas.AclBinding("User:alice", "WRITE", "TOPIC", "orders"),
                    barnabas.AclBinding("User:alice", "READ", "GROUP", "readers"),
                ]
            )
        cluster.kill(cluster.leader_of("orders"))
        wait_until(lambda: _is_sent(servers, alice))  # the new leader may not know the rule yet
        with (
            pytest.raises(BarnabasError),
            barnabas.Producer(servers, security=bob) as producer,
        ):
            producer.send("orders", b"2").result()
        consumer = Consumer(
            {
                **alice,
                "bootstrap.servers": servers,
                "group.id": "readers",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe(["orders"])
        message = consumer.poll(60)
        consumer.close()
        assert message is not None
        assert message.value() == b"1"
        cluster.repair()


def test_an_open_cluster_has_no_users() -> None:
    with barnabas.Cluster() as cluster:
        assert cluster.security == {}
        with pytest.raises(ClusterError, match="secure=True"):
            cluster.add_user("alice")


@pytest.mark.barnabas(secure=True)
def test_the_fixture_has_it_too(barnabas_cluster: barnabas.Cluster, barnabas_topic: str) -> None:
    config = {**barnabas_cluster.security, "bootstrap.servers": barnabas_cluster.bootstrap_servers}
    producer = Producer(config)
    failed: list[object] = []
    producer.produce(barnabas_topic, b"1", callback=lambda error, _: failed.append(error))
    assert producer.flush(LIMIT_S) == 0
    assert failed == [None]
