"""ShareAcknowledge, versions 1-2: what became of the records that a member of a share group holds.

It is answered when that is stored. For each partition all acknowledgements are taken, or none. From
version 2 on, `is_renew_ack` lets it renew locks. Session epoch -1 ends the session: what the member
still holds is available to others.
"""

from asyncio import Future
from itertools import groupby

from barnabas.broker.handlers.share_acknowledgements import (
    TELLS_LEADER,
    Needs,
    Outcomes,
    acknowledge,
    leader_of,
    reader_rights,
)
from barnabas.broker.net.dispatcher import Outcome, RequestContext
from barnabas.broker.share.share_sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSession
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)


def handle(node: Needs, request: ShareAcknowledgeRequest, context: RequestContext) -> Outcome:
    session = _session(node, request)
    if isinstance(session, ErrorCode):
        return ShareAcknowledgeResponse(error_code=session)
    outcomes = acknowledge(
        node,
        session.group_id,
        session.member_id,
        (
            ((topic.topic_id, asked.partition_index), asked.acknowledgement_batches)
            for topic in request.topics
            for asked in topic.partitions
        ),
        reader_rights(node, context, "ShareAcknowledge"),
        is_renewal=request.is_renew_ack,
    )
    if request.share_session_epoch == FINAL_EPOCH:
        node.share_sessions.end(session)
    settled = outcomes.settled(node.loop)
    if settled is None:
        return _respond(node, session, outcomes, context)
    answer: Future[ShareAcknowledgeResponse] = node.loop.create_future()

    def respond(_: object) -> None:
        if not answer.done():
            answer.set_result(_respond(node, session, outcomes, context))

    settled.add_done_callback(respond)
    return answer


def _session(node: Needs, request: ShareAcknowledgeRequest) -> ShareSession | ErrorCode:
    if not request.group_id or not request.member_id:
        return ErrorCode.INVALID_REQUEST
    if request.share_session_epoch == INITIAL_EPOCH:
        return ErrorCode.INVALID_SHARE_SESSION_EPOCH
    return node.share_sessions.use(request.group_id, request.member_id, request.share_session_epoch)


def _respond(
    node: Needs, session: ShareSession, outcomes: Outcomes, context: RequestContext
) -> ShareAcknowledgeResponse:
    limits = node.share_partitions.settings.of(session.group_id).limits
    response = ShareAcknowledgeResponse(acquisition_lock_timeout_ms=limits.record_lock_duration_ms)
    leaders: set[int] = set()
    ordered = sorted(outcomes.errors.items(), key=lambda each: each[0])
    for topic_id, together in groupby(ordered, key=lambda each: each[0][0]):
        answered = ShareAcknowledgeTopicResponse(topic_id)
        for place, refusal in together:
            data = PartitionData(place[1], refusal.error, refusal.message or None)
            data.current_leader = LeaderIdAndEpoch(0, 0)
            if refusal.error in TELLS_LEADER:
                leader = leader_of(node, place)
                if leader is not None:
                    data.current_leader = LeaderIdAndEpoch(*leader)
                    leaders.add(leader[0])
            answered.partitions.append(data)
        response.responses.append(answered)
    for leader_id in sorted(leaders):
        address = node.cluster.endpoint_of(leader_id, context.connection)
        if address is not None:
            response.node_endpoints.append(NodeEndpoint(leader_id, address.host, address.port))
    return response
