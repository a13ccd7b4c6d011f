"""Every API in every version it is served in: a sensible request gets a decodable answer.

Handlers know one path for all versions, so what can break is an answer that some version can't
carry. That shows only when it is asked for in that version.
"""

from collections.abc import Callable
from typing import Any

import pytest

from barnabas.broker.control.envelope import opened_answer, seal
from barnabas.broker.routes import routes
from barnabas.security.principal import Principal
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request
from barnabas.wire.messages import (
    add_partitions_to_txn,
    alter_configs,
    alter_partition,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    begin_quorum_epoch,
    describe_producers,
    describe_quorum,
    elect_leaders,
    end_quorum_epoch,
    fetch_snapshot,
    incremental_alter_configs,
    share_fetch,
    txn_offset_commit,
    update_features,
    vote,
    write_txn_markers,
)
from barnabas.wire.messages import alter_share_group_offsets as share_offsets_alter
from barnabas.wire.messages import delete_share_group_offsets as share_offsets_delete
from barnabas.wire.messages import delete_share_group_state as share_state_delete
from barnabas.wire.messages import describe_share_group_offsets as share_offsets
from barnabas.wire.messages import initialize_share_group_state as share_state_init
from barnabas.wire.messages import read_share_group_state as share_state_read
from barnabas.wire.messages import read_share_group_state_summary as share_state_summary
from barnabas.wire.messages import write_share_group_state as share_state_write
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
)
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.describe_acls import DescribeAclsRequest
from barnabas.wire.messages.describe_client_quotas import DescribeClientQuotasRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from barnabas.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from barnabas.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.wire.messages.push_telemetry import PushTelemetryRequest
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from barnabas.wire.messages.share_group_describe import ShareGroupDescribeRequest
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from barnabas.wire.messages.sync_group import SyncGroupRequest
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import asked, create_topic, fetch_request, find_coordinator
from tests.support.broker import BrokerProcess
from tests.support.peer import prove
from tests.support.wait import wait_until

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}

Make = Callable[["Known", int], Request[Any]]
Check = Callable[[Any], object]


class Known:
    """The topic that the requests are about."""

    def __init__(self, client: RawClient, name: str) -> None:
        self.name = name
        self.topic_id = create_topic(client, name).topic_id


def _fetch(known: Known, version: int) -> FetchRequest:
    topic = asked(known.name, {0: 0, 9: 0})
    topic.topic_id = known.topic_id
    session = (0, 0) if version >= 7 else (0, -1)
    return fetch_request(topic, session=session)


def _offset_fetch(known: Known, version: int) -> OffsetFetchRequest:
    if version < 8:
        return OffsetFetchRequest("g", [OffsetFetchRequestTopic(known.name, [0])])
    topic = OffsetFetchRequestTopics(known.name, known.topic_id, [0])
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=[topic])])


def _offset_commit(known: Known, version: int, group: str = "g") -> OffsetCommitRequest:
    partitions = [OffsetCommitRequestPartition(0, 1), OffsetCommitRequestPartition(9, 1)]
    topic = OffsetCommitRequestTopic(known.name, known.topic_id, partitions)
    return OffsetCommitRequest(group, topics=[topic])


def _leave(known: Known, version: int) -> LeaveGroupRequest:
    if version < 3:
        return LeaveGroupRequest("g", "unknown")
    return LeaveGroupRequest("g", members=[MemberIdentity("unknown", None)])


def _join(known: Known, version: int) -> JoinGroupRequest:
    return JoinGroupRequest(
        f"joined-{version}",
        6000,
        6000,
        "",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", b"")],
    )


def _consumer_heartbeat(known: Known, version: int) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        f"consumers-{version}",
        "member",
        rebalance_timeout_ms=6000,
        subscribed_topic_names=[known.name],
        topic_partitions=[],
    )


def _delete_topics(known: Known, version: int) -> DeleteTopicsRequest:
    if version < 6:
        return DeleteTopicsRequest(topic_names=["nowhere"])
    return DeleteTopicsRequest([DeleteTopicState("nowhere"), DeleteTopicState(None, b"\1" * 16)])


