"""Puts records for later."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.delays.delayed_record import with_due
from barnabas.client.delays.delayed_rights import sender_denial
from barnabas.client.delays.delayed_topic import delayed_topic, ensure_delayed_topic
from barnabas.client.delays.levels import level_of
from barnabas.client.producer.sent_record import Sent
from barnabas.errors import NotAuthorized
from barnabas.records.record import Header


def now_ms() -> int:
    """The time by which records are due."""
    return time.time_ns() // 1_000_000


class Send(Protocol):
    """`ProducerCore.send`."""

    def __call__(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Sequence[Header],
        partition: int | None,
        timestamp_ms: int | None,
        /,
    ) -> Awaitable[Sent]: ...


class DelayedSends:
    """Of one client."""

    def __init__(
        self,
        cluster: ClusterClient,
        send: Send,
        on_found: Callable[[], object] = lambda: None,
        time_ms: Callable[[], int] = now_ms,
    ) -> None:
        """`on_found` is called when the companion of a topic exists."""
        self._cluster = cluster
        self._send = send
        self._on_found = on_found
        self._time_ms = time_ms
        self._known: set[str] = set()

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Sequence[Header],
        due_ms: int,
    ) -> Sent:
        """Send a record so that it is in the topic when it is due; at once if it is by now."""
        left_ms = due_ms - self._time_ms()
        if left_ms <= 0:
            return await self._send(topic, value, key, headers, None, None)
        if topic not in self._known:
            try:
                await ensure_delayed_topic(self._cluster, topic)
            except NotAuthorized as error:
                raise await sender_denial(self._cluster, topic, error) from error
            self._known.add(topic)
            self._on_found()
        return await self._send(
            delayed_topic(topic),
            value,
            key,
            with_due(headers, due_ms),
            level_of(left_ms),
            due_ms - left_ms,
        )
