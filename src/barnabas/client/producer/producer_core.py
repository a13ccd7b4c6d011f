"""What the public producers run in the engine: a producer, its own cluster, and when they begin.

Failures that were not reported yet are raised here, by `flush` and `close`.
"""

import asyncio

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.client.producer.sent_record import Sent
from barnabas.client.producer.transaction import ProducerTransaction
from barnabas.records.record import Headers


class ProducerCore:
    """Begins with its first use. `close_timeout_s` bounds how long `close` goes on delivering."""

    def __init__(self, cluster: ClusterClient, producer: RecordProducer) -> None:
        self.producer = producer
        self.close_timeout_s: float | None = None
        self._cluster = cluster
        self._starting = asyncio.Lock()
        self._started = False

    async def start(self) -> None:
        """Reach the cluster and begin to send, unless that is done."""
        async with self._starting:
            if not self._started:
                await self._cluster.refresh([])
                await self.producer.start()
                self._started = True

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Headers,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> Sent:
        """Queue a record, waiting for whatever that takes."""
        if not self._started:
            await self.start()
        return await self.producer.send(
            topic,
            value,
            key=key,
            headers=headers,
            partition=partition,
            timestamp_ms=timestamp_ms,
        )

    async def begin(self, transaction: ProducerTransaction) -> None:
        """Let all that is sent from now on belong to a transaction."""
        await self.start()
        transaction.begin()

    async def flush(self, timeout_s: float | None) -> None:
        """Wait until all records are settled; raises failures that were not reported yet."""
        if not self._started:
            return
        try:
            async with asyncio.timeout(timeout_s):
                await self.producer.flush()
        except TimeoutError as error:
            raise TimeoutError(
                f"not everything was delivered in {timeout_s} s; it is still being tried"
            ) from error
        self._raise_unreported()

    async def close(self) -> None:
        """Deliver what is left and close; raises failures that were not reported yet."""
        try:
            if self._started:
                await self.producer.close(self.close_timeout_s)
        finally:
            await self._cluster.close()
        self._raise_unreported()

    def _raise_unreported(self) -> None:
        unreported = self.producer.take_unreported()
        if unreported is not None:
            raise unreported
