"""Guards of committing offsets. OffsetFetch checks in its handler."""

from collections.abc import Callable

from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.guards.guard import (
    GROUP_DENIED,
    TOPIC_DENIED,
    TRANSACTIONAL_ID_DENIED,
    Needs,
    Part,
    Verdict,
    refusing_topics,
)
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slices, split
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response
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
) -> Slices[Verdict]:
    """READ on the group, and on each topic."""
    if not access.group(AclOperation.READ, request.group_id):
        refuse = _not_committed(request.topics, GROUP_DENIED, context)
        return (yield from refuse(OffsetCommitResponse()))
    by_id = context.version >= _COMMITTED_BY_ID

    def may_read(topic: OffsetCommitRequestTopic) -> bool:
        name = _name(node, topic.topic_id) if by_id else topic.name
        return name is None or access.topic(AclOperation.READ, name)

    request.topics, denied = yield from split(request.topics, may_read)
    if not denied:
        return None
    finish = _not_committed(denied, TOPIC_DENIED, context)
    if not request.topics:
        return (yield from finish(OffsetCommitResponse()))
    return Part(request, finish)


def _not_committed(
    topics: list[OffsetCommitRequestTopic], error: ErrorCode, context: RequestContext
) -> Callable[[Response], Slices[Response]]:
    return refusing_topics(
        "topics",
        topics,
        lambda topic: topic.partitions,
        lambda each: OffsetCommitResponsePartition(each.partition_index, error),
        lambda topic, refused: OffsetCommitResponseTopic(topic.name, topic.topic_id, refused),
        context,
    )


def txn_offset_commit(
    _: Needs, request: TxnOffsetCommitRequest, access: RequestAccess, context: RequestContext
) -> Slices[Verdict]:
    """WRITE on the transactional id, READ on the group and on each topic."""
    error = ErrorCode.NONE
    if not access.transactional_id(AclOperation.WRITE, request.transactional_id):
        error = TRANSACTIONAL_ID_DENIED
    elif not access.group(AclOperation.READ, request.group_id):
        error = GROUP_DENIED
    if error is not ErrorCode.NONE:
        refuse = _not_in_txn(request.topics, error, context)
        return (yield from refuse(TxnOffsetCommitResponse()))
    request.topics, denied = yield from split(
        request.topics, lambda topic: access.topic(AclOperation.READ, topic.name)
    )
    if not denied:
        return None
    finish = _not_in_txn(denied, TOPIC_DENIED, context)
    if not request.topics:
        return (yield from finish(TxnOffsetCommitResponse()))
    return Part(request, finish)


def _not_in_txn(
    topics: list[TxnOffsetCommitRequestTopic], error: ErrorCode, context: RequestContext
) -> Callable[[Response], Slices[Response]]:
    return refusing_topics(
        "topics",
        topics,
        lambda topic: topic.partitions,
        lambda each: TxnOffsetCommitResponsePartition(each.partition_index, error),
        lambda topic, refused: TxnOffsetCommitResponseTopic(topic.name, refused),
        context,
    )


def _name(node: Needs, topic_id: bytes) -> str | None:
    """The name of a topic; None if there is none with that id, which the handler answers."""
    image = node.image.topics_by_id.get(topic_id)
    return None if image is None else image.name
