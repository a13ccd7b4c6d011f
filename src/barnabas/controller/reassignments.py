"""Reassignment of replicas to other brokers.

During a reassignment, a partition's replicas are the new ones, followed by those to be removed. It
ends as soon as all added replicas are in sync, and enough of those that stay (see
`change_partition`).
"""

from dataclasses import replace

from barnabas.controller.decision import Refusal
from barnabas.controller.draft import Draft
from barnabas.controller.enough_copies import keeps_enough
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
    """Each partition on its own; without replicas, its reassignment is cancelled."""
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
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "unknown partition")
        partition = topic.partitions[index]
        if wanted.replicas is None:
            if not partition.is_moving:
                raise Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "no reassignment in progress")
            _move(draft, topic, partition, _origin(partition))
        else:
            check_assignment(draft.image, wanted.replicas)
            if not may_resize and len(wanted.replicas) != len(_origin(partition)):
                raise Refusal(
                    ErrorCode.INVALID_REPLICATION_FACTOR,
                    f"the partition has {len(_origin(partition))} replicas, and the request does "
                    "not allow to change that",
                )
            _move(draft, topic, partition, wanted.replicas)
    except Refusal as refusal:
        return ReassignablePartitionResponse(index, refusal.error_code, refusal.message)
    return ReassignablePartitionResponse(index, error_message=None)


def _origin(partition: PartitionImage) -> list[int]:
    """The replicas before the reassignment in progress."""
    return [r for r in partition.replicas if r not in partition.adding_replicas]


def _move(draft: Draft, topic: TopicImage, partition: PartitionImage, target: list[int]) -> None:
    """Move from the original replicas; those that an earlier reassignment added go at once."""
    origin = _origin(partition)
    removing = [replica for replica in origin if replica not in target]
    adding = [replica for replica in target if replica not in origin]
    replicas = [*target, *removing]
    isr = [member for member in partition.isr if member in replicas]
    if partition.isr and not isr:
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_ASSIGNMENT,
            f"only brokers {partition.isr} are in sync; one of them has to stay a replica",
        )
    elr = [replica for replica in partition.elr if replica in replicas]
    if partition.elr and not isr and not elr:
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_ASSIGNMENT,
            f"only brokers {partition.elr} have all committed records; one has to stay a replica",
        )
    min_isr = draft.min_isr(topic.name)
    if not keeps_enough(partition, replicas, min_isr):
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_ASSIGNMENT,
            f"only brokers {sorted({*partition.isr, *partition.elr})} have all committed records, "
            f"and fewer than {min_isr} of them (min.insync.replicas) would stay; wait until more "
            f"of {target} are in sync",
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
    """The reassignments in progress, of all partitions or of those in the request."""
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
