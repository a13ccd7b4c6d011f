"""Looking at transactions and ending one that hangs: kafka-python alone offers it."""

import time
from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import AbortTransactionSpec, TransactionState
from kafka.errors import InvalidTxnStateError, TransactionalIdNotFoundError

from tests.foreign_clients.conftest import NewTopic
from tests.foreign_clients.face import Producer
from tests.foreign_clients.kafka_python import KafkaPython
from tests.support.wait import wait_until


@pytest.fixture
def admin(bootstrap: str) -> Iterator[KafkaAdminClient]:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield admin
    admin.close()


@pytest.fixture
def producer(bootstrap: str, name: str) -> Iterator[Producer]:
    with KafkaPython().producer(
        bootstrap, transactional_id=name, transaction_timeout_ms=50_000
    ) as producer:
        yield producer


def listed(admin: KafkaAdminClient, **filters: object) -> dict[str, TransactionState]:
    by_node = admin.list_transactions(**filters)
    return {found.transactional_id: found.state for some in by_node.values() for found in some}


def test_a_transaction_can_be_looked_at(
    admin: KafkaAdminClient, producer: Producer, new_topic: NewTopic, name: str
) -> None:
    topic = new_topic(partitions=2)
    assert listed(admin)[name] is TransactionState.EMPTY
    producer.begin()
    for partition in range(2):
        producer.send(topic, b"a", partition=partition)
    producer.flush()
    now_ms = time.time_ns() // 1_000_000
    described = admin.describe_transactions([name])[name]
    assert described.state is TransactionState.ONGOING
    assert described.transaction_timeout_ms == 50_000
    assert 0 <= now_ms - described.transaction_start_time_ms < 30_000
    assert described.topic_partitions == {TopicPartition(topic, p) for p in range(2)}
    own = {"producer_id_filters": [described.producer_id]}
    assert listed(admin, **own) == {name: TransactionState.ONGOING}
    assert name in listed(admin, state_filters=["Ongoing"])
    assert name not in listed(admin, state_filters=["CompleteCommit"])
    assert listed(admin, duration_filter_ms=3_600_000, **own) == {}
    assert listed(admin, transactional_id_pattern=name[:-2] + ".*") == {
        name: TransactionState.ONGOING
    }
    producer.commit()
    wait_until(
        lambda: listed(admin, **own) == {name: TransactionState.COMPLETE_COMMIT},
        "the transaction is not complete",
    )
    assert admin.describe_transactions([name])[name].topic_partitions == set()
    with pytest.raises(TransactionalIdNotFoundError):
        admin.describe_transactions(["unknown-" + name])


def test_the_producers_of_a_partition(
    admin: KafkaAdminClient, producer: Producer, new_topic: NewTopic, name: str
) -> None:
    topic = new_topic()
    where = TopicPartition(topic, 0)
    assert admin.describe_producers([where])[where].active_producers == []
    for ongoing in (False, True):
        producer.begin()
        producer.send(topic, b"a", partition=0)
        producer.send(topic, b"b", partition=0)
        producer.flush()
        if not ongoing:
            producer.commit()
    (found,) = admin.describe_producers([where])[where].active_producers
    described = admin.describe_transactions([name])[name]
    assert found.producer_id == described.producer_id
    assert found.producer_epoch == described.producer_epoch
    assert found.last_sequence == 3
    assert found.current_transaction_start_offset == 3
    assert abs(time.time() * 1000 - found.last_timestamp) < 30_000
    producer.commit()


def test_a_transaction_that_goes_on_is_not_torn_by_an_operator(
    admin: KafkaAdminClient, producer: Producer, new_topic: NewTopic
) -> None:
    """It could be committed in its other partitions afterwards."""
    topic = new_topic()
    where = TopicPartition(topic, 0)
    producer.begin()
    producer.send(topic, b"goes on", partition=0)
    producer.flush()
    (found,) = admin.describe_producers([where])[where].active_producers
    with pytest.raises(InvalidTxnStateError):
        admin.abort_transaction(
            AbortTransactionSpec(where, found.producer_id, found.producer_epoch)
        )
    (found,) = admin.describe_producers([where])[where].active_producers
    assert found.current_transaction_start_offset == 0
    producer.abort()
