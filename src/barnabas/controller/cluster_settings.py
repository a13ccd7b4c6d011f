"""The settings that the controller decides by, typed: as its own broker has them now."""

from dataclasses import dataclass
from typing import NamedTuple

from barnabas.controller.configs import BrokerSettings
from barnabas.metadata.config_values import ConfigValue
from barnabas.metadata.image import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    MetadataImage,
)
from barnabas.metadata.topic_configs import TOPIC_CONFIGS

_UNCLEAN_ELECTION = "unclean.leader.election.enable"
_MIN_ISR = "min.insync.replicas"
ELECTION_SETTINGS = frozenset({_UNCLEAN_ELECTION, _MIN_ISR})
"""A change of one of these may change who leads."""
_REPLICAS_FOR_TWO = 3
"""With two replicas, each restart of a node would stop the coordinators."""


class InternalTopicSettings(NamedTuple):
    num_partitions: int
    replication_factor: int
    segment_bytes: int
    min_insync_replicas: int | None = None
    """None: as the brokers have it."""
    is_compacted: bool = True
    """Otherwise its coordinator deletes what it no longer needs."""


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Reads `broker`'s settings, and changes of them in `image`, when they are asked for."""

    broker: BrokerSettings
    image: MetadataImage

    @property
    def num_partitions(self) -> int:
        return self._number("num.partitions")

    @property
    def default_replication_factor(self) -> int:
        return self._number("default.replication.factor")

    @property
    def max_broker_partitions(self) -> int:
        return self._number("max.broker.partitions")

    @property
    def create_partitions_max_per_second(self) -> int:
        return self._number("create.partitions.max.per.second")

    @property
    def create_partitions_max_burst(self) -> int:
        return self._number("create.partitions.max.burst")

    @property
    def delete_topic_enable(self) -> bool:
        return self.broker.value(self.image, "delete.topic.enable") is True

    def unclean_leader_election_enable(self, topic: str) -> bool:
        return self._topic_value(topic, _UNCLEAN_ELECTION) is True

    def min_insync_replicas(self, topic: str) -> int:
        value = self._topic_value(topic, _MIN_ISR)
        assert isinstance(value, int)
        return value

    def internal_topic(self, name: str) -> InternalTopicSettings:
        """How one of the coordinators' topics is created."""
        if name == CONSUMER_OFFSETS:
            factor = self._number("offsets.topic.replication.factor")
            return InternalTopicSettings(
                self._number("offsets.topic.num.partitions"),
                factor,
                self._number("offsets.topic.segment.bytes"),
                self._internal_min_isr(-1, factor),
            )
        if name == SHARE_GROUP_STATE:
            factor = self._number("share.coordinator.state.topic.replication.factor")
            min_isr = self._number("share.coordinator.state.topic.min.isr")
            return InternalTopicSettings(
                self._number("share.coordinator.state.topic.num.partitions"),
                factor,
                self._number("share.coordinator.state.topic.segment.bytes"),
                self._internal_min_isr(min_isr, factor),
                is_compacted=False,
            )
        assert name == TRANSACTION_STATE
        factor = self._number("transaction.state.log.replication.factor")
        return InternalTopicSettings(
            self._number("transaction.state.log.num.partitions"),
            factor,
            self._number("transaction.state.log.segment.bytes"),
            self._internal_min_isr(self._number("transaction.state.log.min.isr"), factor),
        )

    def _internal_min_isr(self, given: int, factor: int) -> int | None:
        """Two of three replicas, unless more or something else is asked for.

        Coordinators acknowledge commits that nobody writes again. With one, the loss of the only
        disk in sync would lose them.
        """
        if given > 0:
            return given
        if factor == -1:
            factor = self.default_replication_factor
        replicas = len(self.image.brokers) if factor == -1 else factor
        if replicas < _REPLICAS_FOR_TWO:
            return None
        own = self.broker.value(self.image, _MIN_ISR)
        assert isinstance(own, int)
        return max(2, own)

    def _number(self, name: str) -> int:
        value = self.broker.value(self.image, name)
        assert isinstance(value, int)
        return value

    def _topic_value(self, topic: str, name: str) -> ConfigValue:
        """The topic's own, or the broker's setting of the same name."""
        own = self.image.topic_configs(topic).get(name)
        if own is not None:
            return TOPIC_CONFIGS[name].parse(own)
        return self.broker.value(self.image, name)
