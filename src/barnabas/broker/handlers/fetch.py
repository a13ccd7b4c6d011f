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

from asyncio import AbstractEventLoop, Task, sleep, wait
from collections.abc import Coroutine, Iterator, Sequence
from itertools import groupby
from typing import Any, Protocol, TypeVar

from barnabas.broker.control.broker_lifecycle import BrokerLifecycle
from barnabas.broker.control.cluster_view import ClusterView
from barnabas.broker.fetch.fetch_entry import Entry, Key
from barnabas.broker.fetch.fetch_session import NO_REPLICA_ID, FetchSession
from barnabas.broker.fetch.fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH, FetchSessions
from barnabas.broker.fetch.preferred_read_replica import preferred_read_replica
from barnabas.broker.fetch.replica_entry import ReplicaEntry
from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.net.dispatcher import DelayedResponse, Outcome, RequestContext
from barnabas.broker.quorum.metadata_topic import is_metadata_fetch
from barnabas.broker.quorum.quorum import Quorum
from barnabas.broker.replica.leadership import TELLS_LEADER, partition_image
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.runtime.slices import Slicer
from barnabas.broker.settings.config import BrokerConfig
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

_FROM_FOLLOWER = 11
_BY_ID = 13
_READ_COMMITTED = 1
_LEADER_SELECTOR = "LeaderSelector"
_SLICE = 250
"""Partitions that are read in one slice, at some ten microseconds each."""
_TURNS_UNTIL_WRITTEN = 3
"""Turns of the event loop from the end of a task to the write of its answer, at most."""

ItemT = TypeVar("ItemT")


class Needs(Protocol):
    """What this handler asks of the node."""

    cluster: ClusterView
    config: BrokerConfig
    connections: ConnectionLimits
    fetch_sessions: FetchSessions
    image: MetadataImage
    lifecycle: BrokerLifecycle
    loop: AbstractEventLoop
    partitions: Partitions
    quorum: Quorum
    rack: str | None


def handle(node: Needs, request: FetchRequest, context: RequestContext) -> Outcome:
    replica_id = _replica_id(request)
    if replica_id != NO_REPLICA_ID and is_metadata_fetch(request):
        return node.quorum.handle_fetch(request)
    found = _session(node, request, replica_id)
    if isinstance(found, ErrorCode):
        return FetchResponse(error_code=found)
    session, everything = found
    if session.under_way or _is_large(node, session, request, everything=everything):
        return _begin(
            node, session, _in_slices(node, session, request, context, everything=everything)
        )
    _update(node, session, request, context.version)
    if request.max_wait_ms <= 0 or session.is_satisfied(max(0, request.min_bytes)):
        return _answer(node, session, request, context, everything=everything)
    waiting = session.wait(node.loop, max(0, request.min_bytes), request.max_wait_ms)
    if not session.session_id:
        waiting.add_done_callback(lambda _: session.close())
    epoch = session.epoch

    def respond() -> FetchResponse | Task[FetchResponse]:
        if session.epoch != epoch:
            return FetchResponse(session_id=session.session_id)  # see `FetchSession.supersede`
        if _has_many(node, session, everything=everything):
            slices = _answer_in_slices(node, session, request, context, everything=everything)
            return _begin(node, session, slices)
        return _answer(node, session, request, context, everything=everything)

    return DelayedResponse(waiting, respond)


def _is_large(
    node: Needs, session: FetchSession, request: FetchRequest, *, everything: bool
) -> bool:
    """Whether the request names or reads more partitions than one slice has."""
    named = 0
    for topic in request.topics:
        named += len(topic.partitions)
    everything = everything or session.committed_only != _committed_only(request)
    return _has_many(node, session, named, everything=everything)


def _has_many(node: Needs, session: FetchSession, named: int = 0, *, everything: bool) -> bool:
    if named + len(session.entries) <= _SLICE:
        return False
    everything = everything or _is_cut_off(node, session)
    return named + session.count_to_read(everything=everything) > _SLICE


def _begin(
    node: Needs, session: FetchSession, slices: Coroutine[Any, Any, FetchResponse]
) -> Task[FetchResponse]:
    """Start to handle a request in slices; later requests of the session wait for its end."""
    task = node.loop.create_task(slices)
    session.under_way.add(task)
    task.add_done_callback(session.under_way.discard)
    return task


