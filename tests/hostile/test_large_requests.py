"""Requests that ask for very much: they are bounded, and others are served meanwhile."""

import struct
from typing import Any

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchTopic
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import BY_NAME, create_topic, fetch_request, partitions_of, produced
from tests.conftest import MakeBroker
from tests.hostile.onlooker import Onlooker
from tests.support.broker import BrokerProcess
from tests.support.wait import wait_until

MANY = 39_000
TOO_MANY = 150_000


def _names(count: int) -> list[MetadataRequestTopic]:
    return [MetadataRequestTopic(name=f"unknown-{number}") for number in range(count)]


def _metadata(count: int, *, creating: bool = False) -> MetadataRequest:
    return MetadataRequest(_names(count), allow_auto_topic_creation=creating)


def _large(count: int) -> list[Request[Any]]:
    """Requests with so many elements."""
    return [
        _metadata(count // 2),
        FindCoordinatorRequest(coordinator_keys=[f"group-{number}" for number in range(count)]),
        DescribeGroupsRequest([f"group-{number}" for number in range(count)]),
        DescribeConfigsRequest(
            [DescribeConfigsResource(2, f"unknown-{number}") for number in range(count // 2)]
        ),
        ListOffsetsRequest(
            topics=[ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, -1)] * (count - 1))]
        ),
        fetch_request(
            FetchTopic("t", partitions=[FetchPartition(number) for number in range(count - 1)])
        ),
    ]


@pytest.fixture
def client(broker: BrokerProcess) -> Any:
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "t")
        yield client


@pytest.mark.long
def test_large_requests_are_answered_and_nobody_waits_for_it(
    broker: BrokerProcess, client: RawClient
) -> None:
    for request in _large(MANY):
        with Onlooker(broker) as onlooker:
            client.ask(request)
        # What takes a second and more as a whole is done in slices, and decoded in a thread.
        assert onlooker.longest_wait_s < 1.0, type(request).__name__


