"""The route table: every API that is served, in which versions, by which handler."""

from collections.abc import Sequence
from dataclasses import replace

from barnabas.broker.handlers import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    add_raft_voter,
    alter_broker_loggers,
    alter_replica_log_dirs,
    alter_share_group_offsets,
    api_versions,
    begin_quorum_epoch,
    consumer_group_describe,
    consumer_group_heartbeat,
    delegation_tokens,
    delete_groups,
    delete_records,
    delete_share_group_offsets,
    delete_share_group_state,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_delegation_token,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_share_group_offsets,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    end_quorum_epoch,
    end_txn,
    envelope,
    fetch,
    fetch_snapshot,
    find_coordinator,
    for_controller,
    get_telemetry_subscriptions,
    heartbeat,
    init_producer_id,
    initialize_share_group_state,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    produce_single,
    push_telemetry,
    read_share_group_state,
    read_share_group_state_summary,
    remove_raft_voter,
    sasl_authenticate,
    sasl_handshake,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
    sync_group,
    txn_offset_commit,
    update_features,
    vote,
    write_share_group_state,
    write_txn_markers,
)
from barnabas.broker.handlers import node_only_requests as peers_only
from barnabas.broker.net.dispatcher import Route
from barnabas.broker.node import Node
from barnabas.broker.runtime.release import Release
from barnabas.broker.runtime.request_parts import parts
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

_PARTITIONS_OF_TOPICS = parts("topics=topics/partitions=partitions")
_FETCHED_OFFSETS = parts(
    "groups:group_id=groups/topics=topics/partition_indexes=partitions",
    "topics=topics/partition_indexes=partitions",
)
_RESOURCES = parts("resources=responses")
_DELETED_TOPICS = parts("topics=responses", "topic_names=responses")
_ELECTIONS = parts("topic_partitions=replica_election_results/partitions=partition_result")
_REASSIGNMENTS = parts("topics=responses/partitions=partitions")


def routes(release: Release | None = None) -> Sequence[Route[Node]]:
    """All routes, as `release` serves them; ApiVersions answers from the same list."""
    if release is None or not release.newest_versions:
        return _ROUTES
    newest = release.newest_version
    return _with_api_versions(
        [replace(each, newest_version=newest(each.api_key, each.max_version)) for each in _TABLE]
    )


def _with_api_versions(table: Sequence[Route[Node]]) -> Sequence[Route[Node]]:
    own: Route[Node] = Route(ApiVersionsRequest, lambda *_: None)
    handle = api_versions.handler([*table, own])
    return (*table, Route(ApiVersionsRequest, handle))


