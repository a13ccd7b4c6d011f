"""The controller's APIs: how each is decided, refused, and recognised as refused."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from barnabas.controller.controller import Controller
from barnabas.controller.decision import Decision
from barnabas.controller.elect_leaders import leaderless
from barnabas.controller.features.node_features import AllFeatures
from barnabas.controller.replica_ends import ReplicaEnds
from barnabas.metadata.image import MetadataImage, PartitionImage, TopicImage
from barnabas.security.principal import ANONYMOUS, Principal
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request, Response
from barnabas.wire.messages import alter_configs as plain_configs
from barnabas.wire.messages import alter_partition_reassignments as reassignments
from barnabas.wire.messages import elect_leaders
from barnabas.wire.messages import incremental_alter_configs as incremental_configs
from barnabas.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntryResult,
)
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from barnabas.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from barnabas.wire.messages.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from barnabas.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from barnabas.wire.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from barnabas.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from barnabas.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from barnabas.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from barnabas.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from barnabas.wire.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from barnabas.wire.messages.update_features import (
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)


class DecisionInput(NamedTuple):
    """What a decision may depend on besides the request and the controller's state."""

    now_ms: int
    metadata_end_offset: int
    replica_ends: ReplicaEnds
    """The log ends of the replicas that an election can choose from, if the API needs them."""
    requester: Principal = ANONYMOUS
    """Who asks, if the API asks who."""
    nodes: AllFeatures = MappingProxyType({})
    """What all nodes support, if the API needs that."""


Decide = Callable[[Controller, Any, DecisionInput], Decision[Any]]
Refuse = Callable[[Any, ErrorCode, str], Response]


@dataclass(frozen=True, slots=True)
class ControllerApi:
    decide: Decide
    refuse: Refuse
    """The response when nothing could be decided."""
    error_of: Callable[[Any], int]
    """The error of the whole response, or of its first part: enough to recognise a refusal."""
    at_once: bool = False
    """Whether a response that changes nothing is sent while changes are pending."""
    elects: Callable[[MetadataImage, Any], list[tuple[TopicImage, PartitionImage]]] | None = None
    """The partitions whose replicas are asked for their log ends before the decision."""
    asks_who: bool = False
    """Whether the decision depends on who asks: the principal is forwarded with the request."""
    asks_nodes: bool = False
    """Whether all nodes are asked before the decision for what they support."""


def _timeless(decide: Callable[[Controller, Any], Decision[Any]]) -> Decide:
    return lambda controller, request, _: decide(controller, request)


def _timed(decide: Callable[[Controller, Any, int], Decision[Any]]) -> Decide:
    return lambda controller, request, given: decide(controller, request, given.now_ms)


def _of_requester(decide: Callable[[Controller, Any, Principal], Decision[Any]]) -> Decide:
    return lambda controller, request, given: decide(controller, request, given.requester)


def _error(response: Any) -> int:
    code: int = response.error_code
    return code


def _first(parts: str) -> Callable[[Any], int]:
    def error_of(response: Any) -> int:
        found = getattr(response, parts)
        return _error(found[0]) if found else 0

    return error_of


def _refuse_topics(
    request: CreateTopicsRequest, error: ErrorCode, message: str
) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(topic.name, error_code=error, error_message=message)
            for topic in request.topics
        ]
    )


def _refuse_deletions(
    request: DeleteTopicsRequest, error: ErrorCode, message: str
) -> DeleteTopicsResponse:
    asked = request.topics or [DeleteTopicState(name) for name in request.topic_names]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(topic.name, topic.topic_id, error, message) for topic in asked
        ]
    )


def _refuse_partitions(
    request: CreatePartitionsRequest, error: ErrorCode, message: str
) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(topic.name, error, message) for topic in request.topics
        ]
    )


def _refuse_configs(
    request: plain_configs.AlterConfigsRequest, error: ErrorCode, message: str
) -> plain_configs.AlterConfigsResponse:
    return plain_configs.AlterConfigsResponse(
        responses=[
            plain_configs.AlterConfigsResourceResponse(
                error, message, resource.resource_type, resource.resource_name
            )
            for resource in request.resources
        ]
    )


def _refuse_config_changes(
    request: incremental_configs.IncrementalAlterConfigsRequest, error: ErrorCode, message: str
) -> incremental_configs.IncrementalAlterConfigsResponse:
    return incremental_configs.IncrementalAlterConfigsResponse(
        responses=[
            incremental_configs.AlterConfigsResourceResponse(
                error, message, resource.resource_type, resource.resource_name
            )
            for resource in request.resources
        ]
    )


def _refuse_users(
    request: AlterUserScramCredentialsRequest, error: ErrorCode, message: str
) -> AlterUserScramCredentialsResponse:
    users = {each.name: None for each in request.deletions}
    users |= {each.name: None for each in request.upsertions}
    return AlterUserScramCredentialsResponse(
        results=[AlterUserScramCredentialsResult(name, error, message) for name in users]
    )


def _refuse_acls(request: CreateAclsRequest, error: ErrorCode, message: str) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[AclCreationResult(error, message) for _ in request.creations]
    )


