"""Nodes that stand still for longer than their session, and go on as if nothing had been."""

import time

from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.broker.raw_client import batch
from tests.cluster.conftest import SESSION_S, TOPIC, hurt
from tests.cluster.faults import frozen
from tests.cluster.history import Acked, ProducerMode, Sent
from tests.support.cluster import ClusterProcesses
from tests.support.wait import LIMIT_S

PRODUCE_VERSION = 12
"""The last that names topics."""


def test_a_leader_that_was_deposed_in_its_sleep_acknowledges_nothing(
    cluster: ClusterProcesses,
) -> None:
    """A write waits in its socket; the first thing it does on waking is to look at it."""
    with hurt(cluster) as workload:
        history = workload.history
        history.producers["late"] = ProducerMode(idempotent=False)
        for number in range(2):
            zombie = cluster.leader_of(TOPIC)
            value = f"late/{number}"
            with zombie.connect(timeout_s=LIMIT_S) as client, frozen(zombie):
                data = PartitionProduceData(0, batch(value.encode()))
                topic_data = TopicProduceData(TOPIC, partition_data=[data])
                request = ProduceRequest(None, -1, 5_000, [topic_data])
                sent_at = time.monotonic()
                history.sent.append(Sent("late", value, 0, sent_at))
                client.send(request, PRODUCE_VERSION)
                time.sleep(SESSION_S)
                workload.wait_for_progress()
                assert cluster.leader_of(TOPIC) is not zombie
                zombie.thaw()
                (topic,) = client.receive().responses
                (answer,) = topic.partition_responses
            if answer.error_code == 0:  # then it must be there at the end: the checker looks
                now = time.monotonic()
                history.acked.append(Acked(value, 0, answer.base_offset, sent_at, now))
            cluster.wait_until_whole()


def test_a_follower(cluster: ClusterProcesses) -> None:
    with hurt(cluster) as workload:
        leader = cluster.leader_of(TOPIC)
        follower = next(node for node in cluster.nodes.values() if node is not leader)
        with frozen(follower):
            time.sleep(SESSION_S)
            workload.wait_for_progress()
        cluster.wait_until_whole()


def test_the_controller(cluster: ClusterProcesses) -> None:
    with hurt(cluster) as workload:
        with frozen(cluster.controller()):
            time.sleep(SESSION_S)
            workload.wait_for_progress()
        cluster.wait_until_whole()