def _metadata(known: Known, version: int) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=known.name), MetadataRequestTopic(name="not/legal")]
    if version >= 12:
        topics.append(MetadataRequestTopic(b"\1" * 16, None))
    request = MetadataRequest(topics)
    request.include_topic_authorized_operations = version >= 8
    return request


def _add_partitions(known: Known, version: int) -> add_partitions_to_txn.AddPartitionsToTxnRequest:
    topics = [add_partitions_to_txn.AddPartitionsToTxnTopic(known.name, [0, 9])]
    if version < 4:
        return add_partitions_to_txn.AddPartitionsToTxnRequest([], "unknown", 7, 0, topics)
    asked = add_partitions_to_txn.AddPartitionsToTxnTransaction("unknown", 7, 0, False, topics)
    return add_partitions_to_txn.AddPartitionsToTxnRequest([asked])


def _added(response: Any) -> list[int]:
    topics = response.results_by_topic_v3_and_below
    for transaction in response.results_by_transaction:
        topics = topics + transaction.topic_results
    return [p.partition_error_code for topic in topics for p in topic.results_by_partition]


NODES_ONLY = {52, 53, 54, 56, 58, 59, 62, 63, 67, 73, 83, 84, 85, 86, 87}
ON_DEMAND = {71, 72}
"""Clients are told of these while a subscription asks for their metrics."""
"""What Kafka serves on listeners of controllers only, Vote to AssignReplicasToDirs, and what needs
CLUSTER_ACTION: the states of share groups."""

METADATA = "__cluster_metadata"
RENEWAL = RenewDelegationTokenRequest(b"unknown")
NODE = 9
"""Which node asks what only nodes may ask."""


def _only(response: Any) -> Any:
    """What is said of the one partition that was asked about."""
    return response.topics[0].partitions[0]


def _alter_partition(known: Known, version: int) -> alter_partition.AlterPartitionRequest:
    partition = alter_partition.PartitionData(0, 0)
    if version < 3:
        partition.new_isr = [1]
    else:
        partition.new_isr_with_epochs = [alter_partition.BrokerState(1, -1)]
    topic = alter_partition.TopicData(known.name, known.topic_id, [partition])
    return alter_partition.AlterPartitionRequest(NODE, -1, [topic])


def _elect_leaders(known: Known, version: int) -> elect_leaders.ElectLeadersRequest:
    return elect_leaders.ElectLeadersRequest(
        0, [elect_leaders.TopicPartitions(known.name, [0, 9])], 1000
    )


def _reassign(
    known: Known, version: int
) -> alter_partition_reassignments.AlterPartitionReassignmentsRequest:
    partition = alter_partition_reassignments.ReassignablePartition(0, [77])
    topic = alter_partition_reassignments.ReassignableTopic(known.name, [partition])
    return alter_partition_reassignments.AlterPartitionReassignmentsRequest(1000, True, [topic])


def _share_fetch(known: Known, _: int) -> share_fetch.ShareFetchRequest:
    topic = share_fetch.FetchTopic(known.topic_id, [share_fetch.FetchPartition(0)])
    return share_fetch.ShareFetchRequest(
        "sg", "m", 0, 0, 1, 1 << 20, max_records=10, batch_size=10, topics=[topic]
    )


def _first_state(response: Any) -> Any:
    return response.results[0].partitions[0]


