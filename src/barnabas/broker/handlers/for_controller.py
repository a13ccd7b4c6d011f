"""What the controller decides: topics, settings, users, quotas, brokers, in-sync sets, leaders.

Any node accepts such a request and forwards it to the controller. A request from a node is not
forwarded again: two nodes that each consider the other the controller would forward it back and
forth.

- CreateTopics, versions 2-7 (many topics: a few at a time); DeleteTopics, versions 1-6;
- CreatePartitions, versions 0-3;
- AlterConfigs, versions 0-2; IncrementalAlterConfigs, versions 0-1;
- AlterPartition, versions 0-3; ElectLeaders, versions 0-2;
- AlterPartitionReassignments, versions 0-1; ListPartitionReassignments, version 0;
- BrokerRegistration, versions 0-4; BrokerHeartbeat, versions 0-1; UnregisterBroker, version 0;
- AllocateProducerIds, version 0; AssignReplicasToDirs, version 0;
- AlterUserScramCredentials, version 0; AlterClientQuotas, versions 0-1;
- CreateAcls, versions 1-3; DeleteAcls, versions 1-3.
"""

from asyncio import sleep
from typing import Any, Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.control.active_controller import ActiveController, NotAgreed, NotController
from barnabas.broker.control.controller_apis import CONTROLLER_APIS
from barnabas.broker.control.controller_calls import (
    DEFAULT_TIMEOUT_MS,
    ControllerCalls,
    ControllerUnavailable,
)
from barnabas.broker.control.topic_creation import TopicCreation
from barnabas.broker.handlers.mutation_quota import MUTATIONS, MutationQuota
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.quorum.catch_up import catch_up
from barnabas.broker.quorum.quorum import Quorum
from barnabas.broker.settings.config import BrokerConfig
from barnabas.controller.topics import (
    MAX_PARTITIONS_PER_REQUEST,
    partitions_asked_for,
    too_many_partitions,
)
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest
from barnabas.wire.messages.create_acls import CreateAclsRequest
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.wire.messages.delete_acls import DeleteAclsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

_TOPICS_AT_A_TIME = 100
_ACLS = (CreateAclsRequest, DeleteAclsRequest)


class Needs(Protocol):
    """What this handler asks of the node."""

    authorization: Authorization
    calls: ControllerCalls

    @property
    def cluster_id(self) -> str: ...

    config: BrokerConfig
    controller: ActiveController

    async def in_step(self) -> None: ...

    image: MetadataImage
    quorum: Quorum
    topic_creation: TopicCreation


async def handle(node: Needs, request: Request[Any], context: RequestContext) -> Response:
    api = CONTROLLER_APIS[type(request)]
    if type(request) in _ACLS and not node.authorization.is_enabled:
        return api.refuse(request, ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
    if isinstance(request, BrokerRegistrationRequest) and request.cluster_id != node.cluster_id:
        return api.refuse(request, ErrorCode.INCONSISTENT_CLUSTER_ID, "")
    if isinstance(request, BrokerRegistrationRequest) and node.controller.hears_another(
        request.broker_id, request.incarnation_id
    ):
        # A copy of its data, most likely: a directory's lock does not detect a copy.
        return api.refuse(request, ErrorCode.DUPLICATE_BROKER_REGISTRATION, "")
    try:
        if context.connection.peer is not None:
            response: Response = await node.calls.decide_here(request)
            if isinstance(request, BrokerHeartbeatRequest) and not api.error_of(response):
                node.controller.heard_from(request.broker_id, context.connection)
        else:
            response = await _limited(node, _in_newest_shape(request), context)
            await catch_up(node.quorum)
            if isinstance(response, CreateTopicsResponse):
                await node.topic_creation.seen(_created(request, response))
            await node.in_step()
        return response
    except NotController:
        return api.refuse(request, ErrorCode.NOT_CONTROLLER, "another node is the controller")
    except (NotAgreed, ControllerUnavailable) as error:
        return api.refuse(request, ErrorCode.REQUEST_TIMED_OUT, str(error))


async def _limited(node: Needs, request: Request[Any], context: RequestContext) -> Response:
    """Forward what the quota of the client allows."""
    quota = context.quota
    if quota is None or not isinstance(request, MUTATIONS):
        return await _forward(node, request)
    default_partitions = node.config.topic_creation.num_partitions
    limited = MutationQuota(quota, node.image, default_partitions, request, context.version)
    has_any = bool(limited.accepted.topics) or not request.topics
    return limited.respond(await _forward(node, limited.accepted) if has_any else None)


async def _forward(node: Needs, request: Request[Any]) -> Response:
    timeout_ms = getattr(request, "timeout_ms", DEFAULT_TIMEOUT_MS)
    timeout_ms = max(1_000, min(timeout_ms, DEFAULT_TIMEOUT_MS))
    if isinstance(request, CreateTopicsRequest) and len(request.topics) > _TOPICS_AT_A_TIME:
        return await _create_in_batches(node, request, timeout_ms)
    response: Response = await node.calls.call(request, timeout_ms=timeout_ms)
    return response


def _in_newest_shape(request: Request[Any]) -> Request[Any]:
    """The request in the newest version, in which it is forwarded."""
    if isinstance(request, DeleteTopicsRequest) and not request.topics:
        topics = [DeleteTopicState(name) for name in request.topic_names]
        return DeleteTopicsRequest(topics, timeout_ms=request.timeout_ms)
    return request


async def _create_in_batches(
    node: Needs, request: CreateTopicsRequest, timeout_ms: int
) -> CreateTopicsResponse:
    """Create many topics in batches: each batch is one decision, which must stay short."""
    count = partitions_asked_for(request, node.config.topic_creation.num_partitions)
    if count > MAX_PARTITIONS_PER_REQUEST:
        refusal = too_many_partitions(count)
        return _refused(request.topics, refusal.error_code, refusal.message)
    left = sorted(request.topics, key=lambda topic: topic.name)
    response = CreateTopicsResponse()
    while left:
        end = _TOPICS_AT_A_TIME
        while end < len(left) and left[end].name == left[end - 1].name:
            end += 1  # topics that stand twice in the request are refused, if seen together
        few, left = left[:end], left[end:]
        part = CreateTopicsRequest(few, request.timeout_ms, request.validate_only)
        try:
            answer = await node.calls.call(part, timeout_ms=timeout_ms)
        except ControllerUnavailable as error:
            answer = _refused(few + left, ErrorCode.REQUEST_TIMED_OUT, str(error))
            left = []
        await sleep(0)  # a batch that is refused is decided without waiting for anything
        response.topics += answer.topics
        response.throttle_time_ms = max(response.throttle_time_ms, answer.throttle_time_ms)
    return response


def _refused(topics: list[CreatableTopic], error: int, message: str) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        0,
        [
            CreatableTopicResult(name, error_code=error, error_message=message)
            for name in dict.fromkeys(topic.name for topic in topics)
        ],
    )


def _created(request: Request[Any], response: CreateTopicsResponse) -> list[str]:
    """Topics that the client may use on this node at once."""
    if isinstance(request, CreateTopicsRequest) and request.validate_only:
        return []
    return [topic.name for topic in response.topics if not topic.error_code]
