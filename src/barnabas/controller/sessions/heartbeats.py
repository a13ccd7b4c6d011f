"""BrokerHeartbeat: unfences brokers, keeps their sessions, and lets them shut down."""

from barnabas.controller.draft import Draft
from barnabas.controller.liveness import (
    begin_shutdown,
    fence,
    leads_what_others_could,
    unfence,
)
from barnabas.controller.registrations import epoch_error
from barnabas.controller.sessions.broker_sessions import BrokerSession, BrokerSessions
from barnabas.metadata.image import BrokerImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)


def heartbeat(
    draft: Draft,
    sessions: BrokerSessions,
    request: BrokerHeartbeatRequest,
    now_ms: int,
    metadata_end_offset: int,
) -> BrokerHeartbeatResponse:
    """A broker is unfenced once it has replayed all metadata of the time of its first heartbeat.

    A broker that began a controlled shutdown and cancels it has to register again.
    """
    error = epoch_error(draft.image, request.broker_id, request.broker_epoch)
    if error:
        return BrokerHeartbeatResponse(error_code=error)
    broker = draft.image.brokers[request.broker_id]
    if broker.in_controlled_shutdown and not request.want_shut_down:
        return BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    session = sessions.heard(
        broker.id, request.current_metadata_offset, metadata_end_offset, now_ms
    )
    assert session.caught_up_offset is not None
    caught_up = request.current_metadata_offset >= session.caught_up_offset
    if request.want_shut_down:
        _continue_shutdown(draft, sessions, session, broker, metadata_end_offset)
    elif request.want_fence:
        if not broker.fenced:
            fence(draft, [broker.id])
    elif broker.fenced and caught_up:
        unfence(draft, broker)
    fenced = draft.image.brokers[broker.id].fenced
    sessions.keep(broker.id, now_ms, fenced=fenced)
    return BrokerHeartbeatResponse(
        is_caught_up=caught_up,
        is_fenced=fenced,
        should_shut_down=request.want_shut_down and fenced,
    )


def _continue_shutdown(
    draft: Draft,
    sessions: BrokerSessions,
    session: BrokerSession,
    broker: BrokerImage,
    metadata_end_offset: int,
) -> None:
    """Fence it once others lead all that they can, and know it, except for those that are stuck."""
    if broker.fenced:
        return
    if not broker.in_controlled_shutdown:
        begin_shutdown(draft, broker)
    if leads_what_others_could(draft, broker.id):
        session.leave_offset = None
        return
    if session.leave_offset is None:
        session.leave_offset = metadata_end_offset + len(draft.records)
    stuck = sessions.stuck()
    others = (
        other.id
        for other in draft.image.brokers.values()
        if other.is_active and other.id not in stuck
    )
    if sessions.have_replayed(others, session.leave_offset):
        fence(draft, [broker.id])
