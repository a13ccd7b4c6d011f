"""Metadata, versions 0-13: the brokers, and topics with their partitions.

Topics are asked for by name or (version 12 on) by id; none named means all. A topic asked for by
name is created when both client and broker allow it. Answers of topics are kept encoded. A topic
that is asked for twice is answered once.
"""

from asyncio import Future
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

from barnabas.broker.control.cluster_view import ClusterView
from barnabas.broker.control.departures import Departures
from barnabas.broker.control.topic_creation import TopicCreation
from barnabas.broker.control.topic_metadata_cache import TopicMetadataCache
from barnabas.broker.handlers.authorized_operations import NOT_ASKED, ON_CLUSTER, ON_TOPIC
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices, awaited
from barnabas.broker.settings.config import BrokerConfig
from barnabas.controller.decision import Refusal
from barnabas.controller.topics import check_name
from barnabas.metadata.image import MetadataImage, TopicImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from barnabas.wire.primitives import ZERO_UUID


class Needs(Protocol):
    """What this handler asks of the node."""

    cluster: ClusterView

    @property
    def cluster_id(self) -> str: ...

    config: BrokerConfig
    departures: Departures
    image: MetadataImage
    topic_creation: TopicCreation
    topic_metadata: TopicMetadataCache


def handle(
    node: Needs, request: MetadataRequest, context: RequestContext
) -> "Slices[MetadataResponse] | Coroutine[Any, Any, MetadataResponse]":
    missing = _missing(node, request)
    settled = node.departures.settled(context.connection.age_s)
    if missing or settled is not None:
        return _answer_later(node, request, context, missing, settled)
    return _answer(node, request, context, {})


async def _answer_later(
    node: Needs,
    request: MetadataRequest,
    context: RequestContext,
    missing: list[str],
    settled: "Future[None] | None",
) -> MetadataResponse:
    created = await node.topic_creation.create_for_client(missing) if missing else {}
    if settled is not None:
        await settled
    return await awaited(_answer(node, request, context, created))


def _answer(
    node: Needs, request: MetadataRequest, context: RequestContext, created: dict[str, int]
) -> Slices[MetadataResponse]:
    topics = yield from _topics(node, request, context.version, created)
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(broker.id, address.host, address.port, broker.rack)
            for broker, address in node.cluster.listed_brokers(context.connection)
        ],
        cluster_id=node.cluster_id,
        controller_id=node.cluster.controller_id,
        topics=topics,
        cluster_authorized_operations=(
            ON_CLUSTER if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _topics(
    node: Needs, request: MetadataRequest, version: int, created: dict[str, int]
) -> Slices[list[MetadataResponseTopic]]:
    with_operations = request.include_topic_authorized_operations
    slicer = Slicer(version)
    # Version 0 has no null: there an empty list asks for all.
    if request.topics is None or (version == 0 and not request.topics):
        topics = []
        for topic in tuple(node.image.topics.values()):
            is_known = node.topic_metadata.is_known(topic)
            topics += yield from slicer.each(
                (topic,),
                lambda topic: _describe(node, topic, with_operations=with_operations),
                weight=1 if is_known else 1 + len(topic.partitions),
            )
        return topics
    return (
        yield from slicer.each(
            _distinct(request.topics),
            lambda asked: _asked(node, asked, created, with_operations=with_operations),
        )
    )


def _distinct(asked: Sequence[MetadataRequestTopic]) -> list[MetadataRequestTopic]:
    """A topic may have many partitions: naming it over and over must not multiply them."""
    return list({(topic.name, topic.topic_id): topic for topic in asked}.values())


def _missing(node: Needs, request: MetadataRequest) -> list[str]:
    """Topics that are requested by name, do not exist, and are to be created."""
    if not request.allow_auto_topic_creation or not node.config.topic_creation.is_automatic:
        return []
    return [
        name
        for name in dict.fromkeys(asked.name for asked in request.topics or ())
        if name is not None
        and name not in node.image.topics
        and _unknown(name) is not ErrorCode.INVALID_TOPIC_EXCEPTION
    ]


def _asked(
    node: Needs, asked: MetadataRequestTopic, created: dict[str, int], *, with_operations: bool
) -> MetadataResponseTopic:
    if asked.name is not None:
        topic = node.image.topics.get(asked.name)
        error = created.get(asked.name) or _unknown(asked.name)
    else:
        topic = node.image.topics_by_id.get(asked.topic_id)
        error = ErrorCode.UNKNOWN_TOPIC_ID
    if topic is None:
        return MetadataResponseTopic(error, asked.name, asked.topic_id)
    if asked.topic_id not in (ZERO_UUID, topic.topic_id):
        return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, asked.name, asked.topic_id)
    return _describe(node, topic, with_operations=with_operations)


def _unknown(name: str) -> ErrorCode:
    try:
        check_name(name)
    except Refusal:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _describe(node: Needs, topic: TopicImage, *, with_operations: bool) -> MetadataResponseTopic:
    answer = node.topic_metadata.of(topic)
    if not with_operations:
        return answer
    return MetadataResponseTopic(
        answer.error_code,
        answer.name,
        answer.topic_id,
        answer.is_internal,
        answer.partitions,
        ON_TOPIC,
    )
