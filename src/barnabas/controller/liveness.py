"""Fencing and unfencing of brokers, and the elections that follow.

All partitions are checked each time: ten thousand take a few milliseconds, and an index of them
would have to be updated by every change.
"""

from collections.abc import Collection
from dataclasses import replace

from barnabas.controller.decision import BrokerUnfenced
from barnabas.controller.draft import Draft
from barnabas.controller.partition_changes import change_partition
from barnabas.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage
from barnabas.metadata.partition_image import NO_LEADER
from barnabas.wire.messages.metadata_records import BrokerRegistrationChangeRecord

FENCE = 1
UNFENCE = -1
SHUT_DOWN = 1


def fence(draft: Draft, broker_ids: Collection[int]) -> None:
    """Fence all brokers first, so that none of them is elected in place of another."""
    for broker_id in broker_ids:
        broker = draft.image.brokers[broker_id]
        if not broker.fenced:
            draft.write(_change(broker, fenced=FENCE))
    elect_for_brokers(draft, broker_ids)


def unfence(draft: Draft, broker: BrokerImage) -> None:
    """A broker is active: it may lead partitions that have no leader."""
    is_back = draft.image.was_unfenced(broker.id)
    draft.broker_events.append(BrokerUnfenced(broker.id, is_back))
    draft.write(_change(broker, fenced=UNFENCE))
    for topic in draft.image.topics.values():
        for partition in topic.partitions:
            if partition.leader == NO_LEADER and broker.id in partition.replicas:
                change_partition(draft, topic, partition)


def led_partitions(image: MetadataImage, broker_id: int) -> int:
    """How many partitions a broker leads."""
    return sum(
        partition.leader == broker_id
        for topic in image.topics.values()
        for partition in topic.partitions
    )


def has_leaderless(image: MetadataImage) -> bool:
    return any(
        partition.leader == NO_LEADER
        for topic in image.topics.values()
        for partition in topic.partitions
    )


def elect_leaderless(draft: Draft) -> None:
    """Hold elections that the former controller may have left undone."""
    for topic in draft.image.topics.values():
        for partition in topic.partitions:
            if partition.leader == NO_LEADER:
                change_partition(draft, topic, partition)


def begin_shutdown(draft: Draft, broker: BrokerImage) -> None:
    """A broker begins a controlled shutdown: others take over what they can lead."""
    draft.write(_change(broker, in_controlled_shutdown=SHUT_DOWN))
    elect_for_brokers(draft, [broker.id])


def elect_for_brokers(draft: Draft, broker_ids: Collection[int]) -> None:
    """Hold elections for all partitions that the brokers lead or are in sync with."""
    gone = frozenset(broker_ids)
    for topic in draft.image.topics.values():
        for partition in topic.partitions:
            if partition.leader in gone or not gone.isdisjoint(partition.isr):
                change_partition(draft, topic, partition)


def distrust(draft: Draft, broker_id: int, *, wiped: bool) -> None:
    """A fenced broker returned without records that it had acknowledged, in all partitions."""
    for topic in draft.image.topics.values():
        for partition in topic.partitions:
            lose_replica(draft, topic, partition, broker_id, wiped=wiped)


def lose_replica(
    draft: Draft, topic: TopicImage, partition: PartitionImage, broker_id: int, *, wiped: bool
) -> None:
    """A replica lacks records that it had acknowledged: it is neither in sync nor eligible.

    If it was the last one, the partition goes offline, because no other replica has all committed
    records. A partition with a single replica stays online with what is left.
    """
    if broker_id not in partition.isr and broker_id not in partition.elr:
        return
    isr = [member for member in partition.isr if member != broker_id]
    elr = [member for member in partition.elr if member != broker_id]
    if not isr and not elr and not wiped and partition.is_only_replica(broker_id):
        return
    known = [member for member in partition.last_known_elr if member != broker_id]
    if not wiped:
        known.append(broker_id)
    last_known = known if not isr and not elr else []
    wanted = replace(partition, isr=isr, elr=elr, last_known_elr=last_known)
    change_partition(draft, topic, wanted, lost=[broker_id])


def leads_what_others_could(draft: Draft, broker_id: int) -> bool:
    """Whether other active replicas could take over once they are in sync."""
    image = draft.image
    return any(
        partition.leader == broker_id
        and any(image.is_active(replica) for replica in partition.replicas if replica != broker_id)
        for topic in image.topics.values()
        for partition in topic.partitions
    )


def _change(
    broker: BrokerImage, *, fenced: int = 0, in_controlled_shutdown: int = 0
) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(broker.id, broker.epoch, fenced, in_controlled_shutdown)
