"""The metrics of one node: their names, and that they count what happens."""

import pytest

from barnabas.broker.monitoring.registry import METRICS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BY_NAME,
    asked,
    create_topic,
    delete_topic,
    fetch_one,
    fetch_request,
    find_coordinator,
    produce,
    produced,
)
from tests.support.broker import BrokerProcess
from tests.support.metrics import Scrape, get, scrape
from tests.support.wait import wait_until

SETTINGS = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
_TRAFFIC = "kafka_server_brokertopicmetrics_"
_REQUESTS = "kafka_network_requestmetrics_"


def records(count: int) -> bytes:
    return batch(*([b"value"] * count))


def commit(client: RawClient, group: str, topic: str, offset: int) -> None:
    partition = OffsetCommitRequestPartition(0, offset)
    request = OffsetCommitRequest(
        group, topics=[OffsetCommitRequestTopic(topic, partitions=[partition])]
    )
    request.generation_id_or_member_epoch = -1
    ((answer,),) = (each.partitions for each in client.ask(request, 8).topics)
    assert answer.error_code == 0


def test_every_metric_is_there_and_none_else(node: BrokerProcess, client: RawClient) -> None:
    create_topic(client, "names", flush_messages="1")
    produced(client, "names", records(1))
    find_coordinator(client, "names")
    commit(client, "names", "names", 0)
    client.ask(fetch_request(asked("names", {0: 1}), max_wait_ms=1), BY_NAME)
    found = scrape(node).families
    assert found.keys() <= METRICS.keys()
    assert METRICS.keys() <= found.keys()
    assert {name: METRICS[name].kind for name in found} == found


def test_labels_are_those_of_the_registry(node: BrokerProcess) -> None:
    for name, labels, _ in scrape(node).samples:
        metric = METRICS.get(name) or METRICS[name.rpartition("_")[0]]
        assert labels.keys() <= set(metric.labels), name


def test_traffic_is_counted_by_topic(node: BrokerProcess, client: RawClient) -> None:
    create_topic(client, "traffic", 2)
    before = scrape(node)
    first, second = records(3), records(40)
    produced(client, "traffic", first)
    produced(client, "traffic", second, partition=1)
    assert fetch_one(client, "traffic", 0).records

    def grown(after: Scrape, name: str, **labels: str) -> float:
        name = f"{_TRAFFIC}{name}_total"
        return (after.value(name, **labels) or 0) - (before.value(name, **labels) or 0)

    after = scrape(node)
    size = len(first) + len(second)
    for labels in ({"topic": "traffic"}, {}):
        assert grown(after, "messagesin", **labels) == 43
        assert grown(after, "bytesin", **labels) == size
        assert grown(after, "bytesout", **labels) == len(first)
        assert grown(after, "replicationbytesin", **labels) == 0
    delete_topic(client, "traffic")
    wait_until(
        lambda: scrape(node).value(f"{_TRAFFIC}messagesin_total", topic="traffic") is None,
        "a deleted topic keeps its series",
    )
    assert grown(scrape(node), "messagesin") == 43


def test_requests_are_counted_and_timed(node: BrokerProcess, client: RawClient) -> None:
    create_topic(client, "requests")
    before = scrape(node)
    for _ in range(100):
        produced(client, "requests", records(1))
    client.ask(fetch_request(asked("requests", {0: 100}), max_wait_ms=300), BY_NAME)
    after = scrape(node)

    def grown(name: str, request: str) -> float:
        name = _REQUESTS + name
        return (after.value(name, request=request) or 0) - (
            before.value(name, request=request) or 0
        )

    assert grown("requests_total", "Produce") == 100
    assert 70 <= grown("totaltimems_count", "Produce") <= 130, "one of 32 stands for 32"
    assert grown("totaltimems_sum", "Produce") > 0
    assert grown("remotetimems_count", "Fetch") == 1
    assert grown("remotetimems_sum", "Fetch") >= 290
    assert (after.value(f"{_REQUESTS}totaltimems", request="Fetch", quantile="0.99") or 0) > 100
    assert after.value("barnabas_response_size_bytes_count", request="Produce") != 0


def test_errors_are_counted_by_api_and_code(node: BrokerProcess, client: RawClient) -> None:
    create_topic(client, "errors")
    name = f"{_REQUESTS}errors_total"

    def counted(request: str, error: str) -> float:
        return scrape(node).value(name, request=request, error=error) or 0

    before = counted("Fetch", "OFFSET_OUT_OF_RANGE")
    client.ask(fetch_request(asked("errors", {0: 7}), max_wait_ms=1), BY_NAME)
    assert counted("Fetch", "OFFSET_OUT_OF_RANGE") == before + 1
    before = counted("Produce", "UNKNOWN_TOPIC_OR_PARTITION")
    answer = produce(client, "errors", records(1), partition=9)
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert counted("Produce", "UNKNOWN_TOPIC_OR_PARTITION") == before + 1
    fetch_one(client, "errors", 0)
    assert scrape(node).total(name, error="NONE") == 0


def test_positions_of_a_mirror_are_no_lag(node: BrokerProcess, client: RawClient) -> None:
    """They are offsets of another cluster."""
    create_topic(client, "mirrored")
    produced(client, "mirrored", records(10))
    group = "barnabas-mirror.A->B"
    find_coordinator(client, group)
    commit(client, group, "mirrored", 4)
    labels = {"consumergroup": group, "topic": "mirrored"}
    found = scrape(node)
    assert found.value("kafka_consumergroup_current_offset", **labels, partition="0") == 4
    assert found.value("kafka_consumergroup_lag", **labels, partition="0") is None
    assert found.value("kafka_consumergroup_lag_sum", **labels) is None


def test_lag_of_groups(node: BrokerProcess, client: RawClient) -> None:
    create_topic(client, "lag")
    produced(client, "lag", records(10))
    find_coordinator(client, "readers")
    commit(client, "readers", "lag", 4)
    labels = {"consumergroup": "readers", "topic": "lag", "partition": "0"}
    found = scrape(node)
    assert found.value("kafka_consumergroup_lag", **labels) == 6
    assert found.value("kafka_consumergroup_current_offset", **labels) == 4
    assert found.value("kafka_consumergroup_lag_sum", consumergroup="readers", topic="lag") == 6
    assert found.value("kafka_consumergroup_members", consumergroup="readers") == 0
    assert found.value("kafka_topic_partition_current_offset", topic="lag", partition="0") == 10
    joining = JoinGroupRequest(
        "joined",
        30_000,
        30_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", b"")],
    )
    find_coordinator(client, "joined")
    assert client.ask(joining, 3).error_code == 0
    commits = scrape(node)
    assert commits.value("kafka_consumergroup_members", consumergroup="joined") == 1


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/startupz"])
def test_a_node_that_serves_is_healthy(node: BrokerProcess, path: str) -> None:
    status, text = get(node, path)
    assert (status, '"ok": true' in text) == (200, True)
