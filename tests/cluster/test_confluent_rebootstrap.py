"""What docs/clients.md advises for transactions with librdkafka, while no node can be reached."""

import contextlib
import threading
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.cluster.exactly_once import EXACT
from tests.support.cluster import ClusterProcesses
from tests.support.wait import LIMIT_S, wait_until

ADVISED = {"metadata.recovery.strategy": "none"}
"""With the default, librdkafka 2.16 forgets the nodes and waits for one that it has forgotten."""


def test_offsets_are_sent_once_all_nodes_are_back(
    tmp_path: Path, resources: contextlib.ExitStack
) -> None:
    cluster = resources.enter_context(ClusterProcesses(tmp_path, 3, EXACT))
    cluster.create_topic("source")
    cluster.create_topic("target")
    common = {"bootstrap.servers": cluster.bootstrap, "log_level": 2, **ADVISED}
    consumer = Consumer({**common, "group.id": "g", "enable.auto.commit": False})
    consumer.subscribe(["source"])
    wait_until(lambda: consumer.poll(0.1) or consumer.assignment(), "nothing is assigned")
    producer = Producer({**common, "transactional.id": "t"})
    producer.init_transactions()

    def send_offsets(offset: int) -> None:
        reached = [TopicPartition("source", 0, offset)]
        producer.send_offsets_to_transaction(reached, consumer.consumer_group_metadata())

    producer.begin_transaction()
    send_offsets(1)
    producer.commit_transaction()
    producer.begin_transaction()
    cluster.kill_all()
    # It waits without a limit of its own, so it must not keep the tests from ending.
    sending = threading.Thread(target=send_offsets, args=[2], daemon=True)
    sending.start()
    sending.join(5)
    assert sending.is_alive(), "there was no broker to send them to"
    cluster.start()
    sending.join(LIMIT_S)
    assert not sending.is_alive(), "all nodes are back, and it still waits"
    producer.commit_transaction()

    def is_committed() -> bool:
        with contextlib.suppress(KafkaException):  # its coordinator may still be on its way
            (found,) = consumer.committed([TopicPartition("source", 0)], timeout=LIMIT_S)
            return found.offset == 2
        return False

    wait_until(is_committed, "the offset is not committed")
    consumer.close()
