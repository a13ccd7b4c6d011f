"""Clients over their quotas are told so, and not heard for a while; others are not slowed down."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.raw_client import RawClient, batch
from tests.broker.verbs import (
    BY_NAME,
    asked,
    create_topic,
    fetch_one,
    fetch_request,
    partitions_of,
    produce,
    produce_request,
    produced,
    values_of,
)
from tests.support.broker import BrokerProcess
from tests.support.metrics import scrape
from tests.support.wait import wait_until

SETTINGS = {
    "quota.window.num": "2",
    "quota.window.size.seconds": "1",
    "controller.quota.window.num": "1",
}
RATE = 100_000
BURST = b"x" * (RATE // 2)
"""As the key and the value of a record, what a client may use at once: one second's worth."""

Connect = Callable[[str], RawClient]
Entity = dict[str, str | None]


def alter(client: RawClient, entity: Entity, **limits: float | None) -> None:
    ops = [OpData(key, value or 0.0, value is None) for key, value in limits.items()]
    entry = EntryData([EntityData(*part) for part in entity.items()], ops)
    (result,) = client.ask(AlterClientQuotasRequest([entry])).entries
    assert result.error_code == 0, result.error_message


def milliseconds_since(began: float) -> float:
    """What a debt may have shrunk by, and one that is lost where times are cut."""
    return (time.monotonic() - began) * 1_000 + 1


@pytest.fixture
def connect(node: BrokerProcess, client: RawClient) -> Iterator[Connect]:
    """Clients with an id; all quotas are removed at the end."""
    clients = []

    def new_client(client_id: str) -> RawClient:
        clients.append(RawClient(node.host, node.port, client_id=client_id))
        return clients[-1]

    yield new_client
    for each in clients:
        each.socket.close()
    for entry in client.ask(DescribeClientQuotasRequest()).entries:
        entity = {part.entity_type: part.entity_name for part in entry.entity}
        alter(client, entity, **dict.fromkeys(value.key for value in entry.values))


def test_a_producer_is_throttled_and_its_connection_muted(
    client: RawClient, connect: Connect, topic: str
) -> None:
    create_topic(client, topic)
    alter(client, {"client-id": "app"}, producer_byte_rate=RATE)
    app = connect("app")
    for _ in range(3):
        assert app.ask(produce_request(topic, batch(b"small")), BY_NAME).throttle_time_ms == 0
    began = time.monotonic()
    throttled = app.ask(produce_request(topic, batch(5 * BURST)), BY_NAME)
    assert throttled.responses[0].partition_responses[0].error_code == 0
    assert throttled.throttle_time_ms > 700
    app.send(ApiVersionsRequest("test", "1"))
    for other in (client, connect("other")):
        answer = other.ask(produce_request(topic, batch(b"from another")), BY_NAME)
        assert answer.throttle_time_ms == 0
    app.receive()
    assert time.monotonic() - began > throttled.throttle_time_ms / 1000 - 0.1


def test_throttled_requests_are_counted_and_timed(
    node: BrokerProcess, client: RawClient, connect: Connect
) -> None:
    create_topic(client, "counted")
    alter(client, {"client-id": "counted"}, producer_byte_rate=RATE)
    producer = connect("counted")
    produced(producer, "counted", batch(5 * BURST))
    found = scrape(node)
    labels = {"resource": "Produce", "clientId": "counted"}
    assert (found.value("kafka_server_quota_byte_rate", **labels) or 0) > 0
    assert found.value("kafka_server_quota_throttle_time", **labels) is not None
    times = "kafka_network_requestmetrics_throttletimems"
    assert (found.value(f"{times}_count", request="Produce") or 0) >= 1
    assert (found.value(f"{times}_sum", request="Produce") or 0) > 0


def test_a_pipeline_is_held_up_where_the_quota_is_exceeded(
    client: RawClient, connect: Connect, topic: str
) -> None:
    create_topic(client, topic)
    alter(client, {"client-id": "app"}, producer_byte_rate=RATE)
    app = connect("app")
    frames = [app.frame(produce_request(topic, batch(BURST)), BY_NAME) for _ in range(4)]
    began = time.monotonic()
    app.send_bytes(b"".join(frames))
    throttles = [app.receive().throttle_time_ms for _ in frames]
    assert time.monotonic() - began > 1.5, throttles
    assert any(throttles)


