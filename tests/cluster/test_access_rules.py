"""Three nodes with access rules: clients get what they may have, nodes do their work."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from barnabas import Admin
from barnabas.client.admin.acls import AclBinding
from tests.support.access import AUTHORIZER
from tests.support.sasl import PLAIN_PASSWORD, SaslCluster
from tests.support.wait import LIMIT_S, wait_until

SETTINGS = {
    **AUTHORIZER,
    "super.users": "User:ANONYMOUS",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}
"""Who does not sign in, on the open listener, is the administrator."""

PASSWORDS = {"alice": PLAIN_PASSWORD, "carol": "hatter"}
ALICE = [
    AclBinding("User:alice", "READ", "TOPIC", "in"),
    AclBinding("User:alice", "WRITE", "TOPIC", "out-", "PREFIXED"),
    AclBinding("User:alice", "READ", "GROUP", "alice"),
    AclBinding("User:alice", "WRITE", "TRANSACTIONAL_ID", "alice-1"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslCluster]:
    with SaslCluster(tmp_path_factory.mktemp("closed"), 3, SETTINGS) as cluster:
        with Admin(cluster.bootstrap) as admin:
            for topic in ("in", "out-1"):
                admin.create_topic(topic, partitions=3, replication_factor=3)
        yield cluster


def options(cluster: SaslCluster, user: str, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": cluster.sasl_bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": PASSWORDS[user],
        **more,
    }


def produce_error(cluster: SaslCluster, user: str, topic: str) -> int | None:
    errors: list[Any] = []
    producer = Producer(options(cluster, user, **{"message.timeout.ms": 30_000}))
    try:
        producer.produce(topic, b"x", on_delivery=lambda error, _: errors.append(error))
    except KafkaException as refused:  # it knows already
        return int(refused.args[0].code())
    producer.flush(LIMIT_S)
    return None if errors[0] is None else int(errors[0].code())


def init_error(cluster: SaslCluster, user: str, transactional_id: str) -> int | None:
    """A function that keeps no error: it would keep the producer, which looks for its brokers."""
    producer = Producer(options(cluster, user, **{"transactional.id": transactional_id}))
    try:
        producer.init_transactions(30)
    except KafkaException as refused:
        return int(refused.args[0].code())
    return None


def test_exactly_once_with_exactly_the_rights(cluster: SaslCluster) -> None:
    with Admin(cluster.bootstrap) as admin:
        admin.create_acls(ALICE)
    source = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(30):
        source.produce("in", str(number).encode())
    source.flush(LIMIT_S)
    consumer = Consumer(
        options(
            cluster,
            "alice",
            **{
                "group.id": "alice",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            },
        )
    )
    consumer.subscribe(["in"])
    producer = Producer(options(cluster, "alice", **{"transactional.id": "alice-1"}))
    producer.init_transactions(30)
    producer.begin_transaction()
    read = 0
    while read < 30:
        message = consumer.poll(60)
        assert message is not None
        assert message.error() is None, message.error()
        producer.produce("out-1", message.value())
        read += 1
    positions = consumer.position(consumer.assignment())
    producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), 30)
    producer.commit_transaction(30)
    consumer.close()
    with Admin(cluster.bootstrap) as admin:
        assert sum(end.lag or 0 for end in admin.describe_group("alice").offsets.values()) == 0


def test_without_rights(cluster: SaslCluster) -> None:
    denied = KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert produce_error(cluster, "carol", "out-1") == denied
    refused = KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert init_error(cluster, "carol", "alice-1") == refused


def _rules_of(bootstrap: str, user: str) -> list[AclBinding]:
    with Admin(bootstrap) as admin:
        return admin.acls(user=user)


def test_a_change_reaches_every_node_and_outlives_one(cluster: SaslCluster) -> None:
    right = AclBinding("User:carol", "WRITE", "TOPIC", "out-1")
    with Admin(cluster.bootstrap) as admin:
        admin.create_acls([right])
    wait_until(lambda: produce_error(cluster, "carol", "out-1") is None, "the right is not there")
    cluster.nodes[1].kill()
    cluster.nodes[1].start()
    for node in cluster.nodes.values():
        wait_until(lambda node=node: right in _rules_of(node.bootstrap, "carol"))
    with Admin(cluster.bootstrap) as admin:
        admin.delete_acls([right])
    wait_until(
        lambda: produce_error(cluster, "carol", "out-1") == KafkaError.TOPIC_AUTHORIZATION_FAILED,
        "the right is still there",
    )
