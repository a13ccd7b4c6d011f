"""Small answers about the broker itself: directories, coordinators, producer ids."""

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import create_topic, find_coordinator, produced
from tests.support.broker import BrokerProcess

SETTINGS = {"node.id": "42", "broker.rack": "r1", "offsets.topic.num.partitions": "1"}

GROUP, TRANSACTION, SHARE = range(3)


def test_who_the_broker_is(client: RawClient, node: BrokerProcess) -> None:
    metadata = client.ask(MetadataRequest([]))
    (broker,) = metadata.brokers
    assert (broker.node_id, broker.host, broker.port) == (42, node.host, node.port)
    assert (broker.rack, metadata.controller_id) == ("r1", 42)
    cluster = client.ask(DescribeClusterRequest())
    assert cluster.cluster_id == metadata.cluster_id
    assert f"cluster.id={cluster.cluster_id}" in (node.data / "meta.properties").read_text()
    (described,) = cluster.brokers
    assert (described.broker_id, described.rack) == (42, "r1")


def test_operations_are_told_when_asked_for(client: RawClient, topic: str) -> None:
    create_topic(client, topic)
    not_asked = -(2**31)
    request = MetadataRequest([MetadataRequestTopic(name=topic)])
    assert client.ask(request).topics[0].topic_authorized_operations == not_asked
    request.include_topic_authorized_operations = True
    assert client.ask(request).topics[0].topic_authorized_operations > 0
    assert client.ask(DescribeClusterRequest()).cluster_authorized_operations == not_asked
    assert client.ask(DescribeClusterRequest(True)).cluster_authorized_operations > 0


def test_a_missing_group_has_no_operations(client: RawClient) -> None:
    find_coordinator(client, "g")
    commit = OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 1)])
    create_topic(client, "t")
    client.ask(OffsetCommitRequest("g", topics=[commit]), 9)
    not_told = -(2**31)
    for version in range(3, 7):
        there, missing = client.ask(DescribeGroupsRequest(["g", "unknown"], True), version).groups
        assert (there.error_code, missing.group_state) == (0, "Dead")
        assert there.authorized_operations > 0
        assert missing.authorized_operations == not_told


def test_voters_are_told_as_controllers(client: RawClient) -> None:
    answer = client.ask(DescribeClusterRequest(endpoint_type=2))
    assert (answer.endpoint_type, answer.controller_id) == (2, 42)
    assert [voter.broker_id for voter in answer.brokers] == [42]
    answer = client.ask(DescribeClusterRequest(endpoint_type=3))
    assert answer.error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE


def test_what_lies_on_the_disk(client: RawClient, topic: str, node: BrokerProcess) -> None:
    create_topic(client, topic, 3)
    records = batch(b"x" * 1000)
    produced(client, topic, records, partition=1)
    asked = [DescribableLogDirTopic(topic, [0, 1, 9]), DescribableLogDirTopic("nowhere", [0])]
    (result,) = client.ask(DescribeLogDirsRequest(asked)).results
    assert (result.error_code, result.log_dir) == (0, str(node.data))
    assert 0 < result.usable_bytes <= result.total_bytes
    (described,) = result.topics
    sizes = {p.partition_index: p.partition_size for p in described.partitions}
    assert sizes == {0: 0, 1: len(records)}


@pytest.mark.parametrize(
    ("key_type", "error"),
    [
        (GROUP, 0),
        (TRANSACTION, 0),
        (SHARE, ErrorCode.INVALID_REQUEST),
    ],
)
def test_coordinators(client: RawClient, node: BrokerProcess, key_type: int, error: int) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["a", "b"])
    found = client.ask(request).coordinators
    assert [one.key for one in found] == ["a", "b"]
    for one in found:
        where = (42, node.host, node.port) if error == 0 else (-1, "", -1)
        assert (one.error_code, one.node_id, one.host, one.port) == (error, *where)


def test_producer_ids(client: RawClient) -> None:
    first = client.ask(InitProducerIdRequest(None))
    assert (first.error_code, first.producer_epoch) == (0, 0)
    again = client.ask(InitProducerIdRequest(None, 1000, first.producer_id, 0))
    assert (again.producer_id, again.producer_epoch) == (first.producer_id, 1)
    worn_out = client.ask(InitProducerIdRequest(None, 1000, first.producer_id, 32766))
    assert worn_out.producer_id != first.producer_id
    assert worn_out.producer_epoch == 0


def test_a_transactional_id_keeps_its_producer_id(client: RawClient) -> None:
    client.ask(FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["t"]))
    first = client.ask(InitProducerIdRequest("t", 1000))
    assert (first.error_code, first.producer_epoch) == (0, 0)
    again = client.ask(InitProducerIdRequest("t", 1000))
    assert (again.producer_id, again.producer_epoch) == (first.producer_id, 1)
    assert client.ask(InitProducerIdRequest("u", 1000)).producer_id != first.producer_id
