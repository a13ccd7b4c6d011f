"""Fetch, versions 4-18: batches as they are stored, with long polls and incremental sessions.

`min_bytes` and `max_wait_ms` are obeyed; the wait ends with the append that brings enough. An
answer holds at most `fetch.max.bytes`, but always one whole batch. read_committed sees the same
as read_uncommitted, as there are no transactions. Fetches of followers are not served.
"""

from itertools import groupby

from barnabas.broker.dispatch import Later, RequestContext
from barnabas.broker.fetch_session import Entry, FetchSession, Key
from barnabas.broker.fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH
from barnabas.broker.node import Node
from barnabas.broker.partition import Partition
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)

_BY_ID = 13
_READ_COMMITTED = 1


def handle(node: Node, request: FetchRequest, context: RequestContext) -> FetchResponse | Later:
    found = _session(node, request)
    if isinstance(found, ErrorCode):
        return FetchResponse(error_code=found)
    session, everything = found
    _update(node, session, request, by_id=context.version >= _BY_ID)
    if request.max_wait_ms <= 0 or session.is_satisfied(max(0, request.min_bytes)):
        return _answer(node, session, request, everything=everything)
    return _answer_later(node, session, request, everything=everything)


def _session(node: Node, request: FetchRequest) -> tuple[FetchSession, bool] | ErrorCode:
    """The session to use, and whether all its partitions have to be told of."""
    if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        if request.session_id:
            node.fetch_sessions.close(request.session_id)
        if request.session_epoch == FINAL_EPOCH:
            return FetchSession(), True
        return node.fetch_sessions.open(), True
    used = node.fetch_sessions.use(request.session_id, request.session_epoch)
    return used if isinstance(used, ErrorCode) else (used, False)


def _update(node: Node, session: FetchSession, request: FetchRequest, *, by_id: bool) -> None:
    for entry in session.lost():
        partition = _find(node, entry.key)
        if partition is not None:
            session.found(entry, partition)
    for topic in request.topics:
        name = _topic_key(topic, by_id=by_id)
        for asked in topic.partitions:
            key = (name, asked.partition)
            session.add(session.entries.get(key) or Entry(key, _find(node, key)), asked)
    session.forget(
        (_topic_key(topic, by_id=by_id), index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    )


def _find(node: Node, key: Key) -> Partition | None:
    topic, index = key
    partitions = node.partitions
    if isinstance(topic, str):
        return partitions.get(topic, index)
    of_topic = partitions.by_id.get(topic, ())
    return of_topic[index] if 0 <= index < len(of_topic) else None


def _topic_key(topic: FetchTopic | ForgottenTopic, *, by_id: bool) -> str | bytes:
    return topic.topic_id if by_id else topic.topic


def _answer(
    node: Node, session: FetchSession, request: FetchRequest, *, everything: bool
) -> FetchResponse:
    max_bytes = min(
        request.max_bytes, node.config.number("fetch.max.bytes"), node.door.room_for_answers()
    )
    answers = session.read(max_bytes, everything=everything)
    if request.isolation_level != _READ_COMMITTED:
        for _, data in answers:
            data.aborted_transactions = None
    responses = []
    for topic, together in groupby(answers, key=lambda answer: answer[0].key[0]):
        response = FetchableTopicResponse(partitions=[data for _, data in together])
        if isinstance(topic, bytes):
            response.topic_id = topic
        else:
            response.topic = topic
        responses.append(response)
    return FetchResponse(session_id=session.session_id, responses=responses)


def _answer_later(
    node: Node, session: FetchSession, request: FetchRequest, *, everything: bool
) -> Later:
    wait = session.wait(node.loop, max(0, request.min_bytes), request.max_wait_ms)
    if not session.session_id:
        wait.add_done_callback(lambda _: session.close())
    return Later(wait, lambda: _answer(node, session, request, everything=everything))
