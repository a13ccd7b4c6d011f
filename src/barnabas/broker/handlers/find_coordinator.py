"""FindCoordinator, versions 0-6: the leader of the partition that keeps a group, a transaction or a
share partition (key type 2, GROUP:TOPIC_ID:PARTITION).

Any node answers, from what it knows of the cluster. The first node asked creates the topic.
"""

import re
from asyncio import AbstractEventLoop
from typing import Protocol

from barnabas.broker.control.broker_lifecycle import BrokerLifecycle
from barnabas.broker.control.cluster_view import ClusterView
from barnabas.broker.control.departures import Departures
from barnabas.broker.control.topic_creation import TopicCreation
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, awaited
from barnabas.coordination.coordinator_partition import partition_of
from barnabas.log import StorageError
from barnabas.metadata.image import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    MetadataImage,
)
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

_SHARE = 2
_TOPICS = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE, _SHARE: SHARE_GROUP_STATE}
"""The internal topic for each key type."""
_SEVERAL_KEYS = 4
_SHARE_KEY = re.compile(r".+:[A-Za-z0-9_-]{22}:\d{1,10}", re.DOTALL)


class Needs(Protocol):
    """What this handler asks of the node."""

    cluster: ClusterView
    departures: Departures
    image: MetadataImage
    lifecycle: BrokerLifecycle
    loop: AbstractEventLoop
    topic_creation: TopicCreation


async def handle(
    node: Needs, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse:
    keys = request.coordinator_keys if context.version >= _SEVERAL_KEYS else [request.key]
    error, message = await _check(node, request.key_type, context)
    if node.lifecycle.is_cut_off:
        error, message = ErrorCode.COORDINATOR_NOT_AVAILABLE, "no controller can be reached"
        context.disconnect_after_response(node.loop)
    coordinators = await awaited(
        Slicer(context.version).each(
            keys,
            lambda key: (
                _refused(key, error, message)
                if error
                else _refused(key, ErrorCode.INVALID_REQUEST, "not GROUP:TOPIC_ID:PARTITION")
                if request.key_type == _SHARE and not _SHARE_KEY.fullmatch(key)
                else _coordinator(node, _TOPICS[request.key_type], key, context)
            ),
            weight=10,
        ),
        context.quota,
    )
    if context.version >= _SEVERAL_KEYS:
        return FindCoordinatorResponse(coordinators=coordinators)
    (found,) = coordinators
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


async def _check(
    node: Needs, key_type: int, context: RequestContext
) -> tuple[ErrorCode, str | None]:
    name = _TOPICS.get(key_type)
    if name is None:
        return ErrorCode.INVALID_REQUEST, f"there is no coordinator of type {key_type}"
    settled = node.departures.settled(context.connection.age_s)
    if settled is not None:
        await settled
    if name not in node.image.topics:
        try:
            await node.topic_creation.ensure(name)
        except StorageError as error:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, str(error)
    return ErrorCode.NONE, None


def _coordinator(node: Needs, name: str, key: str, context: RequestContext) -> Coordinator:
    topic = node.image.topics.get(name)
    if topic is None:  # it is being created, and this node does not know it yet
        return _refused(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, "there is no such topic yet")
    partition = topic.partitions[partition_of(key, len(topic.partitions))]
    endpoint = node.cluster.endpoint_of(partition.leader, context.connection)
    if endpoint is None:
        return _refused(
            key,
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            f"{name}-{partition.index} has no leader at the moment",
        )
    return Coordinator(key, partition.leader, endpoint.host, endpoint.port, 0, None)


def _refused(key: str, error: ErrorCode, message: str | None) -> Coordinator:
    return Coordinator(key, -1, "", -1, error, message)
