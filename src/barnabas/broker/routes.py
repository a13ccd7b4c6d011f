"""The route table: every API that is served, in which versions, by which handler."""

from barnabas.broker.dispatch import Route
from barnabas.broker.handlers import (
    alter_configs,
    api_versions,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_topic_partitions,
    fetch,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    produce_single,
    sync_group,
)
from barnabas.wire.messages.alter_configs import AlterConfigsRequest
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.delete_records import DeleteRecordsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.join_group import JoinGroupRequest
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest
from barnabas.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.messages.sync_group import SyncGroupRequest


def routes() -> list[Route]:
    """All routes; ApiVersions answers from this very list."""
    table = [
        Route(ProduceRequest, produce.handle, produce_single.handle),
        Route(FetchRequest, fetch.handle),
        Route(ListOffsetsRequest, list_offsets.handle),
        Route(MetadataRequest, metadata.handle),
        Route(OffsetCommitRequest, offset_commit.handle),
        Route(OffsetFetchRequest, offset_fetch.handle),
        Route(FindCoordinatorRequest, find_coordinator.handle),
        Route(JoinGroupRequest, join_group.handle),
        Route(HeartbeatRequest, heartbeat.handle),
        Route(LeaveGroupRequest, leave_group.handle),
        Route(SyncGroupRequest, sync_group.handle),
        Route(DescribeGroupsRequest, describe_groups.handle),
        Route(ListGroupsRequest, list_groups.handle),
        Route(CreateTopicsRequest, create_topics.handle),
        Route(DeleteTopicsRequest, delete_topics.handle),
        Route(DeleteRecordsRequest, delete_records.handle),
        Route(InitProducerIdRequest, init_producer_id.handle),
        Route(OffsetForLeaderEpochRequest, offset_for_leader_epoch.handle),
        Route(DescribeConfigsRequest, describe_configs.handle),
        Route(AlterConfigsRequest, alter_configs.handle),
        Route(IncrementalAlterConfigsRequest, alter_configs.handle_incremental),
        Route(DescribeLogDirsRequest, describe_log_dirs.handle),
        Route(CreatePartitionsRequest, create_partitions.handle),
        Route(DeleteGroupsRequest, delete_groups.handle),
        Route(OffsetDeleteRequest, offset_delete.handle),
        Route(DescribeClusterRequest, describe_cluster.handle),
        Route(DescribeTopicPartitionsRequest, describe_topic_partitions.handle),
    ]
    own = Route(ApiVersionsRequest, lambda *_: None)
    return [*table, Route(ApiVersionsRequest, api_versions.handler([*table, own]))]
