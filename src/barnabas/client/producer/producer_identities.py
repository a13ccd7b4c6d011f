"""The ids under which a producer's batches are numbered, so that none is stored twice.

All partitions share one. When a partition can no longer tell what comes next, because a batch
failed that may have arrived, it starts again under another id; the others keep theirs.
"""

import asyncio
from collections.abc import Collection
from typing import Protocol

from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.producer.partition_queue import PartitionQueue
from barnabas.client.producer.producer_identity import ANONYMOUS, ProducerIdentity
from barnabas.errors import BarnabasError, BrokerError, NotAuthorized
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest

TOPICS_BY_NAME = 12
"""The newest version of Produce that names topics; from 13 on they go by their ids."""

_WRITES_NOTHING = (
    "the producer's id: write is not allowed on any topic (CLUSTER_AUTHORIZATION_FAILED); an "
    "administrator allows it: barnabas acls add USER write --topic NAME"
)

# The partition does not know where this producer stands: it has to introduce itself again.
_FORGOTTEN = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    }
)


def may_pass(error: BarnabasError) -> bool:
    """Whether a batch may be stored when it is sent again, as Kafka's producers decide it.

    A batch that arrived damaged is intact in memory. Readers, in contrast, get CORRUPT_MESSAGE for
    what is damaged on a disk, and no attempt changes that: there it is not retriable.
    """
    is_damaged = isinstance(error, BrokerError) and error.code is ErrorCode.CORRUPT_MESSAGE
    return is_damaged or error.retriable


class IdentitySource(Protocol):
    """Under whose name batches are sent, and what their failures mean for it."""

    @property
    def produce_version(self) -> int:
        """The newest version of Produce to use."""

    async def introduce(self, queues: Collection[PartitionQueue]) -> None:
        """See to it that the first batches of these queues may be sent."""

    def may_retry(self, queue: PartitionQueue, error: BarnabasError) -> bool:
        """Whether to send a queue's first batch again; if so, it is ready for that."""

    def gave_up(self, queue: PartitionQueue, error: BarnabasError) -> None:
        """Hear that a queue's first batch has failed."""


class ProducerIdentities:
    """Asks for an id when one is needed; brokers that give none leave the producer anonymous."""

    produce_version = TOPICS_BY_NAME

    def __init__(self, cluster: ClusterClient, *, anonymous: bool) -> None:
        self._cluster = cluster
        self._current: ProducerIdentity | None = ANONYMOUS if anonymous else None
        self._asking = asyncio.Lock()

    async def introduce(self, queues: Collection[PartitionQueue]) -> None:
        """Give an identity to those that have none."""
        for queue in queues:
            if queue.identity is None:
                queue.identity = await self._ask_once()

    async def _ask_once(self) -> ProducerIdentity:
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
        if response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise NotAuthorized(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, _WRITES_NOTHING)
        check(response.error_code, "the producer's id")
        return ProducerIdentity(response.producer_id, response.producer_epoch)

    def may_retry(self, queue: PartitionQueue, error: BarnabasError) -> bool:
        """What may pass is tried again, and so is what a new introduction may cure."""
        if isinstance(error, BrokerError) and error.code in _FORGOTTEN:
            self._start_over(queue)
            return True
        return may_pass(error)

    def gave_up(self, queue: PartitionQueue, error: BarnabasError) -> None:
        """Start over if the batch may have arrived."""
        del error
        if queue.first.is_attempted:
            self._start_over(queue)

    def _start_over(self, queue: PartitionQueue) -> None:
        """Let a partition start over, under an identity that it has never seen."""
        if queue.identity is self._current and self._current is not ANONYMOUS:
            self._current = None
        queue.start_over()
