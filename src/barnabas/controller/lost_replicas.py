"""AssignReplicasToDirs: a broker reports replicas that have lost records, or can't be used.

The directory LOST, which Kafka's brokers give for replicas in a failed directory, means replicas
that may lack the newest records. They leave the in-sync set and the eligible leaders, and return
like any other lagging replica, by fetching. OFFLINE means replicas with a gap, or that can't be
read. They leave only if another replica is in sync or eligible: otherwise an incomplete log is
better than none. UNWRITABLE means replicas that have all records and can't store more, because the
disk is full or failing: they leave if two others stay in sync, or if they become eligible leaders;
otherwise the other one leads from now on, and removes them itself when they lag. A broker here has
one directory, so any other directory changes nothing.
"""

from dataclasses import replace

from barnabas.controller.decision import Refusal
from barnabas.controller.draft import Draft
from barnabas.controller.liveness import lose_replica
from barnabas.controller.partition_changes import change_partition
from barnabas.controller.registrations import epoch_error
from barnabas.metadata.image import PartitionImage, TopicImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    DirectoryResult,
    PartitionResult,
    TopicResult,
)

LOST_DIRECTORY = bytes(15) + b"\x01"
OFFLINE_DIRECTORY = bytes(15) + b"\x03"
UNWRITABLE_DIRECTORY = bytes(15) + b"\x04"
"""Not Kafka's: it reserves the first hundred ids and does not use these."""


def assign_replicas_to_dirs(
    draft: Draft, request: AssignReplicasToDirsRequest
) -> AssignReplicasToDirsResponse:
    """Each partition succeeds or fails on its own; a stale broker epoch fails all of them."""
    error = epoch_error(draft.image, request.broker_id, request.broker_epoch)
    if error:
        return AssignReplicasToDirsResponse(error_code=error)
    return AssignReplicasToDirsResponse(
        directories=[
            DirectoryResult(
                directory.directory_id,
                [
                    TopicResult(
                        topic.topic_id,
                        [
                            PartitionResult(
                                data.partition_index,
                                _assign(
                                    draft,
                                    request.broker_id,
                                    topic.topic_id,
                                    data.partition_index,
                                    directory.directory_id,
                                ),
                            )
                            for data in topic.partitions
                        ],
                    )
                    for topic in directory.topics
                ],
            )
            for directory in request.directories
        ]
    )


def _assign(draft: Draft, broker_id: int, topic_id: bytes, index: int, directory: bytes) -> int:
    try:
        topic, partition = _find(draft, topic_id, index)
        if broker_id not in partition.replicas:
            raise Refusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the broker has no such replica")
        if directory == LOST_DIRECTORY:
            _lose(draft, topic, partition, broker_id)
        elif directory == OFFLINE_DIRECTORY:
            _take_offline(draft, topic, partition, broker_id)
        elif directory == UNWRITABLE_DIRECTORY:
            _leave(draft, topic, partition, broker_id)
    except Refusal as refusal:
        return refusal.error_code
    return ErrorCode.NONE


def _find(draft: Draft, topic_id: bytes, index: int) -> tuple[TopicImage, PartitionImage]:
    topic = draft.image.topics_by_id.get(topic_id)
    if topic is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "unknown topic")
    partition = draft.image.partition(topic_id, index)
    if partition is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "unknown partition")
    return topic, partition


def _lose(draft: Draft, topic: TopicImage, partition: PartitionImage, broker_id: int) -> None:
    """Remove the replica from the in-sync set, unless it leads and no other could take over.

    In that case an incomplete log is better than none, and the broker retries.
    """
    if partition.leader == broker_id and not _can_another_lead(draft, partition, broker_id):
        if partition.is_only_replica(broker_id):
            return
        raise Refusal(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "no other replica is in sync")
    lose_replica(draft, topic, partition, broker_id, wiped=False)


def _take_offline(
    draft: Draft, topic: TopicImage, partition: PartitionImage, broker_id: int
) -> None:
    if {*partition.isr, *partition.elr} <= {broker_id}:
        raise Refusal(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "no other replica is in sync")
    _lose(draft, topic, partition, broker_id)


def _leave(draft: Draft, topic: TopicImage, partition: PartitionImage, broker_id: int) -> None:
    """Let others go on without this replica, which has everything that was acknowledged.

    The set does not shrink to a single member here, unless this replica stays eligible: that member
    may be dead already, without the controller knowing, and its disk with it (`partition_changes`).
    """
    if broker_id not in partition.isr:
        return
    others = [member for member in partition.isr if member != broker_id]
    active = [member for member in others if draft.image.is_active(member)]
    if not active:
        raise Refusal(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "no other replica is in sync")
    if len(others) > 1 or len(others) < draft.min_isr(topic.name):
        change_partition(draft, topic, replace(partition, isr=others))
    elif partition.leader == broker_id:
        leader = min(active, key=lambda member: member in draft.behind)
        change_partition(draft, topic, replace(partition, leader=leader))


def _can_another_lead(draft: Draft, partition: PartitionImage, broker_id: int) -> bool:
    others = {*partition.isr, *partition.elr} - {broker_id}
    return any(map(draft.image.is_active, others))
