"""What is left of a cluster whose other nodes have lost their data, and how it goes on.

The metadata of the surviving node says which replicas were in sync. Where this one was, or was
eligible, it has every acknowledged record and leads alone; the other replicas stay assigned, and
are filled again when their nodes return with empty directories. Where it was not, it leads all the
same, with what it has: the partition is *recovering*. A partition without a log here has no leader
until an operator accepts that its records are lost.

The metadata may be older than the logs, if this node had not yet fetched the newest of it. So
nothing that was ever given out is given out again: epochs go beyond those in the logs, and numbers
of producers and brokers skip a range.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.metadata.partition_image import NO_LEADER, RECOVERING

_SKIPPED_PRODUCER_IDS = 1_000_000
_SKIPPED_BROKER_EPOCHS = 10_000

LogEpochs = Mapping[tuple[bytes, int], int]
"""The logs of the node, by topic id and partition, with the leader epoch of the last batch."""


class Survival(StrEnum):
    """What the surviving node has of a partition."""

    COMPLETE = "complete"
    """It was in sync or eligible: all that was acknowledged, as far as its metadata knows."""
    PARTIAL = "partial"
    """It was not in sync: records that only the others had are lost."""
    LOST = "lost"
    """It has no log of it."""


class SurvivingPartition(NamedTuple):
    topic: TopicImage
    partition: PartitionImage
    survival: Survival


def surviving_partitions(
    image: MetadataImage, node_id: int, logs: LogEpochs
) -> list[SurvivingPartition]:
    """Every partition of the cluster, in the order of names."""
    return [
        SurvivingPartition(topic, partition, _survival(topic, partition, node_id, logs))
        for _, topic in sorted(image.topics.items())
        for partition in topic.partitions
    ]


def _survival(
    topic: TopicImage, partition: PartitionImage, node_id: int, logs: LogEpochs
) -> Survival:
    if (topic.topic_id, partition.index) not in logs or node_id not in partition.replicas:
        return Survival.LOST
    has_all = node_id in partition.isr or node_id in partition.elr
    return Survival.COMPLETE if has_all else Survival.PARTIAL


def rebuilt_image(image: MetadataImage, node_id: int, logs: LogEpochs) -> MetadataImage:
    """The cluster as it goes on with this node alone; `image` stays as it is."""
    rebuilt = image.copy()
    for topic, partition, survival in surviving_partitions(image, node_id, logs):
        epoch = max(partition.leader_epoch, logs.get((topic.topic_id, partition.index), -1))
        rebuilt.topics[topic.name].partitions[partition.index] = _rebuilt(
            replace(
                partition, leader_epoch=epoch + 1, partition_epoch=partition.partition_epoch + 1
            ),
            node_id,
            survival,
        )
    for broker in image.brokers.values():
        if broker.id != node_id:
            rebuilt.brokers[broker.id] = replace(broker, fenced=True)
    rebuilt.next_producer_id += _SKIPPED_PRODUCER_IDS
    rebuilt.next_broker_epoch += _SKIPPED_BROKER_EPOCHS
    return rebuilt


def _rebuilt(partition: PartitionImage, node_id: int, survival: Survival) -> PartitionImage:
    if survival is Survival.LOST:
        return replace(
            partition,
            leader=NO_LEADER,
            isr=[member for member in partition.isr if member != node_id],
            elr=[member for member in partition.elr if member != node_id],
        )
    is_partial = survival is Survival.PARTIAL
    return replace(
        partition,
        leader=node_id,
        isr=[node_id],
        elr=[],
        last_known_elr=[],
        leader_recovery_state=RECOVERING if is_partial else partition.leader_recovery_state,
    )
