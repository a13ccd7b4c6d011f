"""Moving replicas from broker to broker.

While a move goes on, a partition's replicas are the new ones, and after them those that will go.
It is over as soon as all that are added are in sync (see `change_partition`).
"""

from dataclasses import replace

from barnabas.controller.decision import Refusal
from barnabas.controller.draft import Draft
from barnabas.controller.partition_changes import change_partition
from barnabas.controller.placement import check_assignment
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from barnabas.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def alter_reassignments(
    draft: Draft, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Each partition on its own: move it, or, where no replicas are given, call its move off."""
    may_resize = request.allow_replication_factor_change
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=may_resize,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                topic.name,
                [_result(draft, topic.name, wanted, may_resize) for wanted in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _result(
    draft: Draft, name: str, wanted: ReassignablePartition, may_resize: bool
) -> ReassignablePartitionResponse:
    index = wanted.partition_index
    try:
        topic = draft.image.topics.get(name)
        if topic is None or not 0 <= index < len(topic.partitions):
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no such partition")
        partition = topic.partitions[index]
        if wanted.replicas is None:
            if not partition.is_moving:
                raise Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "it is not being moved")
            _move(draft, topic, partition, _origin(partition))
        else:
            check_assignment(draft.image, wanted.replicas)
            if not may_resize and len(wanted.replicas) != len(_origin(partition)):
                raise Refusal(
                    ErrorCode.INVALID_REPLICATION_FACTOR,
                    f"it has {len(_origin(partition))} replicas, and that may not change",
                )
            _move(draft, topic, partition, wanted.replicas)
    except Refusal as refusal:
        return ReassignablePartitionResponse(index, refusal.error_code, refusal.message)
    return ReassignablePartitionResponse(index, error_message=None)


def _origin(partition: PartitionImage) -> list[int]:
    """The replicas as they were before the move that is going on."""
    return [r for r in partition.replicas if r not in partition.adding_replicas]


def _move(draft: Draft, topic: TopicImage, partition: PartitionImage, target: list[int]) -> None:
    """From where the replicas were before any move; what an earlier one had added goes at once."""
    origin = _origin(partition)
    removing = [replica for replica in origin if replica not in target]
    adding = [replica for replica in target if replica not in origin]
    replicas = [*target, *removing]
    isr = [member for member in partition.isr if member in replicas]
    if partition.isr and not isr:
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_ASSIGNMENT,
            f"only {partition.isr} is in sync, so it has to stay",
        )
    elr = [replica for replica in partition.elr if replica in replicas]
    if partition.elr and not isr and not elr:
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_ASSIGNMENT,
            f"only {partition.elr} has all that was committed, so it has to stay",
        )
    change_partition(
        draft,
        topic,
        replace(
            partition,
            replicas=replicas,
            isr=isr,
            adding_replicas=adding,
            removing_replicas=removing,
            elr=elr,
            last_known_elr=[r for r in partition.last_known_elr if r in replicas],
        ),
    )


def list_reassignments(
    image: MetadataImage, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """The moves that are going on, of all partitions or of those that are named."""
    asked = request.topics
    if asked is None:
        asked = [
            ListPartitionReassignmentsTopics(topic.name, list(range(len(topic.partitions))))
            for topic in image.topics.values()
        ]
    response = ListPartitionReassignmentsResponse(error_message=None)
    for wanted in asked:
        topic = image.topics.get(wanted.name)
        if topic is None:
            continue
        moving = [
            OngoingPartitionReassignment(
                partition.index,
                partition.replicas,
                partition.adding_replicas,
                partition.removing_replicas,
            )
            for partition in (image.partition(topic.topic_id, i) for i in wanted.partition_indexes)
            if partition is not None and partition.is_moving
        ]
        if moving:
            response.topics.append(OngoingTopicReassignment(topic.name, moving))
    return response
