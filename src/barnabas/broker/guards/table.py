"""The guard of every API: what it needs, and what those get who lack it.

A route without a guard is refused to all clients, and a test fails.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from barnabas.broker.guards import (
    cluster,
    configs,
    groups,
    offsets,
    shares,
    tokens,
    topic_admin,
    topics,
    transactions,
)
from barnabas.broker.guards.guard import Guard, Needs, anybody, guarded, in_handler, nodes_only
from barnabas.broker.guards.produce_in_place import with_short_cut
from barnabas.broker.net.dispatcher import Route
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.message import Request
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest
from barnabas.wire.messages.alter_configs import AlterConfigsRequest
from barnabas.wire.messages.alter_partition import AlterPartitionRequest
from barnabas.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from barnabas.wire.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from barnabas.wire.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from barnabas.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.create_acls import CreateAclsRequest
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.delete_acls import DeleteAclsRequest
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.delete_records import DeleteRecordsRequest
from barnabas.wire.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from barnabas.wire.messages.delete_share_group_state import DeleteShareGroupStateRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.describe_acls import DescribeAclsRequest
from barnabas.wire.messages.describe_client_quotas import DescribeClientQuotasRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest
from barnabas.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.wire.messages.describe_producers import DescribeProducersRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest
from barnabas.wire.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest
from barnabas.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.envelope import EnvelopeRequest
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.initialize_share_group_state import InitializeShareGroupStateRequest
from barnabas.wire.messages.join_group import JoinGroupRequest
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsRequest
from barnabas.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest
from barnabas.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.messages.push_telemetry import PushTelemetryRequest
from barnabas.wire.messages.read_share_group_state import ReadShareGroupStateRequest
from barnabas.wire.messages.read_share_group_state_summary import ReadShareGroupStateSummaryRequest
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from barnabas.wire.messages.share_fetch import ShareFetchRequest
from barnabas.wire.messages.share_group_describe import ShareGroupDescribeRequest
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from barnabas.wire.messages.sync_group import SyncGroupRequest
from barnabas.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.wire.messages.update_features import UpdateFeaturesRequest
from barnabas.wire.messages.vote import VoteRequest
from barnabas.wire.messages.write_share_group_state import WriteShareGroupStateRequest
from barnabas.wire.messages.write_txn_markers import WriteTxnMarkersRequest

NodeT = TypeVar("NodeT", bound=Needs)

_describe_cluster = cluster.cluster(AclOperation.DESCRIBE)
_alter_cluster = cluster.cluster(AclOperation.ALTER)
_describe_cluster_configs = cluster.cluster(AclOperation.DESCRIBE_CONFIGS)

GUARDS: dict[type[Request[Any]], Guard] = {
    # Records and offsets.
    ProduceRequest: topics.produce,
    FetchRequest: in_handler,
    ListOffsetsRequest: topics.list_offsets,
    OffsetForLeaderEpochRequest: topics.offset_for_leader_epoch,
    DeleteRecordsRequest: topics.delete_records,
    DescribeProducersRequest: topics.describe_producers,
    # Topics.
    MetadataRequest: in_handler,
    DescribeTopicPartitionsRequest: in_handler,
    CreateTopicsRequest: topic_admin.create_topics,
    CreatePartitionsRequest: topic_admin.create_partitions,
    DeleteTopicsRequest: topic_admin.delete_topics,
    # Groups.
    FindCoordinatorRequest: groups.find_coordinator,
    JoinGroupRequest: groups.member,
    SyncGroupRequest: groups.member,
    HeartbeatRequest: groups.member,
    LeaveGroupRequest: groups.member,
    ConsumerGroupHeartbeatRequest: groups.modern_heartbeat,
    ConsumerGroupDescribeRequest: groups.consumer_group_describe,
    DescribeGroupsRequest: groups.describe_groups,
    ListGroupsRequest: in_handler,
    DeleteGroupsRequest: groups.delete_groups,
    OffsetCommitRequest: offsets.offset_commit,
    OffsetFetchRequest: in_handler,
    OffsetDeleteRequest: groups.offset_delete,
    # Share groups.
    ShareGroupHeartbeatRequest: groups.modern_heartbeat,
    ShareGroupDescribeRequest: groups.share_group_describe,
    ShareFetchRequest: shares.fetch,
    ShareAcknowledgeRequest: shares.acknowledge,
    DescribeShareGroupOffsetsRequest: shares.describe_offsets,
    AlterShareGroupOffsetsRequest: shares.alter_offsets,
    DeleteShareGroupOffsetsRequest: shares.delete_offsets,
    # Transactions.
    InitProducerIdRequest: transactions.init_producer_id,
    AddPartitionsToTxnRequest: transactions.add_partitions_to_txn,
    AddOffsetsToTxnRequest: transactions.add_offsets_to_txn,
    EndTxnRequest: transactions.end_txn,
    TxnOffsetCommitRequest: offsets.txn_offset_commit,
    WriteTxnMarkersRequest: transactions.write_txn_markers,
    DescribeTransactionsRequest: transactions.describe_transactions,
    ListTransactionsRequest: in_handler,
    # Settings.
    DescribeConfigsRequest: configs.describe_configs,
    AlterConfigsRequest: configs.alter_configs,
    IncrementalAlterConfigsRequest: configs.alter_configs,
    ListConfigResourcesRequest: _describe_cluster_configs,
    DescribeClientQuotasRequest: _describe_cluster_configs,
    GetTelemetrySubscriptionsRequest: anybody,
    PushTelemetryRequest: anybody,
    AlterClientQuotasRequest: cluster.cluster(AclOperation.ALTER_CONFIGS),
    # The cluster.
    DescribeClusterRequest: in_handler,
    DescribeQuorumRequest: cluster.describe_quorum,
    DescribeLogDirsRequest: _describe_cluster,
    ListPartitionReassignmentsRequest: _describe_cluster,
    DescribeAclsRequest: _describe_cluster,
    DescribeUserScramCredentialsRequest: _describe_cluster,
    CreateAclsRequest: _alter_cluster,
    DeleteAclsRequest: _alter_cluster,
    AlterUserScramCredentialsRequest: _alter_cluster,
    AlterPartitionReassignmentsRequest: _alter_cluster,
    AlterReplicaLogDirsRequest: cluster.alter_replica_log_dirs,
    ElectLeadersRequest: cluster.elect_leaders,
    UpdateFeaturesRequest: _alter_cluster,
    UnregisterBrokerRequest: _alter_cluster,
    AddRaftVoterRequest: _alter_cluster,
    RemoveRaftVoterRequest: _alter_cluster,
    # Delegation tokens: the controller knows whose they are.
    CreateDelegationTokenRequest: tokens.create_delegation_token,
    RenewDelegationTokenRequest: anybody,
    ExpireDelegationTokenRequest: anybody,
    DescribeDelegationTokenRequest: in_handler,
    # Between nodes.
    VoteRequest: nodes_only,
    BeginQuorumEpochRequest: nodes_only,
    EndQuorumEpochRequest: nodes_only,
    FetchSnapshotRequest: nodes_only,
    AlterPartitionRequest: nodes_only,
    BrokerRegistrationRequest: nodes_only,
    BrokerHeartbeatRequest: nodes_only,
    AllocateProducerIdsRequest: nodes_only,
    AssignReplicasToDirsRequest: nodes_only,
    InitializeShareGroupStateRequest: nodes_only,
    ReadShareGroupStateRequest: nodes_only,
    WriteShareGroupStateRequest: nodes_only,
    DeleteShareGroupStateRequest: nodes_only,
    ReadShareGroupStateSummaryRequest: nodes_only,
    EnvelopeRequest: nodes_only,
    # Before a client has signed in.
    ApiVersionsRequest: anybody,
    SaslHandshakeRequest: anybody,
    SaslAuthenticateRequest: anybody,
}


def with_guards(routes: Sequence[Route[NodeT]]) -> list[Route[NodeT]]:
    """The routes as they are served where an authorizer is set."""
    return [
        with_short_cut(route, guarded(route, GUARDS.get(route.request_type, nodes_only)))
        for route in routes
    ]