def test_acks_0_has_no_answer_and_is_muted_too(
    client: RawClient, connect: Connect, topic: str
) -> None:
    create_topic(client, topic)
    alter(client, {"client-id": "app"}, producer_byte_rate=RATE)
    app = connect("app")
    frame = app.frame(produce_request(topic, batch(BURST + BURST), acks=0), BY_NAME)
    app.expect_no_answer()
    began = time.monotonic()
    app.send_bytes(frame + app.frame(ApiVersionsRequest("test", "1")))
    app.receive()
    assert time.monotonic() - began > 0.5


def test_a_throttled_fetch_is_empty_and_loses_nothing(
    client: RawClient, connect: Connect, topic: str
) -> None:
    create_topic(client, topic)
    for _ in range(4):
        produced(client, topic, batch(BURST))
    alter(client, {"client-id": "app"}, consumer_byte_rate=RATE)
    app = connect("app")
    began = time.monotonic()
    first = app.ask(fetch_request(asked(topic, {0: 0}), session=(0, 0)), BY_NAME)
    assert first.throttle_time_ms == 0
    read = values_of(partitions_of(first)[topic, 0])
    assert read == [BURST], "more than one second's worth at once"
    empty = 0
    for epoch in range(1, 100):
        position = [] if empty else [asked(topic, {0: len(read)})]
        answer = app.ask(fetch_request(*position, session=(first.session_id, epoch)), BY_NAME)
        assert (answer.error_code, answer.session_id) == (0, first.session_id)
        if answer.throttle_time_ms:
            assert answer.responses == []
            empty += 1
        else:
            read += values_of(partitions_of(answer)[topic, 0])
            empty = 0
        if len(read) == 4:
            break
    assert read == [BURST] * 4
    assert time.monotonic() - began > 1.5
    assert len(values_of(fetch_one(client, topic))) == 4, "others are limited"


def test_a_throttled_full_fetch_opens_no_session(
    client: RawClient, connect: Connect, topic: str
) -> None:
    create_topic(client, topic)
    produced(client, topic, batch(BURST + BURST))
    alter(client, {"client-id": "app"}, consumer_byte_rate=RATE)
    app = connect("app")

    def throttled() -> Any:
        """Each fetch uses up two seconds, so the second one is, unless it comes late."""
        answer = app.ask(fetch_request(asked(topic, {0: 0}), session=(0, 0)), BY_NAME)
        return answer if answer.throttle_time_ms > 0 else None

    answer = wait_until(throttled)
    assert (answer.responses, answer.session_id) == ([], 0)


def test_requests_that_take_too_much_time_are_throttled(
    client: RawClient, connect: Connect
) -> None:
    alter(client, {"user": "ANONYMOUS", "client-id": "app"}, request_percentage=0.01)
    app = connect("app")
    throttles = [app.ask(MetadataRequest(None)).throttle_time_ms for _ in range(3)]
    assert 0 < max(throttles) <= 1000, throttles
    assert client.ask(MetadataRequest(None)).throttle_time_ms == 0
    nodes_first = [connect("app").ask(DescribeClusterRequest()) for _ in range(3)]
    assert [answer.throttle_time_ms for answer in nodes_first] == [0, 0, 0], "nodes ask this"


def test_to_connect_again_does_not_help(client: RawClient, connect: Connect) -> None:
    alter(client, {"user": "ANONYMOUS", "client-id": "app"}, request_percentage=0.01)
    app = connect("app")
    throttle_time_ms = 0
    while throttle_time_ms < 500:
        began = time.monotonic()
        throttle_time_ms = app.ask(MetadataRequest(None)).throttle_time_ms
    assert connect("app").ask(MetadataRequest(None)).brokers
    assert time.monotonic() - began > 0.4, "it was served at once"
    assert connect("another").ask(MetadataRequest(None)).throttle_time_ms == 0


def test_topics_beyond_the_rate_are_refused(client: RawClient, connect: Connect) -> None:
    alter(client, {"user": None}, controller_mutation_rate=2)
    app = connect("app")
    names = [f"limited-{number}" for number in range(3)]
    wanted = [CreatableTopic(name, 2, -1) for name in names]
    began = time.monotonic()
    answer = app.ask(CreateTopicsRequest(wanted))
    assert [topic.error_code for topic in answer.topics] == [
        0,
        0,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    ]
    assert 1000 - milliseconds_since(began) <= answer.throttle_time_ms <= 1000
    more = app.ask(CreatePartitionsRequest([CreatePartitionsTopic(names[0], 4, None)]))
    assert time.monotonic() - began > answer.throttle_time_ms / 1000 - 0.1
    assert more.results[0].error_code == 0
    time.sleep(1)
    deletion = DeleteTopicsRequest([DeleteTopicState(name) for name in (*names[:2], "none")])
    codes = [result.error_code for result in app.ask(deletion).responses]
    refused = ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert codes == [0, refused, refused]


