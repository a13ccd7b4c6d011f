"""Metadata, versions 0-13: the brokers, and topics with their partitions.

Topics are asked for by name or (version 12 on) by id; none named means all. A topic asked for by
name is created when both client and broker allow it. Answers of topics are kept encoded. A topic
that is asked for twice is answered once.

Brokers that lack the listener of the client are left out. The partitions that they lead have no
leader for the client (LISTENER_NOT_FOUND; before version 6 LEADER_NOT_AVAILABLE).

Needs DESCRIBE on each topic, and to create it CREATE on the topic or the cluster. Who asks for all
topics gets those that it may describe.
"""

from asyncio import Future, sleep
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.control.cluster_view import ClusterView
from barnabas.broker.control.departures import Departures
from barnabas.broker.control.topic_creation import TopicCreation
from barnabas.broker.control.topic_metadata_cache import TopicMetadataCache
from barnabas.broker.handlers.authorized_operations import NOT_ASKED
from barnabas.broker.handlers.mutation_quota import create_on_demand
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import SLICE, Slicer, Slices, awaited, split
from barnabas.broker.settings.config import BrokerConfig
from barnabas.controller.decision import Refusal
from barnabas.controller.topics import check_name
from barnabas.metadata.image import MetadataImage, TopicImage
from barnabas.metadata.partition_image import NO_LEADER
from barnabas.wire.acl_codes import AclOperation, ResourceType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.primitives import ZERO_UUID

_LISTENER_NOT_FOUND_FROM = 6


class Needs(Protocol):
    """What this handler asks of the node."""

    authorization: Authorization
    cluster: ClusterView

    @property
    def cluster_id(self) -> str: ...

    config: BrokerConfig
    departures: Departures
    image: MetadataImage
    topic_creation: TopicCreation
    topic_metadata: TopicMetadataCache


@dataclass(frozen=True, slots=True)
class _View:
    """How the client of a request sees topics."""

    access: RequestAccess
    with_operations: bool
    unreachable: frozenset[int]
    """Brokers without the listener of the client; none, in most clusters."""
    unreachable_error: ErrorCode


def _view(
    node: Needs, request: MetadataRequest, context: RequestContext, access: RequestAccess
) -> _View:
    has_error = context.version >= _LISTENER_NOT_FOUND_FROM
    return _View(
        access,
        request.include_topic_authorized_operations,
        node.cluster.brokers_without(context.connection.listener),
        ErrorCode.LISTENER_NOT_FOUND if has_error else ErrorCode.LEADER_NOT_AVAILABLE,
    )


def handle(
    node: Needs, request: MetadataRequest, context: RequestContext
) -> "Slices[MetadataResponse] | Coroutine[Any, Any, MetadataResponse]":
    access = node.authorization.of(context.connection, "Metadata")
    for topic in request.topics or ():
        if not topic.name and topic.topic_id != ZERO_UUID:
            topic.name = None  # Java's client asks by id with an empty name
    if len(request.topics or ()) > SLICE:
        return _answer_many(node, request, context, access)
    missing = _missing(node, request.topics, request, access)
    settled = node.departures.settled(context.connection.age_s)
    if missing or settled is not None:
        return _answer_later(node, request, context, access, missing, settled)
    return _answer(node, request, context, access, {})


async def _answer_many(
    node: Needs, request: MetadataRequest, context: RequestContext, access: RequestAccess
) -> MetadataResponse:
    """Many topics are looked for in slices."""
    missing: list[str] = []
    asked = request.topics or []
    for first in range(0, len(asked), SLICE):
        missing += _missing(node, asked[first : first + SLICE], request, access)
        await sleep(0)
    settled = node.departures.settled(context.connection.age_s)
    return await _answer_later(
        node, request, context, access, list(dict.fromkeys(missing)), settled
    )


async def _answer_later(
    node: Needs,
    request: MetadataRequest,
    context: RequestContext,
    access: RequestAccess,
    missing: list[str],
    settled: "Future[None] | None",
) -> MetadataResponse:
    may_create = split(missing, lambda name: _may_create(access, name))
    allowed, _ = await awaited(may_create, context.quota)
    partitions = node.config.topic_creation.num_partitions
    created = await create_on_demand(context.quota, node.topic_creation, allowed, partitions)
    created |= dict.fromkeys(set(missing).difference(allowed), ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if settled is not None:
        await settled
    return await awaited(_answer(node, request, context, access, created), context.quota)


def _answer(
    node: Needs,
    request: MetadataRequest,
    context: RequestContext,
    access: RequestAccess,
    created: dict[str, int],
) -> Slices[MetadataResponse]:
    view = _view(node, request, context, access)
    topics = yield from _topics(node, request, context.version, view, created)
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(broker.id, address.host, address.port, broker.rack)
            for broker, address in node.cluster.listed_brokers(context.connection)
        ],
        cluster_id=node.cluster_id,
        controller_id=node.cluster.controller_id,
        topics=topics,
        cluster_authorized_operations=(
            access.cluster_operations
            if request.include_cluster_authorized_operations
            else NOT_ASKED
        ),
    )