def _refuse_acl_deletions(
    request: DeleteAclsRequest, error: ErrorCode, message: str
) -> DeleteAclsResponse:
    return DeleteAclsResponse(
        filter_results=[DeleteAclsFilterResult(error, message) for _ in request.filters]
    )


def _refuse_quotas(
    request: AlterClientQuotasRequest, error: ErrorCode, message: str
) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(
        entries=[EntryResult(error, message, entry.entity) for entry in request.entries]
    )


def _refusal(response_type: Callable[..., Response], *, says_why: bool = False) -> Refuse:
    def refuse(_: Any, error: ErrorCode, message: str) -> Response:
        if says_why:
            return response_type(error_code=error, error_message=message)
        return response_type(error_code=error)

    return refuse


CONTROLLER_APIS: dict[type[Request[Any]], ControllerApi] = {
    CreateTopicsRequest: ControllerApi(
        _timed(Controller.create_topics),
        _refuse_topics,
        _first("topics"),
    ),
    DeleteTopicsRequest: ControllerApi(
        _timeless(Controller.delete_topics),
        _refuse_deletions,
        _first("responses"),
    ),
    CreatePartitionsRequest: ControllerApi(
        _timed(Controller.create_partitions),
        _refuse_partitions,
        _first("results"),
    ),
    plain_configs.AlterConfigsRequest: ControllerApi(
        _timeless(Controller.alter_configs),
        _refuse_configs,
        _first("responses"),
    ),
    incremental_configs.IncrementalAlterConfigsRequest: ControllerApi(
        _timeless(Controller.incremental_alter_configs),
        _refuse_config_changes,
        _first("responses"),
    ),
    CreateAclsRequest: ControllerApi(
        _timeless(Controller.create_acls),
        _refuse_acls,
        _first("results"),
    ),
    DeleteAclsRequest: ControllerApi(
        _timeless(Controller.delete_acls),
        _refuse_acl_deletions,
        _first("filter_results"),
    ),
    AllocateProducerIdsRequest: ControllerApi(
        _timeless(Controller.allocate_producer_ids),
        _refusal(AllocateProducerIdsResponse),
        _error,
    ),
    AlterPartitionRequest: ControllerApi(
        _timeless(Controller.alter_partition),
        _refusal(AlterPartitionResponse),
        _error,
    ),
    BrokerRegistrationRequest: ControllerApi(
        _timed(Controller.register_broker),
        _refusal(BrokerRegistrationResponse),
        _error,
    ),
    BrokerHeartbeatRequest: ControllerApi(
        lambda controller, request, given: controller.heartbeat(
            request, given.now_ms, given.metadata_end_offset
        ),
        _refusal(BrokerHeartbeatResponse),
        _error,
        at_once=True,  # heartbeats are answered even while nothing can be committed
    ),
    UnregisterBrokerRequest: ControllerApi(
        _timeless(Controller.unregister_broker),
        _refusal(UnregisterBrokerResponse, says_why=True),
        _error,
    ),
    AssignReplicasToDirsRequest: ControllerApi(
        _timeless(Controller.assign_replicas_to_dirs),
        _refusal(AssignReplicasToDirsResponse),
        _error,
    ),
    AlterUserScramCredentialsRequest: ControllerApi(
        _timeless(Controller.alter_user_scram_credentials),
        _refuse_users,
        _first("results"),
    ),
    AlterClientQuotasRequest: ControllerApi(
        _timeless(Controller.alter_client_quotas),
        _refuse_quotas,
        _first("entries"),
    ),
    CreateDelegationTokenRequest: ControllerApi(
        _of_requester(Controller.create_delegation_token),
        _refusal(CreateDelegationTokenResponse),
        _error,
        asks_who=True,
    ),
    RenewDelegationTokenRequest: ControllerApi(
        _of_requester(Controller.renew_delegation_token),
        _refusal(RenewDelegationTokenResponse),
        _error,
        asks_who=True,
    ),
    ExpireDelegationTokenRequest: ControllerApi(
        _of_requester(Controller.expire_delegation_token),
        _refusal(ExpireDelegationTokenResponse),
        _error,
        asks_who=True,
    ),
    UpdateFeaturesRequest: ControllerApi(
        lambda controller, request, given: controller.update_features(request, given.nodes),
        _refusal(UpdateFeaturesResponse, says_why=True),
        _error,
        asks_nodes=True,
    ),
    elect_leaders.ElectLeadersRequest: ControllerApi(
        lambda controller, request, given: controller.elect_leaders(request, given.replica_ends),
        _refusal(elect_leaders.ElectLeadersResponse),
        _error,
        elects=leaderless,
    ),
    reassignments.AlterPartitionReassignmentsRequest: ControllerApi(
        _timeless(Controller.alter_partition_reassignments),
        _refusal(reassignments.AlterPartitionReassignmentsResponse, says_why=True),
        _error,
    ),
    ListPartitionReassignmentsRequest: ControllerApi(
        _timeless(Controller.list_partition_reassignments),
        _refusal(ListPartitionReassignmentsResponse, says_why=True),
        _error,
    ),
}
