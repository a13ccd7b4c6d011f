"""Fetch, versions 4-18: batches as they are stored, with long polls and incremental sessions.

`min_bytes` and `max_wait_ms` are obeyed; the wait ends with the append that brings enough. An
answer holds at most `fetch.max.bytes`, but always one whole batch. read_committed (isolation level
1) gets nothing from the oldest open transaction on, and the list of aborted ones.

A consumer reads what is committed. From version 11 on it may do so at a follower, and a leader
sends one that names its rack to an in-sync follower on that rack. Followers read up to the end of
the leader's log; their offsets, and from version 12 on their epochs, say how far they are.

A node that is cut off from the controller returns an error to consumers that have read everything
it has: other nodes may lead by now, and without an error a client would not refresh its metadata
for minutes.
"""

from asyncio import Task

from barnabas.broker.fetch.fetch_session import NO_REPLICA_ID, FetchSession
from barnabas.broker.fetch.fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH
from barnabas.broker.handlers.fetch_slices import (
    answer_in_slices,
    begin,
    fetch_in_slices,
    has_many,
    is_large,
)
from barnabas.broker.handlers.fetch_steps import Needs, answer, judge, update_session
from barnabas.broker.net.dispatcher import DelayedResponse, Outcome, RequestContext
from barnabas.broker.quorum.metadata_topic import is_metadata_fetch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse


def handle(node: Needs, request: FetchRequest, context: RequestContext) -> Outcome:
    replica_id = _replica_id(request)
    if replica_id != NO_REPLICA_ID and is_metadata_fetch(request):
        return node.quorum.handle_fetch(request)
    found = _session(node, request, replica_id, context.principal.name)
    if isinstance(found, ErrorCode):
        return FetchResponse(error_code=found)
    session, everything = found
    if node.authorization.is_enabled:
        judge(node, session, context.connection)
    if session.under_way or is_large(node, session, request, everything=everything):
        return begin(
            node, session, fetch_in_slices(node, session, request, context, everything=everything)
        )
    update_session(node, session, request, context.version)
    if request.max_wait_ms <= 0 or session.is_satisfied(max(0, request.min_bytes)):
        return answer(node, session, request, context, everything=everything)
    waiting = session.wait(node.loop, max(0, request.min_bytes), request.max_wait_ms)
    if not session.session_id:
        waiting.add_done_callback(lambda _: session.close())
    epoch = session.epoch

    def when_ready() -> FetchResponse | Task[FetchResponse]:
        if session.epoch != epoch:
            return FetchResponse(session_id=session.session_id)  # see `FetchSession.supersede`
        if has_many(node, session, everything=everything):
            slices = answer_in_slices(node, session, request, context, everything=everything)
            return begin(node, session, slices)
        return answer(node, session, request, context, everything=everything)

    return DelayedResponse(waiting, when_ready)


def _replica_id(request: FetchRequest) -> int:
    state = request.replica_state
    replica_id = request.replica_id if state is None else max(request.replica_id, state.replica_id)
    return max(replica_id, NO_REPLICA_ID)


def _session(
    node: Needs, request: FetchRequest, replica_id: int, user: str
) -> tuple[FetchSession, bool] | ErrorCode:
    """The session to use, and whether the response has to list all its partitions."""
    sessions = node.fetch_sessions
    if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        if request.session_id:
            sessions.close(request.session_id, replica_id, user)
        if request.session_epoch == FINAL_EPOCH:
            return FetchSession(replica_id=replica_id), True
        return sessions.open(replica_id, user), True
    used = sessions.use(request.session_id, request.session_epoch, replica_id, user)
    return used if isinstance(used, ErrorCode) else (used, False)
