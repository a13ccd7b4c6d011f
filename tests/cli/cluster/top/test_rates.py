"""Rates between two samples, and the page that shows them."""

from dataclasses import replace

from barnabas.cli.cluster.top.page import page
from barnabas.client.admin.group_members import GroupMembers, MemberDescription
from barnabas.client.admin.log_directories import LogDirectory
from barnabas.client.connect.cluster_metadata import PartitionMetadata, TopicPartition
from barnabas.diagnosis.node_metrics import NodeMetrics, parse, scrape_address
from barnabas.diagnosis.rates import SortKey, rates_of
from barnabas.diagnosis.sample import GroupSample, Sample
from barnabas.wire.endpoint import Address

A0, B0 = TopicPartition("a", 0), TopicPartition("b", 0)


def members(*assigned: TopicPartition) -> GroupMembers:
    both = [
        MemberDescription(f"m{n}", None, "c", "/10.0.0.1", [each])
        for n, each in enumerate(assigned)
    ]
    return GroupMembers("g", "Stable", "consumer", "range", both)


BEFORE = Sample(
    10.0,
    "id",
    {1: Address("h1", 9092), 2: Address("h2", 9092)},
    {A0: PartitionMetadata(0, 1, 0, [1], [1], []), B0: PartitionMetadata(0, 2, 0, [2], [2], [])},
    {A0: 100, B0: 100},
    [LogDirectory(1, "/d", None, 1, 1, {A0: 1_000}), LogDirectory(2, "/d", None, 1, 1, {B0: 500})],
    [GroupSample(members(A0, B0), {A0: 50, B0: 90})],
)
AFTER = replace(
    BEFORE,
    at_s=12.0,
    ends={A0: 110, B0: 300},
    directories=[
        LogDirectory(1, "/d", None, 1, 1, {A0: 1_100}),
        LogDirectory(2, "/d", None, 1, 1, {B0: 4_500}),
    ],
    groups=[GroupSample(members(A0, B0), {A0: 60, B0: 290})],
)


def test_the_busiest_come_first() -> None:
    rates = rates_of(BEFORE, AFTER)
    assert [(row.node_id, row.records_s, row.bytes_in_s) for row in rates.brokers] == [
        (2, 100.0, None),
        (1, 5.0, None),
    ]
    assert [(row.topic, row.records_s, row.bytes_in_s, row.size) for row in rates.topics] == [
        ("b", 100.0, 2_000.0, 4_500),
        ("a", 5.0, 50.0, 1_100),
    ]
    assert [(row.group_id, row.members, row.read_s, row.lag) for row in rates.groups] == [
        ("g", 2, 105.0, 60)
    ]
    assert rates.clients == [("c", "10.0.0.1", "g", 2, 105.0, 60)]
    assert [row.topic for row in rates_of(BEFORE, AFTER, SortKey.NAME).topics] == ["a", "b"]


def test_one_sample_alone_has_no_rates() -> None:
    rates = rates_of(AFTER, AFTER)
    assert [row.records_s for row in rates.topics] == [0, 0]
    assert rates.groups[0].lag == 60


def test_a_topic_deleted_in_between_and_a_new_one_are_no_trouble() -> None:
    new = TopicPartition("new", 0)
    later = replace(
        AFTER,
        partitions={new: PartitionMetadata(0, 1, 0, [1], [1], [])},
        ends={new: 5},
        groups=[],
    )
    assert [(row.topic, row.records_s) for row in rates_of(BEFORE, later).topics] == [("new", 0)]


def scraped(bytes_in: int) -> NodeMetrics:
    lines = [
        "# HELP x y",
        f'kafka_server_brokertopicmetrics_bytesin_total{{topic="a"}} {bytes_in}',
        f"kafka_server_brokertopicmetrics_bytesin_total {bytes_in}",
        'kafka_server_socket_server_metrics_connection_count{listener="P"} 3',
        f"process_cpu_seconds_total {bytes_in / 10_000}",
    ]
    return NodeMetrics(parse(lines), 0, 0)


def test_metrics_of_nodes_are_better_than_sizes() -> None:
    before = replace(BEFORE, metrics={1: scraped(1_000), 2: scraped(1_000)})
    after = replace(AFTER, metrics={1: scraped(2_000), 2: scraped(9_000)})
    rates = rates_of(before, after, SortKey.BYTES)
    assert [(row.node_id, row.bytes_in_s, row.connections) for row in rates.brokers] == [
        (2, 4_000.0, 3),
        (1, 500.0, 3),
    ]
    assert [round(row.cpu_percent or 0) for row in rates.brokers] == [40, 5]
    assert [(row.topic, row.bytes_in_s) for row in rates.topics] == [("a", 4_500.0), ("b", 0)]


def test_a_node_that_started_again_has_no_negative_rates() -> None:
    before = replace(BEFORE, metrics={1: scraped(5_000)})
    after = replace(AFTER, metrics={1: scraped(10)})
    assert {row.bytes_in_s for row in rates_of(before, after).brokers} == {0.0, None}


def test_a_page_fits_its_terminal() -> None:
    many = {
        TopicPartition(f"topic-{n}", 0): PartitionMetadata(0, 1, 0, [1], [1], []) for n in range(50)
    }
    rates = rates_of(BEFORE, replace(AFTER, partitions=many))
    lines = page(rates, SortKey.LAG, 60, 24)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 60
    assert "sorted by lag" in lines[0]
    text = "\n".join(lines)
    assert "TOPIC (+" in text
    assert all(heading in text for heading in ("BROKER", "TOPIC", "GROUP", "CLIENT"))
    assert len(page(rates, SortKey.LAG, 1_000, None)) > 50
    assert page(rates, SortKey.LAG, 20, 3) == page(rates, SortKey.LAG, 20, 24)[:3]


def test_a_name_can_not_send_commands_to_the_terminal() -> None:
    evil = replace(AFTER, groups=[GroupSample(members(A0)._replace(group_id="\x1b[2Jx"), {})])
    assert "\x1b" not in "\n".join(page(rates_of(BEFORE, evil), SortKey.LAG, 100, 40))


def test_where_a_node_serves_its_metrics() -> None:
    assert scrape_address(Address("127.0.0.1", 9092), None) == Address("127.0.0.1", 19092)
    assert scrape_address(Address("h1", 9092), None) is None  # on its loopback address
    assert scrape_address(Address("h1", 9092), "") is None
    assert scrape_address(Address("h1", 9092), "0.0.0.0:8000") == Address("h1", 8000)
    assert scrape_address(Address("h1", 9092), "10.0.0.1:8000") == Address("10.0.0.1", 8000)
    assert scrape_address(Address("h1", 9092), "10.0.0.1:0") is None
