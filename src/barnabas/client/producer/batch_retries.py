"""Whether a failed batch is retried, when, and what is looked up before that.

A batch is retried while its error may pass, with fresh metadata, until its delivery timeout.

Brokers learn of a new topic one after the other, so an unknown topic is an error only when they
report it for a while. A topic that was deleted meanwhile is created again for the batches that are
left, if the producer may create topics.
"""

from collections.abc import Collection
from contextlib import suppress

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.environment import BUSY, RETRY
from barnabas.client.producer.partition_queue import PartitionQueue
from barnabas.client.producer.pending_batch import PendingBatch
from barnabas.client.producer.producer_identities import IdentitySource
from barnabas.client.producer.topic_routes import TopicRoutes
from barnabas.errors import BarnabasError, UnknownTopic

_GONE_S = 5.0


class BatchRetries:
    """Decides on retries for `BatchCompletion`."""

    def __init__(self, cluster: ClusterClient, routes: TopicRoutes, *, auto_create: bool) -> None:
        self._cluster = cluster
        self._environment = cluster.environment
        self._routes = routes
        self._auto_create = auto_create

    def may_retry(
        self, queue: PartitionQueue, error: BarnabasError, identities: IdentitySource
    ) -> bool:
        """Whether the first batch of a queue, which has failed, is sent again."""
        return not self._is_gone(queue, error) and identities.may_retry(queue, error)

    def _is_gone(self, queue: PartitionQueue, error: BarnabasError) -> bool:
        """Whether it has been said for long enough that there is no such partition."""
        if not isinstance(error, UnknownTopic):
            queue.gone_since = None
            return False
        now = self._environment.monotonic()
        queue.gone_since = queue.gone_since or now
        return now - queue.gone_since >= _GONE_S

    def retry_at(self, batch: PendingBatch, *, busy: bool) -> float:
        """When a batch is sent again."""
        pause = (BUSY if busy else RETRY).pause(batch.attempts, self._environment.random)
        return self._environment.monotonic() + pause

    async def refresh(self, queues: Collection[PartitionQueue]) -> BarnabasError | None:
        """Look up leaders, and have missing topics created. Returns an error that is final."""
        try:
            await self._cluster.refresh_leaders({queue.partition.topic for queue in queues})
            await self._create_again(
                {queue.partition.topic for queue in queues if queue.gone_since}
            )
        except BarnabasError as error:
            return error
        return None

    async def _create_again(self, topics: Collection[str]) -> None:
        """Have brokers create missing topics, if the producer may."""
        gone = [name for name in topics if self._cluster.known_topic(name) is None]
        if gone and self._auto_create:
            with suppress(BarnabasError):  # the next attempt says it
                await self._cluster.refresh(gone, auto_create=True)

    def note_known(self, queue: PartitionQueue) -> None:
        """A partition that exists by now is no longer counted as unknown."""
        topic = self._cluster.known_topic(queue.partition.topic)
        if topic is not None and queue.partition.partition < len(topic.partitions):
            queue.gone_since = None

    def learn(self, topics: Collection[str]) -> None:
        """Let senders know what is known of topics by now; who sends to what is gone hears that."""
        for name in topics:
            known = self._cluster.known_topic(name)
            if known is None:
                self._routes.forget(name)
            else:
                self._routes.learn(known)
