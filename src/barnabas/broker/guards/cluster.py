"""Guards of operations on the cluster as a whole."""

from collections.abc import Callable
from typing import Any

from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.control.controller_apis import CONTROLLER_APIS
from barnabas.broker.guards.guard import CLUSTER_DENIED, MESSAGES, Guard, Needs, Verdict
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.net.peers import claims_to_be_peer
from barnabas.broker.quorum.describe import asks_for_metadata
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.message import Response
from barnabas.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from barnabas.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)


def cluster(operation: AclOperation, refuse: Callable[[Any], Response] | None = None) -> Guard:
    """The guard of an API that needs one right on the cluster."""

    def guard(_: Needs, request: Any, access: RequestAccess, __: RequestContext) -> Verdict:
        if access.cluster(operation):
            return None
        return _refused(request) if refuse is None else refuse(request)

    return guard


def _refused(request: Any) -> Response:
    api = CONTROLLER_APIS.get(type(request))
    if api is not None:
        return api.refuse(request, CLUSTER_DENIED, MESSAGES[CLUSTER_DENIED])
    response: Response = request.RESPONSE(error_code=CLUSTER_DENIED)
    return response


def _refuse_log_dirs(request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic.name,
                [
                    AlterReplicaLogDirPartitionResult(index, CLUSTER_DENIED)
                    for index in topic.partitions
                ],
            )
            for directory in request.dirs
            for topic in directory.topics
        ]
    )


alter_replica_log_dirs = cluster(AclOperation.ALTER, _refuse_log_dirs)


def _refuse_elections(request: ElectLeadersRequest) -> ElectLeadersResponse:
    """In each partition too: version 0 has no error for the whole answer."""
    message = MESSAGES[CLUSTER_DENIED]
    return ElectLeadersResponse(
        error_code=CLUSTER_DENIED,
        replica_election_results=[
            ReplicaElectionResult(
                topic.topic,
                [PartitionResult(index, CLUSTER_DENIED, message) for index in topic.partitions],
            )
            for topic in request.topic_partitions or ()
        ],
    )


elect_leaders = cluster(AclOperation.ALTER, _refuse_elections)


def describe_quorum(
    _: Needs, request: DescribeQuorumRequest, access: RequestAccess, context: RequestContext
) -> Verdict:
    """DESCRIBE on the cluster.

    A node that looks for its cluster can't authenticate yet: it may ask for the voters.
    """
    if claims_to_be_peer(context.client_id) and asks_for_metadata(request):
        return None
    if access.cluster(AclOperation.DESCRIBE):
        return None
    return DescribeQuorumResponse(CLUSTER_DENIED, MESSAGES[CLUSTER_DENIED])