def _topics(
    node: Needs,
    request: MetadataRequest,
    version: int,
    view: _View,
    created: dict[str, int],
) -> Slices[list[MetadataResponseTopic]]:
    slicer = Slicer(version)
    # Version 0 has no null: there an empty list asks for all.
    if request.topics is None or (version == 0 and not request.topics):
        topics = []
        for topic in tuple(node.image.topics.values()):
            if not view.access.topic(AclOperation.DESCRIBE, topic.name, log=False):
                continue
            is_known = node.topic_metadata.is_known(topic) and not view.unreachable
            topics += yield from slicer.each(
                (topic,),
                lambda topic: _describe(node, topic, view),
                weight=1 if is_known else 1 + len(topic.partitions),
            )
        return topics
    return (
        yield from slicer.each(
            _distinct(request.topics),
            lambda asked: _asked(node, asked, view, created),
        )
    )


def _distinct(asked: Sequence[MetadataRequestTopic]) -> list[MetadataRequestTopic]:
    """A topic may have many partitions: naming it over and over must not multiply them."""
    return list({(topic.name, topic.topic_id): topic for topic in asked}.values())


def _missing(
    node: Needs,
    topics: list[MetadataRequestTopic] | None,
    request: MetadataRequest,
    access: RequestAccess,
) -> list[str]:
    """Which of the topics are requested by name, do not exist, and are to be created."""
    if not request.allow_auto_topic_creation or not node.config.topic_creation.is_automatic:
        return []
    return [
        name
        for name in dict.fromkeys(asked.name for asked in topics or ())
        if name is not None
        and name not in node.image.topics
        and _unknown(name) is not ErrorCode.INVALID_TOPIC_EXCEPTION
        and access.topic(AclOperation.DESCRIBE, name, log=False)
    ]


def _may_create(access: RequestAccess, name: str) -> bool:
    return access.cluster(AclOperation.CREATE, log=False) or access.topic(AclOperation.CREATE, name)


def _asked(
    node: Needs,
    asked: MetadataRequestTopic,
    view: _View,
    created: dict[str, int],
) -> MetadataResponseTopic:
    access = view.access
    if asked.name is not None:
        if not access.topic(AclOperation.DESCRIBE, asked.name):
            return MetadataResponseTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, asked.name)
        topic = node.image.topics.get(asked.name)
        error = created.get(asked.name) or _unknown(asked.name)
    else:
        topic = node.image.topics_by_id.get(asked.topic_id)
        error = ErrorCode.UNKNOWN_TOPIC_ID
    if topic is None:
        answer = MetadataResponseTopic(error, asked.name, asked.topic_id)
        if view.with_operations and asked.name is not None:  # what a client may do once it exists
            answer.topic_authorized_operations = access.operations(ResourceType.TOPIC, asked.name)
        return answer
    if asked.topic_id not in (ZERO_UUID, topic.topic_id):
        return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, asked.name, asked.topic_id)
    if asked.name is None and not access.topic(AclOperation.DESCRIBE, topic.name):
        return MetadataResponseTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, asked.topic_id)
    return _describe(node, topic, view)


def _unknown(name: str) -> ErrorCode:
    try:
        check_name(name)
    except Refusal:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _describe(node: Needs, topic: TopicImage, view: _View) -> MetadataResponseTopic:
    answer: MetadataResponseTopic = node.topic_metadata.of(topic)
    if view.unreachable:
        answer = _as_reached(answer, view)
    if not view.with_operations:
        return answer
    return MetadataResponseTopic(
        answer.error_code,
        answer.name,
        answer.topic_id,
        answer.is_internal,
        answer.partitions,
        view.access.operations(ResourceType.TOPIC, topic.name),
    )


def _as_reached(answer: MetadataResponseTopic, view: _View) -> MetadataResponseTopic:
    """The answer for clients that can't reach all brokers: other leaders are none for them."""
    partitions = [_reached(partition, view) for partition in answer.partitions]
    return MetadataResponseTopic(
        answer.error_code, answer.name, answer.topic_id, answer.is_internal, partitions
    )


def _reached(partition: MetadataResponsePartition, view: _View) -> MetadataResponsePartition:
    if view.unreachable.isdisjoint(partition.replica_nodes):
        return partition
    offline = view.unreachable.union(partition.offline_replicas)
    is_led = partition.leader_id not in view.unreachable
    return MetadataResponsePartition(
        partition.error_code if is_led else view.unreachable_error,
        partition.partition_index,
        partition.leader_id if is_led else NO_LEADER,
        partition.leader_epoch,
        partition.replica_nodes,
        partition.isr_nodes,
        [replica for replica in partition.replica_nodes if replica in offline],
    )
