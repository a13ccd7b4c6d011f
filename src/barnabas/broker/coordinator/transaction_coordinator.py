"""The transaction coordinator, for the partitions of `__transaction_state` that this node leads."""

from asyncio import AbstractEventLoop
from collections.abc import Callable, Collection

from barnabas.broker.coordinator.coordinator import Coordinator
from barnabas.broker.coordinator.leader_partition import LeaderPartition
from barnabas.broker.coordinator.transaction_coordinator_shard import (
    MarkerWriter,
    TransactionCoordinatorShard,
)
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.metadata.image import TRANSACTION_STATE, MetadataImage
from barnabas.transactions import TransactionConfig, TransactionShard
from barnabas.transactions.transaction_counts import TransactionCounts


class TransactionCoordinator(Coordinator[TransactionCoordinatorShard]):
    def __init__(
        self,
        loop: AbstractEventLoop,
        config: BrokerConfig,
        clock: Clock,
        image: Callable[[], MetadataImage],
        is_cut_off: Callable[[], bool],
        new_producer_id: Callable[[], int | None],
        markers: MarkerWriter,
        clock_lead_ms: Callable[[], int] = lambda: 0,
    ) -> None:
        """`clock_lead_ms` is how far the clock is ahead of that of other nodes."""
        super().__init__(TRANSACTION_STATE, loop, image, is_cut_off)
        self._clock = clock
        self._new_producer_id = new_producer_id
        self._markers = markers
        self._config = TransactionConfig(
            transaction_max_timeout_ms=config.transactions.max_timeout_ms,
            transactional_id_expiration_ms=config.transactions.id_expiration_ms,
            max_transactional_ids=config.transactions.max_ids_per_partition,
            clock_lead_ms=clock_lead_ms,
        )
        self.counts = TransactionCounts()
        self._commit_timeout_ms = config.groups.commit_timeout_ms

    def _new_shard(self, partition: LeaderPartition) -> TransactionCoordinatorShard:
        return TransactionCoordinatorShard(
            partition,
            TransactionShard(self._config, self._new_producer_id, self.counts),
            self._loop,
            self._clock,
            self._commit_timeout_ms,
            self._markers,
        )

    def topics_deleted(self, names: Collection[str]) -> None:
        for shard in self.shards:
            shard.topics_deleted(names)
