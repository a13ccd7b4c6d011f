"""Connections to clusters, kept for as long as the process lives.

Spark reuses its Python workers, one task after the other. A micro-batch that had to connect first
would take longer to connect than to read.
"""

import os
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import TypeVar

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.connection_pool import Channel
from barnabas.spark.cluster.kafka_settings import ConnectionOptions
from barnabas.spark.cluster.worker_memory import freeze_loaded_objects
from barnabas.sync.waiting import Client

T = TypeVar("T")


class ClusterConnection(Client):
    """A cluster client, and blocking calls on it."""

    def __init__(self, options: ConnectionOptions) -> None:
        self.cluster = ClusterClient(
            options.bootstrap_servers,
            client_id=options.client_id,
            connect_timeout_ms=options.connect_timeout_ms,
            request_timeout_ms=options.request_timeout_ms,
            retry_timeout_ms=options.retry_timeout_ms,
            security=options.security,
        )
        self.fetches = Channel()
        super().__init__(self.cluster)

    def ask(self, question: Callable[[ClusterClient], Awaitable[T]]) -> T:
        """Wait for an answer."""
        return self._wait(self._ask(question))

    def begin(self, work: Coroutine[object, object, T]) -> "Future[T]":
        """Let something run while the caller does something else."""
        return self._registration.submit(work)

    def begin_asking(self, question: Callable[[ClusterClient], Awaitable[T]]) -> "Future[T]":
        """Ask, and do something else until there is an answer."""
        return self.begin(self._ask(question))

    def await_cluster(self) -> None:
        """Wait until a broker answers. Without this, the first question fails at once if none does.

        Raises `BrokerUnreachable` after the retry timeout.
        """
        if not self.cluster.brokers:
            self._wait(self.cluster.retrying(lambda: self.cluster.refresh([])))

    async def _ask(self, question: Callable[[ClusterClient], Awaitable[T]]) -> T:
        if not self.cluster.brokers:
            await self.cluster.refresh([])
        return await question(self.cluster)


def connect(options: ConnectionOptions) -> ClusterConnection:
    """The connection of this process, which may have been forked from one that has its own."""
    key = (os.getpid(), options)
    connection = _connections.get(key)
    if connection is None:
        freeze_loaded_objects()
        connection = _connections[key] = ClusterConnection(options)
    return connection


def connect_when_up(options: ConnectionOptions) -> ClusterConnection:
    """As `connect`, but wait for a cluster that is down: a stream outlives its brokers."""
    connection = connect(options)
    connection.await_cluster()
    return connection


_connections: dict[tuple[int, ConnectionOptions], ClusterConnection] = {}