def _in_slices(
    node: Needs,
    session: FetchSession,
    request: FetchRequest,
    context: RequestContext,
    *,
    everything: bool,
) -> Coroutine[Any, Any, FetchResponse]:
    """A fetch of very many partitions, in slices; other requests are served in between."""
    epoch = session.epoch
    earlier = tuple(session.under_way)

    async def slices() -> FetchResponse:
        if earlier:
            await wait(earlier)
        try:
            await _update_in_slices(node, session, request, context.version)
            min_bytes = max(0, request.min_bytes)
            if request.max_wait_ms > 0 and not session.is_satisfied(min_bytes):
                if session.epoch == epoch:
                    await session.wait(node.loop, min_bytes, request.max_wait_ms)
                if session.epoch != epoch:
                    return FetchResponse(session_id=session.session_id)
            return await _answer_in_slices(node, session, request, context, everything=everything)
        finally:
            if not session.session_id:
                session.close()

    return slices()


def _replica_id(request: FetchRequest) -> int:
    state = request.replica_state
    replica_id = request.replica_id if state is None else max(request.replica_id, state.replica_id)
    return max(replica_id, NO_REPLICA_ID)


def _session(
    node: Needs, request: FetchRequest, replica_id: int
) -> tuple[FetchSession, bool] | ErrorCode:
    """The session to use, and whether the response has to list all its partitions."""
    sessions = node.fetch_sessions
    if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        if request.session_id:
            sessions.close(request.session_id, replica_id)
        if request.session_epoch == FINAL_EPOCH:
            return FetchSession(replica_id=replica_id), True
        return sessions.open(replica_id), True
    used = sessions.use(request.session_id, request.session_epoch, replica_id)
    return used if isinstance(used, ErrorCode) else (used, False)


def _committed_only(request: FetchRequest) -> bool:
    return request.isolation_level == _READ_COMMITTED


def _is_cut_off(node: Needs, session: FetchSession) -> bool:
    """Whether the reader should look for another leader: this one may have been replaced."""
    return session.replica_id == NO_REPLICA_ID and node.lifecycle.is_cut_off


def _update(node: Needs, session: FetchSession, request: FetchRequest, version: int) -> None:
    session.isolate(committed_only=_committed_only(request))
    _find_lost(node, session)
    for topic in request.topics:
        _take_in(node, session, request, topic, version)
    _forget(session, request, version)


async def _update_in_slices(
    node: Needs, session: FetchSession, request: FetchRequest, version: int
) -> None:
    session.isolate(committed_only=_committed_only(request))
    await _find_lost_in_slices(node, session)
    taken = 0
    for topic in request.topics:
        for few in _batched(topic.partitions, _SLICE):
            part = FetchTopic(topic.topic, topic.topic_id, few)
            _take_in(node, session, request, part, version)
            taken += len(few)
            if taken >= _SLICE:
                taken = 0
                await sleep(0)
    _forget(session, request, version)
    if session.session_id and session.replica_id == NO_REPLICA_ID:
        node.fetch_sessions.make_room(session)


def _take_in(
    node: Needs, session: FetchSession, request: FetchRequest, topic: FetchTopic, version: int
) -> None:
    name = _topic_key(topic, by_id=version >= _BY_ID)
    for asked in topic.partitions:
        key = (name, asked.partition)
        entry = session.entries.get(key)
        if entry is None:
            entry = _new_entry(node, session.replica_id, request, key, version)
        session.add(entry, asked)
        if request.rack_id:
            _prefer(node, entry, asked, request.rack_id)


def _forget(session: FetchSession, request: FetchRequest, version: int) -> None:
    for forgotten in request.forgotten_topics_data:
        name = _topic_key(forgotten, by_id=version >= _BY_ID)
        session.forget((name, index) for index in forgotten.partitions)


def _new_entry(
    node: Needs, replica_id: int, request: FetchRequest, key: Key, version: int
) -> Entry:
    found = node.partitions.find(*key)
    if replica_id == NO_REPLICA_ID:
        return Entry(key, found, leader_only=version < _FROM_FOLLOWER)
    state = request.replica_state
    return ReplicaEntry(key, found, replica_id, -1 if state is None else state.replica_epoch)


def _prefer(node: Needs, entry: Entry, asked: FetchPartition, rack: str) -> None:
    partition = entry.partition
    if partition is not None and entry.error is ErrorCode.NONE and partition.is_leader:
        selector = node.config.fetch.replica_selector_class or ""
        if node.rack != rack and not selector.endswith(_LEADER_SELECTOR):
            entry.preferred_read_replica = preferred_read_replica(
                partition, node.image, asked.fetch_offset, rack
            )


def _find_lost(node: Needs, session: FetchSession) -> None:
    for entry in session.lost():
        session.found(entry, node.partitions.find(*entry.key))


async def _find_lost_in_slices(node: Needs, session: FetchSession) -> None:
    for some in _batched(session.lost(), _SLICE):
        for entry in some:
            session.found(entry, node.partitions.find(*entry.key))
        await sleep(0)


