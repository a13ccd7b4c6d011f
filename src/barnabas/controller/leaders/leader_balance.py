"""Automatic election of preferred leaders."""

from collections import Counter
from dataclasses import replace

from barnabas.controller.controller_config import ControllerConfig
from barnabas.controller.draft import Draft
from barnabas.controller.partition_changes import change_partition
from barnabas.metadata.image import MetadataImage, PartitionImage
from barnabas.wire.messages.metadata_records import PartitionChangeRecord


def could_lead_again(image: MetadataImage, partition: PartitionImage) -> bool:
    """Whether the preferred leader could lead, and does not."""
    preferred = partition.replicas[0]
    return (
        partition.leader != preferred and preferred in partition.isr and image.is_active(preferred)
    )


def balance_leaders(draft: Draft, config: ControllerConfig) -> bool:
    """Elect preferred leaders; returns False if some are left for the next time.

    Partitions of a broker stay as they are while others lead only a small share of them, and while
    it is behind with the metadata: it would not know that it leads.
    """
    image = draft.image
    should: Counter[int] = Counter()
    elsewhere: Counter[int] = Counter()
    for topic in image.topics.values():
        for partition in topic.partitions:
            should[partition.replicas[0]] += 1
            elsewhere[partition.replicas[0]] += partition.leader != partition.replicas[0]
    imbalanced = {
        broker_id
        for broker_id, count in elsewhere.items()
        if broker_id not in draft.behind
        and count * 100 > should[broker_id] * config.leader_imbalance_percentage
    }
    moved = 0
    for topic in image.topics.values():
        for partition in topic.partitions:
            if partition.replicas[0] in imbalanced and could_lead_again(image, partition):
                if moved == config.max_elections_at_a_time:
                    return False
                change_partition(draft, topic, replace(partition, leader=partition.replicas[0]))
                moved += 1
    return True


def waits_for_broker(draft: Draft) -> bool:
    """Whether a preferred leader could lead again, were it not behind with the metadata."""
    return bool(draft.behind) and any(
        partition.replicas[0] in draft.behind and could_lead_again(draft.image, partition)
        for topic in draft.image.topics.values()
        for partition in topic.partitions
    )


def wanted_by(draft: Draft) -> bool:
    """Whether a preferred leader can lead again after a decision."""
    for record in draft.records:
        if isinstance(record, PartitionChangeRecord):
            partition = draft.image.partition(record.topic_id, record.partition_id)
            if partition is not None and could_lead_again(draft.image, partition):
                return True
    return False


class LeaderBalanceSchedule:
    """When leadership is balanced next: at an interval, and soon after a broker has returned.

    Soon again, too, while one that has returned is behind with the metadata.
    """

    def __init__(self, config: ControllerConfig, now_ms: int) -> None:
        self._config = config
        self.now_ms = now_ms
        """The time of the last decision that had one."""
        self.next_ms: int | None = None
        self.done(finished=True)

    def is_due(self) -> bool:
        return self.next_ms is not None and self.next_ms <= self.now_ms

    def soon(self) -> None:
        if self.next_ms is not None:
            self.next_ms = min(self.next_ms, self.now_ms + self._config.leader_return_delay_ms)

    def done(self, *, finished: bool) -> None:
        if self._config.auto_leader_rebalance:
            interval_ms = self._config.leader_imbalance_check_interval_ms
            self.next_ms = self.now_ms + (interval_ms if finished else 1)
