"""The steps of a fetch: update the session with the request, read, and build the response."""

from asyncio import AbstractEventLoop
from itertools import groupby
from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.control.broker_lifecycle import BrokerLifecycle
from barnabas.broker.control.cluster_view import ClusterView
from barnabas.broker.fetch.fetch_entry import Entry, Key
from barnabas.broker.fetch.fetch_session import NO_REPLICA_ID, FetchSession
from barnabas.broker.fetch.fetch_sessions import FetchSessions
from barnabas.broker.fetch.preferred_read_replica import preferred_read_replica
from barnabas.broker.fetch.replica_entry import ReplicaEntry
from barnabas.broker.net.connection import Connection
from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.quorum.quorum import Quorum
from barnabas.broker.replica.leadership import TELLS_LEADER, partition_image
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.settings.config import BrokerConfig
from barnabas.metadata.image import MetadataImage
from barnabas.wire.acl_codes import AclOperation
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


class Needs(Protocol):
    """What this handler asks of the node."""

    authorization: Authorization
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


def committed_only(request: FetchRequest) -> bool:
    return request.isolation_level == _READ_COMMITTED


_OF_LEADERS = (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.CORRUPT_MESSAGE)
"""What only the leader knows of an offset without records."""


def is_cut_off(node: Needs, session: FetchSession) -> bool:
    """Whether the reader should look for another leader: this one may have been replaced."""
    return session.replica_id == NO_REPLICA_ID and node.lifecycle.is_cut_off


def update_session(node: Needs, session: FetchSession, request: FetchRequest, version: int) -> None:
    session.isolate(committed_only=committed_only(request))
    find_lost(node, session)
    for topic in request.topics:
        add_partitions(node, session, request, topic, version)
    forget_partitions(session, request, version)


def add_partitions(
    node: Needs, session: FetchSession, request: FetchRequest, topic: FetchTopic, version: int
) -> None:
    name = _topic_key(topic, by_id=version >= _BY_ID)
    for asked in topic.partitions:
        key = (name, asked.partition)
        entry = session.entries.get(key)
        if entry is None:
            entry = _new_entry(node, session, request, key, version)
        session.add(entry, asked)
        if request.rack_id:
            _prefer(node, entry, asked, request.rack_id)


def forget_partitions(session: FetchSession, request: FetchRequest, version: int) -> None:
    for forgotten in request.forgotten_topics_data:
        name = _topic_key(forgotten, by_id=version >= _BY_ID)
        session.forget((name, index) for index in forgotten.partitions)


def _new_entry(
    node: Needs, session: FetchSession, request: FetchRequest, key: Key, version: int
) -> Entry:
    found = find(node, session, key)
    if session.replica_id == NO_REPLICA_ID:
        return Entry(key, found, leader_only=version < _FROM_FOLLOWER)
    state = request.replica_state
    return ReplicaEntry(
        key, found, session.replica_id, -1 if state is None else state.replica_epoch
    )


def _prefer(node: Needs, entry: Entry, asked: FetchPartition, rack: str) -> None:
    partition = entry.partition
    if partition is not None and entry.error is ErrorCode.NONE and partition.is_leader:
        selector = node.config.fetch.replica_selector_class or ""
        if node.rack != rack and not selector.endswith(_LEADER_SELECTOR):
            entry.preferred_read_replica = preferred_read_replica(
                partition, node.image, asked.fetch_offset, rack
            )


def find_lost(node: Needs, session: FetchSession) -> None:
    for entry in session.lost():
        session.found(entry, find(node, session, entry.key))


def find(node: Needs, session: FetchSession, key: Key) -> Partition | ErrorCode:
    """The partition, or why it can't be read."""
    if session.may_read is not None and _is_unknown(node, key):
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not session.is_allowed(key):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return node.partitions.find(*key)


def _is_unknown(node: Needs, key: Key) -> bool:
    return isinstance(key[0], bytes) and key[0] not in node.image.topics_by_id


