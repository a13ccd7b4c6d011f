"""The ids under which a producer's batches are numbered, so that none is stored twice.

All partitions share one. When a partition can no longer tell what comes next, because a batch was
given up whose fate nobody knows, it begins anew under another id; the others keep theirs.
"""

import asyncio

from barnabas.client.accumulator import ANONYMOUS, Lane, ProducerIdentity
from barnabas.client.cluster import Cluster
from barnabas.client.errors import check
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest


class ProducerIdentities:
    """Asks for an id when one is needed; brokers that give none leave the producer anonymous."""

    def __init__(self, cluster: Cluster, *, anonymous: bool) -> None:
        self._cluster = cluster
        self._current: ProducerIdentity | None = ANONYMOUS if anonymous else None
        self._asking = asyncio.Lock()

    async def current(self) -> ProducerIdentity:
        """The identity for a partition that has none."""
        async with self._asking:
            if self._current is None:
                self._current = await self._ask()
            return self._current

    async def _ask(self) -> ProducerIdentity:
        connection = await self._cluster.any_connection()
        if not connection.serves(InitProducerIdRequest):
            return ANONYMOUS
        response = await connection.send(
            InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0),
            timeout_ms=self._cluster.request_timeout_ms,
        )
        check(response.error_code, "the producer's id")
        return ProducerIdentity(response.producer_id, response.producer_epoch)

    def start_over(self, lane: Lane) -> None:
        """Let a partition begin anew, under an identity that it has never seen."""
        if lane.identity is self._current and self._current is not ANONYMOUS:
            self._current = None
        lane.start_over()