SHARES: "list[tuple[Make, Check]]" = [
    (
        lambda known, _: ShareGroupHeartbeatRequest("sg", "m", 0, None, [known.name]),
        lambda r: (r.error_code, r.member_id) == (0, "m") and r.member_epoch > 0,
    ),
    (
        lambda *_: ShareGroupDescribeRequest(["sg", "g"]),
        lambda r: r.groups[1].error_code == ErrorCode.GROUP_ID_NOT_FOUND,
    ),
    (_share_fetch, lambda r: (r.error_code, r.acquisition_lock_timeout_ms) == (0, 30_000)),
    (
        lambda *_: ShareAcknowledgeRequest("sg", "nobody", 1),
        lambda r: r.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND,
    ),
    (
        lambda known, _: share_state_init.InitializeShareGroupStateRequest(
            "raw",
            [
                share_state_init.InitializeStateData(
                    known.topic_id, [share_state_init.PartitionData(0, 0, 5)]
                )
            ],
        ),
        lambda r: _first_state(r).error_code in STATE_ERRORS,
    ),
    (
        lambda known, _: share_state_read.ReadShareGroupStateRequest(
            "raw",
            [
                share_state_read.ReadStateData(
                    known.topic_id, [share_state_read.PartitionData(0, 0)]
                )
            ],
        ),
        lambda r: _first_state(r).error_code in STATE_ERRORS,
    ),
    (
        lambda known, _: share_state_write.WriteShareGroupStateRequest(
            "raw",
            [
                share_state_write.WriteStateData(
                    known.topic_id, [share_state_write.PartitionData(0, 0, 0, 6)]
                )
            ],
        ),
        lambda r: _first_state(r).error_code in STATE_ERRORS,
    ),
    (
        lambda known, _: share_state_summary.ReadShareGroupStateSummaryRequest(
            "raw",
            [
                share_state_summary.ReadStateSummaryData(
                    known.topic_id, [share_state_summary.PartitionData(0, -1)]
                )
            ],
        ),
        lambda r: _first_state(r).error_code in STATE_ERRORS,
    ),
    (
        lambda known, _: share_state_delete.DeleteShareGroupStateRequest(
            "raw",
            [
                share_state_delete.DeleteStateData(
                    known.topic_id, [share_state_delete.PartitionData(0)]
                )
            ],
        ),
        lambda r: _first_state(r).error_code in STATE_ERRORS,
    ),
    (
        lambda known, _: share_offsets.DescribeShareGroupOffsetsRequest(
            [
                share_offsets.DescribeShareGroupOffsetsRequestGroup(
                    "g", [share_offsets.DescribeShareGroupOffsetsRequestTopic(known.name, [0])]
                )
            ]
        ),
        lambda r: r.groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND,
    ),
    (
        lambda known, _: share_offsets_alter.AlterShareGroupOffsetsRequest(
            "g",
            [
                share_offsets_alter.AlterShareGroupOffsetsRequestTopic(
                    known.name, [share_offsets_alter.AlterShareGroupOffsetsRequestPartition(0, 1)]
                )
            ],
        ),
        lambda r: r.error_code == ErrorCode.GROUP_ID_NOT_FOUND,
    ),
    (
        lambda known, _: share_offsets_delete.DeleteShareGroupOffsetsRequest(
            "g", [share_offsets_delete.DeleteShareGroupOffsetsRequestTopic(known.name)]
        ),
        lambda r: r.error_code == ErrorCode.GROUP_ID_NOT_FOUND,
    ),
]

STATE_ERRORS = {
    ErrorCode.NONE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.INVALID_REQUEST,
}
"""The topic of the states may not exist yet, or be loaded."""


def _advertised() -> set[int]:
    return {route.api_key for route in routes()} - NODES_ONLY - ON_DEMAND


def _move_replica(known: Known, _: int) -> alter_replica_log_dirs.AlterReplicaLogDirsRequest:
    topic = alter_replica_log_dirs.AlterReplicaLogDirTopic(known.name, [0, 9])
    directory = alter_replica_log_dirs.AlterReplicaLogDir("/elsewhere", [topic])
    return alter_replica_log_dirs.AlterReplicaLogDirsRequest([directory])


def _update_features(_: Known, version: int) -> update_features.UpdateFeaturesRequest:
    update = update_features.FeatureUpdateKey("transaction.version", 2)
    return update_features.UpdateFeaturesRequest(feature_updates=[update])