@pytest.mark.long
def test_a_fetch_of_many_topics_is_a_large_one(broker: BrokerProcess, client: RawClient) -> None:
    asked = [FetchTopic(f"t{n}", partitions=[FetchPartition(0)]) for n in range(MANY // 2)]
    with Onlooker(broker) as onlooker:
        answer = client.ask(fetch_request(*asked), BY_NAME)
    assert len(answer.responses) == len(asked)
    assert onlooker.longest_wait_s < 2.0


@pytest.mark.parametrize("session", [(0, -1), (0, 0)])
@pytest.mark.long
def test_a_large_fetch_answers_as_a_small_one(client: RawClient, session: tuple[int, int]) -> None:
    create_topic(client, "wide", 1500)
    for index in (0, 700, 1499):
        produced(client, "wide", batch(b"%d" % index), partition=index)
    asked = FetchTopic(
        "wide",
        partitions=[
            FetchPartition(number, fetch_offset=0, partition_max_bytes=1000)
            for number in range(2500)
        ],
    )
    answer = client.ask(fetch_request(asked, session=session, max_wait_ms=100), BY_NAME)
    told = partitions_of(answer)
    assert [index for (_, index), data in told.items() if data.records] == [0, 700, 1499]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    errors = [told["wide", index].error_code for index in range(2500)]
    assert errors == [0] * 1500 + [unknown] * 1000
    if session != (0, -1):
        again = fetch_request(session=(answer.session_id, 1), max_wait_ms=100)
        told = partitions_of(client.ask(again, BY_NAME))
        assert {index for (_, index), data in told.items() if data.records} == {0, 700, 1499}


@pytest.mark.parametrize("number", range(6))
@pytest.mark.long
def test_larger_ones_end_the_connection(
    broker: BrokerProcess, client: RawClient, number: int
) -> None:
    request = _large(2 * TOO_MANY if number == 3 else TOO_MANY)[number]
    with RawClient(broker.host, broker.port) as greedy:
        greedy.send(request)
        assert greedy.is_closed()
    assert "too many array elements" in broker.log.read_text()
    client.ask(_metadata(1))


def test_tagged_fields_by_the_million_end_the_connection(
    broker: BrokerProcess, client: RawClient
) -> None:
    header = struct.pack(">hhih", 3, 12, 1, -1)
    count = b"\x80\x89\x7a"  # two million of them, each two bytes long
    frame = header + count + b"\5\0" * 2_000_000
    with RawClient(broker.host, broker.port) as greedy:
        greedy.send_bytes(struct.pack(">i", len(frame)) + frame)
        assert greedy.is_closed()
    client.ask(_metadata(1))


def test_a_large_request_without_records_ends_the_connection(
    broker: BrokerProcess, client: RawClient
) -> None:
    with RawClient(broker.host, broker.port) as greedy:
        greedy.send(DescribeGroupsRequest(["g" * 30_000] * 1_000))
        assert greedy.is_closed()
    assert "DescribeGroupsRequest has 30" in broker.log.read_text()
    client.ask(_metadata(1))


def test_naming_something_large_again_and_again_does_not_multiply_it(client: RawClient) -> None:
    create_topic(client, "wide", 1000)
    named = [MetadataRequestTopic(name="wide")] * 19_000
    (topic,) = client.ask(MetadataRequest(named)).topics
    assert len(topic.partitions) == 1000
    described = client.ask(DescribeConfigsRequest([DescribeConfigsResource(2, "wide")] * 1000))
    assert len(described.results) == 1


def test_a_request_creates_so_many_topics_and_a_second_so_many_more(
    make_broker: MakeBroker,
) -> None:
    settings = {
        "auto_create_topics_max_per_request": "3",
        "auto_create_topics_max_per_second": "5",
    }
    broker = make_broker(**settings)
    with RawClient(broker.host, broker.port) as client:
        codes = [topic.error_code for topic in client.ask(_metadata(10, creating=True)).topics]
        assert codes == [ErrorCode.NONE] * 3 + [ErrorCode.LEADER_NOT_AVAILABLE] * 7
        assert len(client.ask(MetadataRequest(topics=None)).topics) == 3
        while any(topic.error_code for topic in client.ask(_metadata(10, creating=True)).topics):
            pass  # who asks again gets them all, by and by


@pytest.mark.long
def test_thousands_of_topics_are_created_and_others_are_served(
    broker: BrokerProcess, client: RawClient
) -> None:
    topics = [CreatableTopic(f"many-{number}", 1, -1) for number in range(3000)]
    with Onlooker(broker) as onlooker:
        created = client.ask(CreateTopicsRequest(topics, 60_000)).topics
    assert {topic.error_code for topic in created} == {ErrorCode.NONE}
    assert len(created) == 3000
    assert onlooker.longest_wait_s < 2.0


@pytest.mark.parametrize("topics", [1, 200])
def test_more_partitions_than_a_request_may_create_are_refused(
    client: RawClient, topics: int
) -> None:
    asked = [CreatableTopic(f"large-{n}", 20_000 // topics, -1) for n in range(topics)]
    created = client.ask(CreateTopicsRequest(asked, 60_000)).topics
    assert {topic.error_code for topic in created} == {ErrorCode.POLICY_VIOLATION}
    assert "20000 partitions in one request, the maximum is 10000" in created[0].error_message
    more = CreatePartitionsRequest([CreatePartitionsTopic("t", 20_001, None)], 60_000)
    (grown,) = client.ask(more).results
    assert grown.error_code == ErrorCode.POLICY_VIOLATION


def test_more_partitions_than_the_brokers_may_have_are_refused(make_broker: MakeBroker) -> None:
    broker = make_broker(max_broker_partitions="10")
    with RawClient(broker.host, broker.port) as client:
        create_topic(client, "t", 8)
        asked = CreateTopicsRequest([CreatableTopic("u", 2, -1), CreatableTopic("v", 1, -1)])
        created = {topic.name: topic.error_code for topic in client.ask(asked).topics}
        assert created == {"u": ErrorCode.NONE, "v": ErrorCode.POLICY_VIOLATION}
        more = CreatePartitionsRequest([CreatePartitionsTopic("t", 9, None)], 60_000)
        (grown,) = client.ask(more).results
        assert grown.error_code == ErrorCode.POLICY_VIOLATION
        assert "max.broker.partitions is 10" in grown.error_message
        # What the node needs for itself it gets.
        found = client.ask(FindCoordinatorRequest(coordinator_keys=["g"])).coordinators
        assert found[0].error_code == ErrorCode.NONE


def test_partitions_are_created_at_a_rate(make_broker: MakeBroker) -> None:
    broker = make_broker(create_partitions_max_per_second="5", create_partitions_max_burst="10")
    with RawClient(broker.host, broker.port) as client:
        # The budget fills while the machine is busy, so more topics than one may fit.
        for number in range(100):
            answer = client.ask(CreateTopicsRequest([CreatableTopic(f"wide-{number}", 12, 1)]))
            if answer.topics[0].error_code != ErrorCode.NONE:
                break
        assert answer.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert 0 < answer.throttle_time_ms <= 2400  # at most 12 more than the budget
        assert "create.partitions.max.per.second" in answer.topics[0].error_message

        def created() -> bool:
            again = client.ask(CreateTopicsRequest([CreatableTopic("next", 1, 1)]))
            return again.topics[0].error_code == ErrorCode.NONE

        wait_until(created, "the budget does not fill")


def test_a_string_longer_than_the_protocol_has_ends_the_connection(
    broker: BrokerProcess, client: RawClient
) -> None:
    """A pattern of two megabytes held the event loop for six seconds."""
    header = struct.pack(">hhih", 66, 2, 1, -1) + b"\0"
    filters = b"\1\1" + struct.pack(">q", -1)
    pattern = b"\x81\x89\x7a" + b"a" * 2_000_000
    frame = header + filters + pattern + b"\0"
    with RawClient(broker.host, broker.port) as greedy, Onlooker(broker) as onlooker:
        greedy.send_bytes(struct.pack(">i", len(frame)) + frame)
        assert greedy.is_closed()
    assert "a string of 2000000 bytes is too long" in broker.log.read_text()
    assert onlooker.longest_wait_s < 1.0