_TABLE: Sequence[Route[Node]] = (
    Route(
        ProduceRequest,
        produce.handle,
        produce_single.handle,
        has_records=True,
    ),
    Route(
        FetchRequest,
        fetch.handle,
        peers_only=peers_only.FETCH,
    ),
    Route(ListOffsetsRequest, list_offsets.handle),
    Route(MetadataRequest, metadata.handle),
    Route(OffsetCommitRequest, offset_commit.handle, parts=_PARTITIONS_OF_TOPICS),
    Route(OffsetFetchRequest, offset_fetch.handle, parts=_FETCHED_OFFSETS),
    Route(FindCoordinatorRequest, find_coordinator.handle),
    Route(JoinGroupRequest, join_group.handle),
    Route(HeartbeatRequest, heartbeat.handle),
    Route(LeaveGroupRequest, leave_group.handle),
    Route(SyncGroupRequest, sync_group.handle),
    Route(DescribeGroupsRequest, describe_groups.handle),
    Route(ListGroupsRequest, list_groups.handle),
    Route(ConsumerGroupHeartbeatRequest, consumer_group_heartbeat.handle),
    Route(ConsumerGroupDescribeRequest, consumer_group_describe.handle),
    Route(CreateTopicsRequest, for_controller.handle),
    Route(DeleteTopicsRequest, for_controller.handle, parts=_DELETED_TOPICS),
    Route(DeleteRecordsRequest, delete_records.handle, parts=_PARTITIONS_OF_TOPICS),
    Route(InitProducerIdRequest, init_producer_id.handle),
    Route(TxnOffsetCommitRequest, txn_offset_commit.handle),
    Route(OffsetForLeaderEpochRequest, offset_for_leader_epoch.handle),
    Route(DescribeConfigsRequest, describe_configs.handle),
    Route(AlterConfigsRequest, for_controller.handle, parts=_RESOURCES),
    Route(
        IncrementalAlterConfigsRequest,
        alter_broker_loggers.handle,
        parts=_RESOURCES,
    ),
    Route(DescribeLogDirsRequest, describe_log_dirs.handle),
    Route(DescribeAclsRequest, describe_acls.handle),
    Route(CreateAclsRequest, for_controller.handle, parts=parts("creations=results")),
    Route(DeleteAclsRequest, for_controller.handle, parts=parts("filters=filter_results")),
    Route(DescribeClientQuotasRequest, describe_client_quotas.handle),
    Route(AlterClientQuotasRequest, for_controller.handle),
    Route(ListConfigResourcesRequest, list_config_resources.handle),
    Route(GetTelemetrySubscriptionsRequest, get_telemetry_subscriptions.handle),
    Route(PushTelemetryRequest, push_telemetry.handle),
    Route(UpdateFeaturesRequest, update_features.handle),
    Route(DescribeUserScramCredentialsRequest, describe_user_scram_credentials.handle),
    Route(AlterUserScramCredentialsRequest, for_controller.handle),
    Route(CreateDelegationTokenRequest, delegation_tokens.handle),
    Route(RenewDelegationTokenRequest, delegation_tokens.handle),
    Route(ExpireDelegationTokenRequest, delegation_tokens.handle),
    Route(DescribeDelegationTokenRequest, describe_delegation_token.handle),
    Route(AlterReplicaLogDirsRequest, alter_replica_log_dirs.handle),
    Route(CreatePartitionsRequest, for_controller.handle),
    Route(DeleteGroupsRequest, delete_groups.handle, parts=parts("groups_names=results")),
    Route(OffsetDeleteRequest, offset_delete.handle, parts=_PARTITIONS_OF_TOPICS),
    Route(DescribeClusterRequest, describe_cluster.handle),
    Route(DescribeProducersRequest, describe_producers.handle),
    Route(DescribeTopicPartitionsRequest, describe_topic_partitions.handle),
    Route(VoteRequest, vote.handle, peers_only=peers_only.CANDIDATE),
    Route(
        BeginQuorumEpochRequest,
        begin_quorum_epoch.handle,
        peers_only=peers_only.NEW_LEADER,
    ),
    Route(
        EndQuorumEpochRequest,
        end_quorum_epoch.handle,
        peers_only=peers_only.FORMER_LEADER,
    ),
    Route(
        FetchSnapshotRequest,
        fetch_snapshot.handle,
        peers_only=peers_only.REPLICA,
    ),
    Route(DescribeQuorumRequest, describe_quorum.handle),
    Route(AddOffsetsToTxnRequest, add_offsets_to_txn.handle),
    Route(
        AddPartitionsToTxnRequest,
        add_partitions_to_txn.handle,
        peers_only=peers_only.TRANSACTIONS,
    ),
    Route(DescribeTransactionsRequest, describe_transactions.handle),
    Route(EndTxnRequest, end_txn.handle),
    Route(ListTransactionsRequest, list_transactions.handle),
    Route(
        WriteTxnMarkersRequest,
        write_txn_markers.handle,
        peers_only=peers_only.MARKERS,
    ),
    Route(SaslHandshakeRequest, sasl_handshake.handle),
    Route(SaslAuthenticateRequest, sasl_authenticate.handle),
    Route(AddRaftVoterRequest, add_raft_voter.handle),
    Route(RemoveRaftVoterRequest, remove_raft_voter.handle),
    Route(
        AlterPartitionRequest,
        for_controller.handle,
        peers_only=peers_only.BROKER,
    ),
    Route(BrokerRegistrationRequest, for_controller.handle, peers_only=peers_only.BROKER),
    Route(BrokerHeartbeatRequest, for_controller.handle, peers_only=peers_only.BROKER),
    Route(UnregisterBrokerRequest, for_controller.handle),
    Route(AllocateProducerIdsRequest, for_controller.handle, peers_only=peers_only.BROKER),
    Route(AssignReplicasToDirsRequest, for_controller.handle, peers_only=peers_only.BROKER),
    Route(ShareGroupHeartbeatRequest, share_group_heartbeat.handle),
    Route(ShareGroupDescribeRequest, share_group_describe.handle),
    Route(ShareFetchRequest, share_fetch.handle),
    Route(ShareAcknowledgeRequest, share_acknowledge.handle),
    Route(
        InitializeShareGroupStateRequest,
        initialize_share_group_state.handle,
        peers_only=peers_only.SHARE_STATE,
    ),
    Route(
        ReadShareGroupStateRequest,
        read_share_group_state.handle,
        peers_only=peers_only.SHARE_STATE,
    ),
    Route(
        WriteShareGroupStateRequest,
        write_share_group_state.handle,
        peers_only=peers_only.SHARE_STATE,
    ),
    Route(
        DeleteShareGroupStateRequest,
        delete_share_group_state.handle,
        peers_only=peers_only.SHARE_STATE,
    ),
    Route(
        ReadShareGroupStateSummaryRequest,
        read_share_group_state_summary.handle,
        peers_only=peers_only.SHARE_STATE,
    ),
    Route(DescribeShareGroupOffsetsRequest, describe_share_group_offsets.handle),
    Route(AlterShareGroupOffsetsRequest, alter_share_group_offsets.handle),
    Route(DeleteShareGroupOffsetsRequest, delete_share_group_offsets.handle),
    Route(EnvelopeRequest, envelope.handle, peers_only=peers_only.ENVELOPE),
    Route(ElectLeadersRequest, for_controller.handle, parts=_ELECTIONS),
    Route(AlterPartitionReassignmentsRequest, for_controller.handle, parts=_REASSIGNMENTS),
    Route(ListPartitionReassignmentsRequest, for_controller.handle),
)
"""All but ApiVersions."""
_ROUTES = _with_api_versions(_TABLE)