def test_older_versions_change_topics_and_are_throttled_afterwards(
    client: RawClient, connect: Connect
) -> None:
    alter(client, {"client-id": None}, controller_mutation_rate=2)
    app = connect("app")
    wanted = [CreatableTopic(f"old-{number}", 2, 1) for number in range(3)]
    began = time.monotonic()
    answer = app.ask(CreateTopicsRequest(wanted), 4)
    assert [topic.error_code for topic in answer.topics] == [0, 0, 0]
    assert 2000 - milliseconds_since(began) <= answer.throttle_time_ms <= 2000
    test = CreateTopicsRequest([CreatableTopic("test", 50, 1)], validate_only=True)
    time.sleep(2)
    assert app.ask(test, 4).throttle_time_ms == 0, "a test counts"


def test_topics_that_metadata_creates_count(client: RawClient, connect: Connect) -> None:
    alter(client, {"client-id": None}, controller_mutation_rate=1)
    app = connect("app")
    names = [f"on-demand-{number}" for number in range(3)]
    wanted = MetadataRequest([MetadataRequestTopic(name=name) for name in names])
    codes = [topic.error_code for topic in app.ask(wanted).topics]
    assert codes == [0, 0, ErrorCode.LEADER_NOT_AVAILABLE]
    time.sleep(1.2)
    assert [topic.error_code for topic in app.ask(wanted).topics] == [0, 0, 0]


def test_connections_of_an_address(client: RawClient, connect: Connect) -> None:
    alter(client, {"ip": "127.0.0.1"}, connection_creation_rate=3)

    def is_closed_late() -> bool:
        """When the throttle time is over; the first ones are served."""
        began = time.monotonic()
        late = connect("late")
        late.send(ApiVersionsRequest("test", "1"))
        return late.is_closed() and time.monotonic() - began > 0.1

    def is_served() -> bool:
        again = connect("again")
        again.send(ApiVersionsRequest("test", "1"))
        return not again.is_closed()

    wait_until(is_closed_late)
    wait_until(is_served)


def described(client: RawClient, *components: ComponentData) -> DescribeClientQuotasResponse:
    answer = client.ask(DescribeClientQuotasRequest(list(components)))
    assert isinstance(answer, DescribeClientQuotasResponse)
    return answer


def test_describe(client: RawClient, connect: Connect) -> None:
    del connect
    alter(client, {"user": "ann"}, producer_byte_rate=5, request_percentage=12.5)
    alter(client, {"user": None}, producer_byte_rate=7)
    (found,) = described(client, ComponentData("user", 0, "ann")).entries or []
    assert [(part.entity_type, part.entity_name) for part in found.entity] == [("user", "ann")]
    assert {value.key: value.value for value in found.values} == {
        "producer_byte_rate": 5,
        "request_percentage": 12.5,
    }
    assert len(described(client, ComponentData("user", 2, None)).entries or []) == 2
    wrong = described(client, ComponentData("team", 0, "ann"))
    assert (wrong.error_code, wrong.entries) == (ErrorCode.UNSUPPORTED_VERSION, None)


def test_quotas_survive_a_restart(tmp_path_factory: pytest.TempPathFactory) -> None:
    with BrokerProcess(tmp_path_factory.mktemp("again"), SETTINGS) as broker:
        with RawClient(broker.host, broker.port, client_id="app") as client:
            create_topic(client, "t")
            alter(client, {"client-id": "app"}, producer_byte_rate=RATE)
        broker.kill()
        broker.start()
        with RawClient(broker.host, broker.port, client_id="app") as client:
            request = produce_request("t", batch(BURST + BURST))
            assert client.ask(request, BY_NAME).throttle_time_ms > 0
            alter(client, {"client-id": "app"}, producer_byte_rate=None)
            assert client.ask(request, BY_NAME).throttle_time_ms == 0
            assert produce(client, "t", batch(b"x")).error_code == 0
