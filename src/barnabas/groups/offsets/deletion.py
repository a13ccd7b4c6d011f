"""Deleting committed offsets and whole groups.

A deletion reaches commits that were decided before it and are not persisted yet, because their
records stand before its tombstones in the log. It also deletes what ongoing transactions have
committed: when they end, only what they commit later becomes visible.
"""

from collections.abc import Callable, Collection, Sequence

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.group import Group
from barnabas.groups.group_registry import GroupRegistry
from barnabas.groups.offsets.committed_offsets import tombstone
from barnabas.groups.offsets.group_offsets import (
    deletable_offsets,
    is_deletable,
    last_topic_id,
)
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from barnabas.wire.primitives import ZERO_UUID

CheckDelete = Callable[[str, int], ErrorCode]


def delete_offsets(
    group: Group | None,
    request: OffsetDeleteRequest,
    token: object,
    check_partition: CheckDelete,
    decision: CoordinatorDecision,
    now_ms: int,
) -> None:
    """Offsets of topics that members are subscribed to stay; they would be committed again.

    The group itself stays until it expires. If it never had members, it has no record of its own;
    then one is written.
    """
    if group is None or group.is_deleted:
        decision.reply(token, OffsetDeleteResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND))
        return
    if not group.may_lose_offsets:
        decision.reply(token, OffsetDeleteResponse(error_code=ErrorCode.NON_EMPTY_GROUP))
        return
    subscribed = group.subscribed_topics()
    response = OffsetDeleteResponse()
    for topic in request.topics:
        in_use = subscribed is None or topic.name in subscribed
        results = []
        for partition in topic.partitions:
            index = partition.partition_index
            code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if in_use else ErrorCode.NONE
            code = check_partition(topic.name, index) or code
            if code is ErrorCode.NONE and is_deletable(group, (topic.name, index)):
                decision.records.append(tombstone(group.group_id, topic.name, index))
            results.append(OffsetDeleteResponsePartition(index, code))
        response.topics.append(OffsetDeleteResponseTopic(topic.name, results))
    deleted = {
        (topic.name, each.partition_index)
        for topic in response.topics
        for each in topic.partitions
        if not each.error_code
    }
    if deleted.issuperset(deletable_offsets(group)):
        group.persist_empty(decision, now_ms)
    decision.hold(
        token, committed=response, failed=lambda error: OffsetDeleteResponse(error_code=error)
    )


def delete_groups(
    groups: GroupRegistry,
    group_ids: Sequence[str],
    token: object,
    decision: CoordinatorDecision,
) -> None:
    results = [
        DeletableGroupResult(group_id, delete_group(groups.get(group_id), decision))
        for group_id in group_ids
    ]

    def failed(error: ErrorCode) -> DeleteGroupsResponse:
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(each.group_id, each.error_code or error) for each in results
            ]
        )

    decision.hold(token, committed=DeleteGroupsResponse(results=results), failed=failed)


def delete_group(group: Group | None, decision: CoordinatorDecision) -> ErrorCode:
    if group is None or group.is_deleted:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if not group.is_empty:
        return ErrorCode.NON_EMPTY_GROUP
    for topic, partition in deletable_offsets(group):
        decision.records.append(tombstone(group.group_id, topic, partition))
    group.delete(decision)
    return ErrorCode.NONE


def forget_topics(
    group: Group,
    names: Collection[str],
    topic_ids: Collection[bytes] | None,
    decision: CoordinatorDecision,
) -> None:
    """Topics were deleted: a new topic of the same name must start without offsets.

    It may have some already. The coordinator before this one may have known it while this node did
    not know of the deletion. So offsets of topics other than `topic_ids` stay; None means all.
    """
    for key in deletable_offsets(group):
        if key[0] in names and (
            topic_ids is None or last_topic_id(group, key) in (ZERO_UUID, *topic_ids)
        ):
            decision.records.append(tombstone(group.group_id, *key))
