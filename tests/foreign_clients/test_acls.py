"""Access rules by confluent-kafka and kafka-python, and what producers and consumers are told."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourcePatternFilter,
)
from kafka.admin import ResourceType as OtherResourceType
from kafka.errors import ClusterAuthorizationFailedError

from tests.support.access import AUTHORIZER
from tests.support.broker import BrokerProcess
from tests.support.wait import LIMIT_S

SETTINGS = {**AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
"""Nobody signs in: rules are about User:ANONYMOUS, who may do what no rule is about."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path, SETTINGS) as broker:
        yield broker


def rule(
    name: str,
    operation: AclOperation,
    permission: AclPermissionType = AclPermissionType.ALLOW,
    user: str = "User:ANONYMOUS",
) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC, name, ResourcePatternType.LITERAL, user, "*", operation, permission
    )


def everything() -> AclBindingFilter:
    return AclBindingFilter(
        ResourceType.ANY,
        None,
        ResourcePatternType.ANY,
        None,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


def error_of_produce(bootstrap: str, topic: str) -> int | None:
    """The error with which a record comes back, or None."""
    errors: list[Any] = []
    producer = Producer({"bootstrap.servers": bootstrap, "message.timeout.ms": 20_000})
    producer.produce(topic, b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush(LIMIT_S)
    (error,) = errors
    return None if error is None else int(error.code())


def error_of_read(bootstrap: str, topic: str) -> int | None:
    """The error of the first thing that is read, or None."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    try:
        consumer.subscribe([topic])
        message = consumer.poll(60)
        assert message is not None
        error = message.error()
        return None if error is None else int(error.code())
    finally:
        consumer.close()


def test_confluent_kafka(broker: BrokerProcess) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for made in admin.create_topics([NewTopic("open", 1, 1), NewTopic("closed", 1, 1)]).values():
        made.result(LIMIT_S)
    assert error_of_produce(broker.bootstrap, "closed") is None
    rules = [
        rule("closed", AclOperation.READ, user="User:alice"),
        rule("open", AclOperation.WRITE),
    ]
    for done in admin.create_acls(rules).values():
        done.result(LIMIT_S)
    assert set(admin.describe_acls(everything()).result(LIMIT_S)) == set(rules)
    denied = KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert error_of_produce(broker.bootstrap, "closed") == denied
    assert error_of_produce(broker.bootstrap, "open") is None
    assert error_of_read(broker.bootstrap, "closed") == denied
    assert "closed" not in admin.list_topics(timeout=LIMIT_S).topics, "it may not be described"

    broker.kill()
    broker.start()  # rules outlive the process
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    assert set(admin.describe_acls(everything()).result(LIMIT_S)) == set(rules)
    assert error_of_produce(broker.bootstrap, "closed") == denied

    (deleted,) = admin.delete_acls([everything()]).values()
    assert set(deleted.result(LIMIT_S)) == set(rules)
    assert error_of_produce(broker.bootstrap, "closed") is None
    assert error_of_read(broker.bootstrap, "closed") is None


def test_a_cluster_that_is_closed_to_all_but_super_users(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, AUTHORIZER) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        (made,) = admin.create_topics([NewTopic("t", 1, 1)]).values()
        with pytest.raises(KafkaException, match="Authorization failed"):
            made.result(LIMIT_S)
        (created,) = admin.create_acls([rule("t", AclOperation.READ)]).values()
        with pytest.raises(KafkaException, match="Cluster authorization failed"):
            created.result(LIMIT_S)
        other = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
        with pytest.raises(ClusterAuthorizationFailedError):
            other.describe_acls(_any_rule())
        other.close()


def _any_rule() -> ACLFilter:
    pattern = ResourcePatternFilter(OtherResourceType.ANY, None, ACLResourcePatternType.ANY)
    return ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, pattern)


def test_kafka_python(broker: BrokerProcess) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    acl = ACL(
        "User:alice",
        "10.0.0.1",
        ACLOperation.WRITE,
        ACLPermissionType.DENY,
        ResourcePattern(OtherResourceType.TOPIC, "closed"),
    )
    created = admin.create_acls([acl])
    assert not created["failed"]
    wanted = _any_rule()
    found, _ = admin.describe_acls(wanted)
    assert found == [acl]
    admin.delete_acls([wanted])
    assert admin.describe_acls(wanted)[0] == []
    admin.close()
