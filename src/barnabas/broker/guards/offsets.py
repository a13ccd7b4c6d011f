"""Guards of committing offsets. OffsetFetch checks in its handler."""

from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.guards.guard import (
    GROUP_DENIED,
    TOPIC_DENIED,
    TRANSACTIONAL_ID_DENIED,
    Needs,
    Part,
    Verdict,
    split,
)
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_COMMITTED_BY_ID = 10


def offset_commit(
    node: Needs, request: OffsetCommitRequest, access: RequestAccess, context: RequestContext
) -> Verdict:
    """READ on the group, and on each topic."""
    if not access.group(AclOperation.READ, request.group_id):
        return OffsetCommitResponse(topics=_not_committed(request.topics, GROUP_DENIED))
    by_id = context.version >= _COMMITTED_BY_ID

    def may_read(topic: OffsetCommitRequestTopic) -> bool:
        name = _name(node, topic.topic_id) if by_id else topic.name
        return name is None or access.topic(AclOperation.READ, name)

    request.topics, denied = split(request.topics, may_read)
    if not denied:
        return None

    def finish(response: OffsetCommitResponse) -> OffsetCommitResponse:
        response.topics += _not_committed(denied, TOPIC_DENIED)
        return response

    return Part(request, finish) if request.topics else finish(OffsetCommitResponse())


def _not_committed(
    topics: list[OffsetCommitRequestTopic], error: ErrorCode
) -> list[OffsetCommitResponseTopic]:
    return [
        OffsetCommitResponseTopic(
            topic.name,
            topic.topic_id,
            [
                OffsetCommitResponsePartition(each.partition_index, error)
                for each in topic.partitions
            ],
        )
        for topic in topics
    ]


def txn_offset_commit(
    _: Needs, request: TxnOffsetCommitRequest, access: RequestAccess, __: RequestContext
) -> Verdict:
    """WRITE on the transactional id, READ on the group and on each topic."""
    if not access.transactional_id(AclOperation.WRITE, request.transactional_id):
        return TxnOffsetCommitResponse(topics=_not_in_txn(request.topics, TRANSACTIONAL_ID_DENIED))
    if not access.group(AclOperation.READ, request.group_id):
        return TxnOffsetCommitResponse(topics=_not_in_txn(request.topics, GROUP_DENIED))
    request.topics, denied = split(
        request.topics, lambda topic: access.topic(AclOperation.READ, topic.name)
    )
    if not denied:
        return None

    def finish(response: TxnOffsetCommitResponse) -> TxnOffsetCommitResponse:
        response.topics += _not_in_txn(denied, TOPIC_DENIED)
        return response

    return Part(request, finish) if request.topics else finish(TxnOffsetCommitResponse())


def _not_in_txn(
    topics: list[TxnOffsetCommitRequestTopic], error: ErrorCode
) -> list[TxnOffsetCommitResponseTopic]:
    return [
        TxnOffsetCommitResponseTopic(
            topic.name,
            [
                TxnOffsetCommitResponsePartition(each.partition_index, error)
                for each in topic.partitions
            ],
        )
        for topic in topics
    ]


def _name(node: Needs, topic_id: bytes) -> str | None:
    """The name of a topic; None if there is none with that id, which the handler answers."""
    image = node.image.topics_by_id.get(topic_id)
    return None if image is None else image.name
