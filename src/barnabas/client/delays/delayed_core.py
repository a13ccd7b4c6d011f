"""The core of a client that puts records for later and moves them: of an application.

A queue has its own: it puts with the producer that it has, and moves while it takes jobs.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence

from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.background_tasks import BackgroundTasks
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.security_settings import SecurityValue, security_settings
from barnabas.client.delays.delayed_sends import DelayedSends
from barnabas.client.delays.movers import DelayedMovers
from barnabas.client.producer.producer_core import ProducerCore
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.client.producer.sent_record import Delivery
from barnabas.records.record import Header

_log = logging.getLogger("barnabas.delays")


class DelayedCore:
    """Moves the delayed records of some topics, and puts some for any topic."""

    def __init__(
        self,
        bootstrap_servers: BootstrapServers,
        topics: Iterable[str],
        *,
        client_id: str,
        security: Mapping[str, SecurityValue] | None,
    ) -> None:
        def cluster() -> ClusterClient:
            return ClusterClient(
                bootstrap_servers, client_id=client_id, security=security_settings(security)
            )

        self._cluster = cluster()
        sends = cluster()
        self._producer = ProducerCore(sends, RecordProducer(sends, linger_ms=0))
        self._movers = DelayedMovers(
            bootstrap_servers, topics, client_id=client_id, security=security
        )
        self._sends = DelayedSends(self._cluster, self._producer.send, self._movers.look)
        self._tasks = BackgroundTasks(self._crashed)

    async def start(self) -> None:
        """Begin to move."""
        self._tasks.start(self._movers.run(self._cluster, self._tasks.start))

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Sequence[Header],
        due_ms: int,
    ) -> Delivery:
        """Store a record that is in its topic when it is due."""
        return await (await self._sends.send(topic, value, key, headers, due_ms))

    async def close(self) -> None:
        """Leave the groups."""
        await self._tasks.close()
        try:
            await self._producer.close()
        finally:
            await self._cluster.close()

    def _crashed(self) -> None:
        _log.error("delayed records are no longer moved here", exc_info=self._tasks.crash)
