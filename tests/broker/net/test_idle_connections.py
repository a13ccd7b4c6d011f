"""Who sends nothing for `connections.max.idle.ms` is cut off."""

import time

import psutil

from barnabas.wire.messages.metadata import MetadataRequest
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BY_NAME,
    asked,
    create_topic,
    fetch_request,
    partitions_of,
    produced,
)
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

SETTINGS = {"connections.max.idle.ms": "3000"}  # longer than a loaded machine may pause


def connections(node: BrokerProcess) -> int:
    """How many clients the broker's process is connected to."""
    open_sockets = psutil.Process(node.pid).net_connections("tcp")
    return sum(one.status == psutil.CONN_ESTABLISHED for one in open_sockets)


def test_the_idle_go_and_the_others_stay(node: BrokerProcess, topic: str) -> None:
    started = time.monotonic()
    with (
        RawClient(node.host, node.port) as busy,
        RawClient(node.host, node.port) as waiting,
        RawClient(node.host, node.port),
        RawClient(node.host, node.port, receive_buffer=4096) as stalled,
    ):
        wait_until(lambda: connections(node) == 4, "not all are connected")
        create_topic(busy, topic)
        produced(busy, topic, batch(b"x" * 500_000))
        # More than the sockets hold: this client would have to read before it can be answered.
        large = fetch_request(asked(topic, {0: 0}, max_bytes=4 << 20), max_bytes=4 << 20)
        stalled.send_bytes(b"".join(stalled.frame(large, BY_NAME) for _ in range(20)))
        waiting.send(fetch_request(asked(topic, {0: 1}), max_wait_ms=600_000), BY_NAME)

        def only_two_are_left() -> bool:
            assert busy.ask(MetadataRequest([])).cluster_id
            return connections(node) == 2

        wait_until(only_two_are_left, "idle connections stay")
        assert time.monotonic() - started > 2.5
        produced(busy, topic, batch(b"y"))
        assert partitions_of(waiting.receive())[topic, 0].error_code == 0
