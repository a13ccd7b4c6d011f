"""Which replicas of this node are throttled while they, or those that read from them, catch up."""

from asyncio import AbstractEventLoop
from collections.abc import Mapping

from barnabas.broker.quotas.replication_quota import ReplicationQuota
from barnabas.broker.replica.partition import Partition
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.metadata.topic_configs import TOPIC_CONFIGS
from barnabas.security.quotas.rate import QuotaWindows

_LEADER = "leader.replication.throttled.replicas"
_FOLLOWER = "follower.replication.throttled.replicas"


class ReplicationThrottles:
    def __init__(
        self, loop: AbstractEventLoop, clock: Clock, config: BrokerConfig, node_id: int
    ) -> None:
        self._node_id = node_id
        windows = QuotaWindows(
            config.quotas.replication_window_num,
            config.quotas.replication_window_size_seconds * 1_000,
        )
        self.leader = ReplicationQuota(
            loop, clock.steady_ms, windows, lambda: config.replicas.leader_throttled_rate
        )
        self.follower = ReplicationQuota(
            loop, clock.steady_ms, windows, lambda: config.replicas.follower_throttled_rate
        )

    def apply(self, partition: Partition, configs: Mapping[str, str]) -> None:
        """Set the throttles of a replica; `configs` are those of its topic."""
        is_leader = self._is_named(_LEADER, configs, partition.index)
        is_follower = self._is_named(_FOLLOWER, configs, partition.index)
        was_throttled = partition.leader_throttle is not None
        partition.leader_throttle = self.leader if is_leader else None
        partition.follower_throttle = self.follower if is_follower else None
        if was_throttled and not is_leader:
            partition.resume_followers()

    def _is_named(self, setting: str, configs: Mapping[str, str], index: int) -> bool:
        """Whether the topic names this node's replica of a partition."""
        if setting not in configs:
            return False
        named = str(TOPIC_CONFIGS[setting].parse(configs[setting])).split(",")
        return "*" in named or f"{index}:{self._node_id}" in named
