"""OffsetCommit: store the offsets of a group.

Members of the current generation may commit, or of an epoch in which they had the partitions. A
client without a member id and generation (a consumer that assigns its partitions itself, or an
admin tool) may commit while the group has no members.
"""

from collections.abc import Callable, Iterable

from barnabas.coordination.decision import CoordinatorDecision
from barnabas.groups.group import Committer, Group
from barnabas.groups.memory import PER_GROUP_BYTES, PER_OFFSET_BYTES, GroupMemory
from barnabas.groups.modern.topics import Topics, topic_id_of
from barnabas.groups.offsets.group_offsets import propose_offset
from barnabas.groups.offsets.transactional_offsets import bytes_of_offset
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.group_records import OffsetCommitValue
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.wire.messages.txn_offset_commit import TxnOffsetCommitRequestTopic

CheckCommit = Callable[[OffsetCommitRequestTopic, int], ErrorCode]


def commit(
    group: Group,
    request: OffsetCommitRequest,
    token: object,
    check_partition: CheckCommit,
    topics: Topics,
    memory: GroupMemory,
    decision: CoordinatorDecision,
    now_ms: int,
    *,
    uses_epochs: bool,
) -> None:
    committer = Committer(
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        uses_epochs=uses_epochs,
    )
    error = group.check_commit(committer, request.topics)
    if error is ErrorCode.NONE and not memory.has_room_for(more_bytes(group, request.topics)):
        error = ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    group.committing(request.member_id, error, now_ms)

    def errors(
        topic: OffsetCommitRequestTopic, partition: OffsetCommitRequestPartition
    ) -> ErrorCode:
        return (
            check_partition(topic, partition.partition_index)
            or error
            or check_metadata(group, partition.committed_metadata)
        )

    response = OffsetCommitResponse()
    for topic in request.topics:
        results: list[OffsetCommitResponsePartition] = []
        topic_id = topic_id_of(topics, topic.name)
        for partition in topic.partitions:
            index = partition.partition_index
            code = errors(topic, partition)
            results.append(OffsetCommitResponsePartition(index, code))
            if code is ErrorCode.NONE:
                value = _value(partition, request.retention_time_ms, now_ms, topic_id)
                decision.records.append(propose_offset(group, (topic.name, index), value))
        response.topics.append(OffsetCommitResponseTopic(topic.name, topic.topic_id, results))
    decision.hold(token, committed=response, failed=lambda error: _failed(response, error))


def more_bytes(
    group: Group,
    topics: Iterable[OffsetCommitRequestTopic] | Iterable[TxnOffsetCommitRequestTopic],
) -> int:
    """How much more memory the group's offsets would take."""
    more = PER_GROUP_BYTES if group.is_void else 0
    for topic in topics:
        for partition in topic.partitions:
            before = group.image.offsets.get(topic.name, partition.partition_index)
            more += PER_OFFSET_BYTES + len(partition.committed_metadata or "")
            more -= bytes_of_offset(before)
    return more


def _failed(response: OffsetCommitResponse, error: ErrorCode) -> OffsetCommitResponse:
    """Partitions that would have succeeded get `error`; the others keep theirs."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [
                    OffsetCommitResponsePartition(each.partition_index, each.error_code or error)
                    for each in topic.partitions
                ],
            )
            for topic in response.topics
        ]
    )


def check_metadata(group: Group, metadata: str | None) -> ErrorCode:
    size = len((metadata or "").encode())
    if size > group.config.offset_metadata_max_bytes:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


def _value(
    partition: OffsetCommitRequestPartition,
    retention_time_ms: int,
    now_ms: int,
    topic_id: bytes,
) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp=now_ms,
        expire_timestamp=now_ms + retention_time_ms if retention_time_ms >= 0 else -1,
        topic_id=topic_id,
    )
