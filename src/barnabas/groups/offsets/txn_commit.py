"""TxnOffsetCommit: store the offsets of a group if a transaction commits.

The offsets become part of the transaction and are not visible until it commits. A client of version
3 or later sends its member id and generation, so that a replaced member is fenced; older clients
may always commit. Unlike a plain commit it does not restart the member's session, and is not
refused between join and sync.
"""

from collections.abc import Callable

from barnabas.coordination.decision import CoordinatorDecision, ProducerIdAndEpoch
from barnabas.groups.group import Committer, Group
from barnabas.groups.memory import GroupMemory
from barnabas.groups.modern.topics import Topics, topic_id_of
from barnabas.groups.offsets.commit import check_metadata, more_bytes
from barnabas.groups.offsets.group_offsets import propose_offset
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.group_records import OffsetCommitValue
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

CheckTxnCommit = Callable[[str, int], ErrorCode]


def txn_commit(
    group: Group,
    request: TxnOffsetCommitRequest,
    token: object,
    check_partition: CheckTxnCommit,
    topics: Topics,
    memory: GroupMemory,
    decision: CoordinatorDecision,
    now_ms: int,
) -> None:
    committer = Committer(request.member_id, request.group_instance_id, request.generation_id)
    error = group.check_txn_commit(committer, request.topics)
    if error is ErrorCode.NONE and not memory.has_room_for(more_bytes(group, request.topics)):
        error = ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    response = TxnOffsetCommitResponse()
    for topic in request.topics:
        results: list[TxnOffsetCommitResponsePartition] = []
        topic_id = topic_id_of(topics, topic.name)
        for partition in topic.partitions:
            index = partition.partition_index
            code = (
                check_partition(topic.name, index)
                or error
                or check_metadata(group, partition.committed_metadata)
            )
            results.append(TxnOffsetCommitResponsePartition(index, code))
            if code is ErrorCode.NONE:
                value = OffsetCommitValue(
                    offset=partition.committed_offset,
                    leader_epoch=partition.committed_leader_epoch,
                    metadata=partition.committed_metadata or "",
                    commit_timestamp=now_ms,
                    topic_id=topic_id,
                )
                decision.records.append(
                    propose_offset(group, (topic.name, index), value, in_transaction=True)
                )
        response.topics.append(TxnOffsetCommitResponseTopic(topic.name, results))
    decision.producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    decision.hold(token, committed=response, failed=lambda error: _failed(response, error))


def _failed(response: TxnOffsetCommitResponse, error: ErrorCode) -> TxnOffsetCommitResponse:
    """Partitions that would have succeeded get `error`; the others keep theirs."""
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                [
                    TxnOffsetCommitResponsePartition(each.partition_index, each.error_code or error)
                    for each in topic.partitions
                ],
            )
            for topic in response.topics
        ]
    )