REQUESTS: list[tuple[Make, Check]] = [
    (
        lambda *_: DescribeAclsRequest(2, None, 1, None, None, 1, 1),
        lambda r: r.error_code == ErrorCode.SECURITY_DISABLED,
    ),
    (
        lambda *_: CreateAclsRequest([AclCreation(2, "t", 3, "User:ann", "*", 3, 3)]),
        lambda r: r.results[0].error_code == ErrorCode.SECURITY_DISABLED,
    ),
    (
        lambda *_: DeleteAclsRequest([DeleteAclsFilter(2, "no such", 3, None, None, 1, 1)]),
        lambda r: r.filter_results[0].error_code == ErrorCode.SECURITY_DISABLED,
    ),
    (
        lambda *_: DescribeClientQuotasRequest(),
        lambda r: (r.error_code, r.error_message, r.entries) == (0, None, []),
    ),
    (
        lambda *_: AlterClientQuotasRequest([EntryData([EntityData("user", "ann")])]),
        lambda r: (r.entries[0].error_code, r.entries[0].error_message) == (0, None),
    ),
    (
        lambda *_: DescribeUserScramCredentialsRequest(None),
        lambda r: (r.error_code, r.error_message, r.results) == (0, None, []),
    ),
    (
        lambda *_: AlterUserScramCredentialsRequest([ScramCredentialDeletion("ann", 1)]),
        lambda r: r.results[0].error_code == ErrorCode.RESOURCE_NOT_FOUND,
    ),
    # Nobody signs in here, so nobody has tokens.
    (
        lambda _, version: CreateDelegationTokenRequest(
            *(("User", "bob") if version >= 3 else ("", ""))
        ),
        lambda r: r.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
    ),
    (
        lambda *_: RenewDelegationTokenRequest(b"unknown"),
        lambda r: r.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
    ),
    (
        lambda *_: ExpireDelegationTokenRequest(b"unknown"),
        lambda r: r.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
    ),
    (
        lambda *_: DescribeDelegationTokenRequest(None),
        lambda r: r.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
    ),
    (
        lambda *_: seal(RENEWAL, Principal("User", "ann"), "127.0.0.1"),
        lambda r: opened_answer(r, RENEWAL).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED,
    ),
    (lambda *_: ListConfigResourcesRequest(), lambda r: r.error_code == 0),
    (lambda *_: GetTelemetrySubscriptionsRequest(), lambda r: r.push_interval_ms == 300_000),
    (lambda *_: PushTelemetryRequest(), lambda r: r.error_code == ErrorCode.INVALID_REQUEST),
    (
        _update_features,
        lambda r: r.error_code == 0 and not any(each.error_code for each in r.results),
    ),
    (
        _move_replica,
        lambda r: (
            [p.error_code for p in r.results[0].partitions] == [ErrorCode.LOG_DIR_NOT_FOUND] * 2
        ),
    ),
    (
        lambda known, version: ProduceRequest(
            None,
            1,
            1000,
            [
                TopicProduceData(
                    known.name if version < 13 else "",
                    known.topic_id,
                    [PartitionProduceData(0, batch(b"a")), PartitionProduceData(0, b"bad")],
                )
            ],
        ),
        lambda r: len(r.responses[0].partition_responses) == 2,
    ),
    (_fetch, lambda r: r.responses[0].partitions[0].error_code == 0),
    (
        lambda known, _: ListOffsetsRequest(
            topics=[
                ListOffsetsTopic(
                    known.name,
                    [ListOffsetsPartition(0, timestamp=-1), ListOffsetsPartition(9, timestamp=0)],
                )
            ]
        ),
        lambda r: (
            [p.error_code for p in r.topics[0].partitions]
            == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        ),
    ),
    (_metadata, lambda r: r.topics[0].error_code == 0 and r.topics[1].error_code == 17),
    (
        _offset_commit,
        lambda r: (
            [p.error_code for p in r.topics[0].partitions]
            == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        ),
    ),
    (_offset_fetch, lambda r: (r.groups or [r])[0].topics[0].partitions[0].committed_offset == 1),
    (
        lambda _, version: (
            FindCoordinatorRequest("g")
            if version < 4
            else FindCoordinatorRequest(coordinator_keys=["g", "h"])
        ),
        lambda r: (r.coordinators or [r])[0].node_id == 1,
    ),
    (_join, lambda r: r.error_code in (0, ErrorCode.MEMBER_ID_REQUIRED) and r.member_id),
    (
        lambda *_: HeartbeatRequest("g", 1, "unknown"),
        lambda r: r.error_code == ErrorCode.UNKNOWN_MEMBER_ID,
    ),
    (
        _leave,
        lambda r: (r.members or [r])[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID,
    ),
    (
        lambda *_: SyncGroupRequest("g", 1, "unknown"),
        lambda r: r.error_code == ErrorCode.UNKNOWN_MEMBER_ID,
    ),
    (lambda *_: DescribeGroupsRequest(["g", "h"]), lambda r: len(r.groups) == 2),
    (_consumer_heartbeat, lambda r: (r.error_code, r.member_epoch) == (0, 1)),
    (
        lambda *_: ConsumerGroupDescribeRequest(["g", "h"]),
        lambda r: [group.error_code for group in r.groups] == [ErrorCode.GROUP_ID_NOT_FOUND] * 2,
    ),
    (lambda *_: ListGroupsRequest(), lambda r: "g" in [group.group_id for group in r.groups]),
    (
        lambda *_: ApiVersionsRequest("raw", "1.0"),
        lambda r: {key.api_key for key in r.api_keys} == _advertised(),
    ),
    (
        lambda _, version: CreateTopicsRequest(
            [CreatableTopic(f"created-{version}", 2, 1), CreatableTopic("not/legal", 1, 1)]
        ),
        lambda r: [topic.error_code for topic in r.topics] == [0, 17],
    ),
    (_delete_topics, lambda r: r.responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (
        lambda known, _: DeleteRecordsRequest(
            [DeleteRecordsTopic(known.name, [DeleteRecordsPartition(0, 0)])]
        ),
        lambda r: r.topics[0].partitions[0].low_watermark == 0,
    ),
    (
        lambda _, version: InitProducerIdRequest(f"of-{version}", 60_000),
        lambda r: (r.error_code, r.producer_epoch) == (0, 0),
    ),
    (
        _add_partitions,
        lambda r: (
            _added(r) == [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        ),
    ),
    (
        lambda *_: AddOffsetsToTxnRequest("unknown", 7, 0, "g"),
        lambda r: r.error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ),
    (
        lambda *_: EndTxnRequest("unknown", 7, 0, True),
        lambda r: r.error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ),
    (
        lambda *_: write_txn_markers.WriteTxnMarkersRequest(
            [
                write_txn_markers.WritableTxnMarker(
                    7, 0, False, [write_txn_markers.WritableTxnMarkerTopic("nowhere", [0])]
                )
            ]
        ),
        lambda r: (
            r.markers[0].topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ),
    ),
    (
        lambda *_: DescribeTransactionsRequest(["unknown", "some"]),
        lambda r: [found.transaction_state for found in r.transaction_states] == ["", "Empty"],
    ),
    (
        lambda *_: ListTransactionsRequest(["Empty", "no such"]),
        lambda r: (
            "some" in [found.transactional_id for found in r.transaction_states]
            and r.unknown_state_filters == ["no such"]
        ),
    ),
    (
        lambda known, _: txn_offset_commit.TxnOffsetCommitRequest(
            "unknown",
            "g",
            topics=[
                txn_offset_commit.TxnOffsetCommitRequestTopic(
                    known.name, [txn_offset_commit.TxnOffsetCommitRequestPartition(0, 1)]
                )
            ],
        ),
        lambda r: r.topics[0].partitions[0].error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ),
    (
        lambda known, _: OffsetForLeaderEpochRequest(
            topics=[
                OffsetForLeaderTopic(
                    known.name,
                    [OffsetForLeaderPartition(0, -1, 0), OffsetForLeaderPartition(9, -1, 0)],
                )
            ]
        ),
        lambda r: [p.error_code for p in r.topics[0].partitions] == [0, 3],
    ),
    (
        lambda known, _: DescribeConfigsRequest(
            [
                DescribeConfigsResource(2, known.name, None),
                DescribeConfigsResource(4, "1", None),
                DescribeConfigsResource(2, "nowhere", None),
            ]
        ),
        lambda r: [result.error_code for result in r.results] == [0, 0, 3],
    ),
    (
        lambda known, _: alter_configs.AlterConfigsRequest(
            [alter_configs.AlterConfigsResource(2, known.name)]
        ),
        lambda r: r.responses[0].error_code == 0,
    ),
    (
        lambda known, _: incremental_alter_configs.IncrementalAlterConfigsRequest(
            [incremental_alter_configs.AlterConfigsResource(2, known.name)]
        ),
        lambda r: r.responses[0].error_code == 0,
    ),
    (lambda *_: DescribeLogDirsRequest(None), lambda r: r.results[0].topics),
    (
        lambda known, _: describe_producers.DescribeProducersRequest(
            [describe_producers.TopicRequest(known.name, [0])]
        ),
        lambda r: r.topics[0].partitions[0].error_code == 0,
    ),
    (
        lambda known, _: CreatePartitionsRequest([CreatePartitionsTopic(known.name, 1, None)]),
        lambda r: r.results[0].error_code == ErrorCode.INVALID_PARTITIONS,
    ),
    (
        lambda *_: DeleteGroupsRequest(["nowhere", "nowhere else"]),
        lambda r: [result.error_code for result in r.results] == [69, 69],
    ),
    (
        lambda known, _: OffsetDeleteRequest(
            "emptied", [OffsetDeleteRequestTopic(known.name, [OffsetDeleteRequestPartition(0)])]
        ),
        lambda r: r.error_code == 0,
    ),
    (lambda *_: DescribeClusterRequest(), lambda r: [b.broker_id for b in r.brokers] == [1]),
    (
        lambda known, _: DescribeTopicPartitionsRequest(
            [TopicRequest(known.name), TopicRequest("nowhere")]
        ),
        lambda r: sorted(topic.error_code for topic in r.topics) == [0, 3],
    ),
    # Messages of replicas that are meant for another, of an old epoch, or of another cluster.
    (
        lambda *_: vote.VoteRequest(
            None, -1, [vote.TopicData(METADATA, [vote.PartitionData(0, 0, NODE)])]
        ),
        lambda r: _only(r).error_code == ErrorCode.INVALID_VOTER_KEY and not _only(r).vote_granted,
    ),
    (
        lambda *_: begin_quorum_epoch.BeginQuorumEpochRequest(
            None,
            -1,
            [
                begin_quorum_epoch.TopicData(
                    METADATA, [begin_quorum_epoch.PartitionData(0, bytes(16), NODE, 0)]
                )
            ],
        ),
        lambda r: _only(r).error_code == ErrorCode.INVALID_VOTER_KEY,
    ),
    (
        lambda *_: end_quorum_epoch.EndQuorumEpochRequest(
            None,
            [end_quorum_epoch.TopicData(METADATA, [end_quorum_epoch.PartitionData(0, NODE, 0)])],
        ),
        lambda r: _only(r).error_code == ErrorCode.FENCED_LEADER_EPOCH,
    ),
    (
        lambda *_: fetch_snapshot.FetchSnapshotRequest(
            "another cluster",
            NODE,
            topics=[
                fetch_snapshot.TopicSnapshot(
                    METADATA,
                    [fetch_snapshot.PartitionSnapshot(0, 0, fetch_snapshot.SnapshotId(7, 1))],
                )
            ],
        ),
        lambda r: r.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID,
    ),
    (
        lambda *_: describe_quorum.DescribeQuorumRequest(
            [describe_quorum.TopicData(METADATA, [describe_quorum.PartitionData(0)])]
        ),
        lambda r: (
            _only(r).leader_id == 1 and [v.replica_id for v in _only(r).current_voters] == [1]
        ),
    ),
    (
        lambda *_: AddRaftVoterRequest("another cluster", 1000, 9),
        lambda r: r.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID,
    ),
    (
        lambda *_: RemoveRaftVoterRequest(None, 9),
        lambda r: r.error_code == ErrorCode.VOTER_NOT_FOUND,
    ),
    (_alter_partition, lambda r: r.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED),
    (
        lambda *_: BrokerRegistrationRequest(NODE, "another cluster"),
        lambda r: r.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID,
    ),
    (
        lambda *_: BrokerHeartbeatRequest(NODE),
        lambda r: r.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED,
    ),
    (
        lambda *_: UnregisterBrokerRequest(9),
        lambda r: r.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED,
    ),
    (
        lambda *_: AssignReplicasToDirsRequest(NODE),
        lambda r: r.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED,
    ),
    (
        lambda *_: AllocateProducerIdsRequest(NODE),
        lambda r: r.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED,
    ),
    (
        _elect_leaders,
        lambda r: (
            [part.error_code for part in r.replica_election_results[0].partition_result]
            == [ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        ),
    ),
    (
        _reassign,
        lambda r: (
            r.responses[0].partitions[0].error_code == ErrorCode.INVALID_REPLICATION_ASSIGNMENT
        ),
    ),
    (lambda *_: ListPartitionReassignmentsRequest(), lambda r: not r.topics),
    (
        lambda *_: SaslHandshakeRequest("PLAIN"),
        lambda r: r.error_code == ErrorCode.ILLEGAL_SASL_STATE and not r.mechanisms,
    ),
    (
        lambda *_: SaslAuthenticateRequest(b"\0me\0secret"),
        lambda r: r.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED,
    ),
    *SHARES,
]


@pytest.fixture(scope="module")
def known(node: Any) -> Known:
    with RawClient(node.host, node.port) as client:
        known = Known(client, "known")
        find_coordinator(client, "g")
        client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["unknown"]))
        some = InitProducerIdRequest("some", 60_000)
        wait_until(lambda: client.ask(some).error_code == 0, "no coordinator for transactions")
        for group in ("g", "emptied"):
            committed = client.ask(_offset_commit(known, 9, group), 9)
            assert committed.topics[0].partitions[0].error_code == 0
        return known


def _name(case: tuple[Make, Check]) -> str:
    return type(case[0](_NOWHERE, 0)).__name__


class _Nowhere(Known):
    def __init__(self) -> None:
        self.name = ""
        self.topic_id = bytes(16)


_NOWHERE = _Nowhere()


def test_no_route_is_forgotten() -> None:
    asked_for = {type(make(_NOWHERE, 0)) for make, _ in REQUESTS}
    assert asked_for == {route.request_type for route in routes()}


_FOR_NODES = {route.request_type for route in routes() if route.peers_only is not None}


@pytest.mark.parametrize("case", REQUESTS, ids=_name)
def test_every_version_is_answered(
    node: BrokerProcess, client: RawClient, known: Known, case: tuple[Make, Check]
) -> None:
    make, check = case
    request_type = type(make(known, 0))
    if request_type in _FOR_NODES:
        prove(client, node, NODE)
    for version in range(request_type.MIN_VERSION, request_type.MAX_VERSION + 1):
        answer = client.ask(make(known, version), version)
        assert check(answer), (version, answer)


def test_what_is_advertised_is_what_is_served(node: BrokerProcess, client: RawClient) -> None:
    served = {
        route.api_key: (route.request_type.MIN_VERSION, route.request_type.MAX_VERSION)
        for route in routes()
    }
    hidden = NODES_ONLY | ON_DEMAND
    assert _advertised_to(client) == {key: served[key] for key in served if key not in hidden}
    prove(client, node, NODE)
    assert _advertised_to(client) == served


def _advertised_to(client: RawClient) -> dict[int, tuple[int, int]]:
    keys = client.ask(ApiVersionsRequest("raw", "1.0")).api_keys
    return {key.api_key: (key.min_version, key.max_version) for key in keys}
