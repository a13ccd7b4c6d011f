"""Clients that ask and do not read: what they leave unread is limited, all together."""

from contextlib import ExitStack

import psutil

from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BY_NAME,
    asked,
    create_topic,
    fetch_one,
    fetch_request,
    produced,
    values_of,
)
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

LIMIT = 4 << 20
SETTINGS = {"queued.max.response.bytes": str(LIMIT)}


def test_who_does_not_read_is_closed_and_the_others_are_served(
    node: BrokerProcess, topic: str
) -> None:
    with RawClient(node.host, node.port) as honest, ExitStack() as stack:
        create_topic(honest, topic)
        for _ in range(10):
            produced(honest, topic, batch(b"x" * 450_000))
        before = psutil.Process(node.pid).memory_info().rss
        large = fetch_request(asked(topic, {0: 0}, max_bytes=8 << 20), max_bytes=8 << 20)
        stalled = [
            stack.enter_context(RawClient(node.host, node.port, receive_buffer=4096))
            for _ in range(30)
        ]
        for client in stalled:  # several times, as the sockets' own buffers take some megabytes
            client.send_bytes(client.frame(large, BY_NAME) * 4)

        def limit_is_named() -> bool:
            return "queued.max.response.bytes is used up" in node.log.read_text()

        wait_until(limit_is_named, "no connection is closed")
        # Unlimited it would be 8 MB for each of the 30; beyond the limit an answer is one batch.
        grown = psutil.Process(node.pid).memory_info().rss - before
        assert grown < 30 * (2 << 20) + LIMIT

        def first_value() -> bytes | None:
            """None while closed connections still count: then a fetch brings no records."""
            return next(iter(values_of(fetch_one(honest, topic, max_bytes=8 << 20))), None)

        assert wait_until(first_value, "an honest client is not served") == b"x" * 450_000
