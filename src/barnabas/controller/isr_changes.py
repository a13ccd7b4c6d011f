"""AlterPartition: a leader changes the in-sync set."""

from dataclasses import replace

from barnabas.controller.decision import Refusal
from barnabas.controller.draft import Draft
from barnabas.controller.partition_changes import change_partition
from barnabas.controller.registrations import epoch_error
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.metadata.partition_image import RECOVERED, RECOVERING
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    PartitionData,
    PartitionResult,
    TopicData,
    TopicResult,
)
from barnabas.wire.primitives import ZERO_UUID


def alter_partition(draft: Draft, request: AlterPartitionRequest) -> AlterPartitionResponse:
    """Each partition succeeds or fails on its own; a stale broker epoch fails all of them."""
    error = epoch_error(draft.image, request.broker_id, request.broker_epoch)
    if error:
        return AlterPartitionResponse(error_code=error)
    return AlterPartitionResponse(
        topics=[
            TopicResult(
                data.topic_name,
                data.topic_id,
                [_result(draft, request.broker_id, data, wanted) for wanted in data.partitions],
            )
            for data in request.topics
        ]
    )


def _result(
    draft: Draft, broker_id: int, data: TopicData, wanted: PartitionData
) -> PartitionResult:
    try:
        topic, before = _find(draft.image, data, wanted.partition_index)
        isr = _checked_isr(draft.image, broker_id, before, wanted)
    except Refusal as refusal:
        return PartitionResult(wanted.partition_index, refusal.error_code)
    if set(isr) != set(before.isr) or wanted.leader_recovery_state != before.leader_recovery_state:
        recovery = wanted.leader_recovery_state
        change_partition(draft, topic, replace(before, isr=isr, leader_recovery_state=recovery))
    after = topic.partitions[before.index]
    return PartitionResult(
        after.index,
        ErrorCode.NONE if after.leader == broker_id else ErrorCode.NEW_LEADER_ELECTED,
        after.leader,
        after.leader_epoch,
        after.isr,
        after.leader_recovery_state,
        after.partition_epoch,
    )


def _find(image: MetadataImage, data: TopicData, index: int) -> tuple[TopicImage, PartitionImage]:
    """By topic id, or before version 2 by name."""
    if data.topic_id != ZERO_UUID:
        topic, error = image.topics_by_id.get(data.topic_id), ErrorCode.UNKNOWN_TOPIC_ID
    else:
        topic, error = image.topics.get(data.topic_name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if topic is None:
        raise Refusal(error, "unknown topic")
    partition = image.partition(topic.topic_id, index)
    if partition is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "unknown partition")
    return topic, partition


def _checked_isr(
    image: MetadataImage, broker_id: int, partition: PartitionImage, wanted: PartitionData
) -> list[int]:
    """The in-sync set of the request, in the order of the replicas."""
    _check_epochs(partition, wanted)
    if partition.leader != broker_id:
        raise Refusal(ErrorCode.INVALID_REQUEST, "only the leader can change the in-sync set")
    epochs = {state.broker_id: state.broker_epoch for state in wanted.new_isr_with_epochs}
    members = list(epochs) or wanted.new_isr
    if broker_id not in members or not set(members) <= set(partition.replicas):
        raise Refusal(
            ErrorCode.INVALID_REQUEST, "the in-sync set must contain the leader, and replicas only"
        )
    _check_recovery(partition, wanted)
    for member in members:
        # Members of the current set are not checked: had one lost records, the set would have
        # changed when it returned. So a new leader, which has not heard from it yet, can remove
        # others.
        if member not in partition.isr and not _is_eligible(image, member, epochs.get(member)):
            raise Refusal(ErrorCode.INELIGIBLE_REPLICA, f"broker {member} can't be in sync")
    return [replica for replica in partition.replicas if replica in members]


def _check_epochs(partition: PartitionImage, wanted: PartitionData) -> None:
    """Older epochs: the sender is behind. Newer ones: this node is, so it is not the controller."""
    if wanted.leader_epoch < partition.leader_epoch:
        raise Refusal(ErrorCode.FENCED_LEADER_EPOCH, "there is a newer leader")
    if wanted.partition_epoch < partition.partition_epoch:
        raise Refusal(ErrorCode.INVALID_UPDATE_VERSION, "the partition has changed since")
    if (
        wanted.leader_epoch > partition.leader_epoch
        or wanted.partition_epoch > partition.partition_epoch
    ):
        raise Refusal(ErrorCode.NOT_CONTROLLER, "this controller is behind")


def _check_recovery(partition: PartitionImage, wanted: PartitionData) -> None:
    if wanted.leader_recovery_state not in (RECOVERED, RECOVERING):
        raise Refusal(ErrorCode.INVALID_REQUEST, "unknown recovery state")
    begins = wanted.leader_recovery_state == RECOVERING
    if begins and partition.leader_recovery_state == RECOVERED:
        raise Refusal(ErrorCode.INVALID_REQUEST, "only an election can begin a recovery")


def _is_eligible(image: MetadataImage, broker_id: int, broker_epoch: int | None) -> bool:
    """Whether it is active, in the epoch in which the leader saw it catch up (from version 3)."""
    if not image.is_active(broker_id):
        return False
    return broker_epoch is None or image.brokers[broker_id].epoch == broker_epoch