def judge(node: Needs, session: FetchSession, connection: Connection) -> None:
    """Let the reader's rights decide what is read: READ on each topic.

    Partitions of a session are judged again when the rules have changed.
    """
    access = node.authorization.of(connection, "Fetch")
    if access.is_full:
        return
    topics = node.image.topics_by_id

    def may_read(key: Key) -> bool:
        name = key[0]
        if isinstance(name, bytes):
            topic = topics.get(name)
            if topic is None:
                return False  # replicas outlive a topic that is deleted
            name = topic.name
        return access.topic(AclOperation.READ, name)

    session.may_read = may_read
    judged = (connection.principal, connection.client_host, node.authorization.generation)
    if session.judged != judged:
        session.judged = judged
        session.deny()


def _topic_key(topic: FetchTopic | ForgottenTopic, *, by_id: bool) -> str | bytes:
    return topic.topic_id if by_id else topic.topic


def answer(
    node: Needs,
    session: FetchSession,
    request: FetchRequest,
    context: RequestContext,
    *,
    everything: bool,
) -> FetchResponse:
    quota = context.quota
    if quota is not None and quota.is_fetch_throttled():
        return throttled(node, session, everything=everything)
    max_bytes, min_one = room(node, session, request, context)
    find_lost(node, session)
    cut_off = is_cut_off(node, session)
    answers = session.read(max_bytes, everything=everything or cut_off, min_one=min_one)
    return respond(node, session, context, answers, cut_off=cut_off)


def throttled(node: Needs, session: FetchSession, *, everything: bool) -> FetchResponse:
    """An empty answer; what there is to read stays news of the session."""
    session_id = session.session_id
    if everything and session_id:
        # An empty answer to a full fetch opens no session, in Kafka neither: the client can't tell
        # it from one that has all its partitions.
        node.fetch_sessions.close(session_id, session.replica_id, session.owner)
        session_id = 0
    return FetchResponse(session_id=session_id)


def room(
    node: Needs,
    session: FetchSession,
    request: FetchRequest,
    context: RequestContext,
    size: int = 0,
) -> tuple[int, bool]:
    """How much may be added to a response of `size` bytes, and whether one batch may exceed it."""
    unread = node.connections.unread
    max_bytes = request.max_bytes
    if session.replica_id == NO_REPLICA_ID:
        max_bytes = min(max_bytes, node.config.fetch.max_bytes)
        if context.quota is not None:
            max_bytes = min(max_bytes, context.quota.client.fetch_max_bytes or max_bytes)
    return min(max_bytes - size, unread.room()), not unread.is_exceeded


def respond(
    node: Needs,
    session: FetchSession,
    context: RequestContext,
    answers: list[tuple[Entry, PartitionData]],
    *,
    cut_off: bool,
) -> FetchResponse:
    response = FetchResponse(session_id=session.session_id)
    failed = add_answers(response, answers)
    finish(node, response, context, answers, failed=failed, cut_off=cut_off)
    return response


def add_answers(response: FetchResponse, answers: list[tuple[Entry, PartitionData]]) -> bool:
    """Add the answers to those before; whether some tell the client to look for a leader."""
    failed = False
    for topic, together in groupby(answers, key=lambda answer: answer[0].key[0]):
        answered = FetchableTopicResponse(partitions=[data for _, data in together])
        if isinstance(topic, bytes):
            answered.topic_id = topic
        else:
            answered.topic = topic
        failed = failed or any(data.error_code in TELLS_LEADER for data in answered.partitions)
        last = response.responses[-1] if response.responses else None
        if last is not None and (last.topic, last.topic_id) == (answered.topic, answered.topic_id):
            last.partitions += answered.partitions
        else:
            response.responses.append(answered)
    return failed


def finish(
    node: Needs,
    response: FetchResponse,
    context: RequestContext,
    answers: list[tuple[Entry, PartitionData]],
    *,
    failed: bool,
    cut_off: bool,
) -> None:
    """Add what clients need to know of leaders."""
    if failed:
        _tell_leaders(node, response, context)
    if cut_off:
        # Committed records can still be read here. A consumer that has read them all, or has read
        # more of the present leader, should find that.
        for _, data in answers:
            if not data.records and data.error_code in _OF_LEADERS:
                data.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if not any(data.records for _, data in answers):
            context.disconnect_after_response(node.loop)


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