def _batched(items: Sequence[ItemT], size: int) -> Iterator[list[ItemT]]:
    for first in range(0, len(items), size):
        yield list(items[first : first + size])


def _topic_key(topic: FetchTopic | ForgottenTopic, *, by_id: bool) -> str | bytes:
    return topic.topic_id if by_id else topic.topic


def _answer(
    node: Needs,
    session: FetchSession,
    request: FetchRequest,
    context: RequestContext,
    *,
    everything: bool,
) -> FetchResponse:
    max_bytes, min_one = _room(node, session, request)
    _find_lost(node, session)
    cut_off = _is_cut_off(node, session)
    answers = session.read(max_bytes, everything=everything or cut_off, min_one=min_one)
    return _respond(node, session, context, answers, cut_off=cut_off)


async def _answer_in_slices(
    node: Needs,
    session: FetchSession,
    request: FetchRequest,
    context: RequestContext,
    *,
    everything: bool,
) -> FetchResponse:
    cut_off = _is_cut_off(node, session)
    everything = everything or cut_off
    await _find_lost_in_slices(node, session)
    answers = []
    unread = node.connections.unread
    size = 0
    try:
        for entries in _batched(session.to_read(everything=everything), _SLICE):
            # Other fetches read between the slices. What each has read is reserved, so that
            # together they stay within the limit.
            max_bytes, min_one = _room(node, session, request, size)
            read = session.read(
                max_bytes, everything=everything, min_one=min_one and not size, entries=entries
            )
            answers += read
            more = sum(len(data.records) for _, data in read if data.records)
            size += more
            unread.reserved += more
            await sleep(0)
        response = _respond(node, session, context, answers, cut_off=cut_off)
        slicer = Slicer(context.version)
        for answered in response.responses:
            parts = answered.partitions
            for at, data in enumerate(parts):
                if not data.records:  # those are sent as they are, without a copy
                    parts[at] = slicer.part(data)
                if slicer.is_due():
                    await sleep(0)
        return response
    finally:
        if size:
            _release(node, size, _TURNS_UNTIL_WRITTEN)


def _release(node: Needs, size: int, turns: int) -> None:
    """End the reservation of an answer after some turns of the event loop."""
    if turns:
        node.loop.call_soon(_release, node, size, turns - 1)
    else:
        node.connections.unread.reserved -= size


def _room(
    node: Needs, session: FetchSession, request: FetchRequest, size: int = 0
) -> tuple[int, bool]:
    """How much may be added to a response of `size` bytes, and whether one batch may exceed it."""
    unread = node.connections.unread
    max_bytes = request.max_bytes
    if session.replica_id == NO_REPLICA_ID:
        max_bytes = min(max_bytes, node.config.fetch.max_bytes)
    return min(max_bytes - size, unread.room()), not unread.is_exceeded


def _respond(
    node: Needs,
    session: FetchSession,
    context: RequestContext,
    answers: list[tuple[Entry, PartitionData]],
    *,
    cut_off: bool,
) -> FetchResponse:
    response = FetchResponse(session_id=session.session_id)
    failed = False
    for topic, together in groupby(answers, key=lambda answer: answer[0].key[0]):
        answered = FetchableTopicResponse(partitions=[data for _, data in together])
        if isinstance(topic, bytes):
            answered.topic_id = topic
        else:
            answered.topic = topic
        response.responses.append(answered)
        failed = failed or any(data.error_code in TELLS_LEADER for data in answered.partitions)
    if failed:
        _tell_leaders(node, response, context)
    if cut_off:
        # Committed records can still be read here. A consumer that has read them all should find
        # the leader.
        for _, data in answers:
            if not data.records and data.error_code == ErrorCode.NONE:
                data.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if not any(data.records for _, data in answers):
            context.disconnect_after_response(node.loop)
    return response


def _tell_leaders(node: Needs, response: FetchResponse, context: RequestContext) -> None:
    """Add the leaders, and their addresses, of partitions that are not led here."""
    leaders = set()
    for topic in response.responses:
        for data in topic.partitions:
            if data.error_code in TELLS_LEADER:
                name = topic.topic or topic.topic_id
                image = partition_image(node.image, name, data.partition_index)
                if image is not None:
                    data.current_leader = LeaderIdAndEpoch(image.leader, image.leader_epoch)
                    leaders.add(image.leader)
    for leader_id in sorted(leaders):
        address = node.cluster.endpoint_of(leader_id, context.connection)
        if address is not None:
            response.node_endpoints.append(NodeEndpoint(leader_id, address.host, address.port))
