"""What clients may push when, which metrics are wanted of them, and what is kept of it."""

import pickle
from random import Random
from typing import Any

import pytest

from barnabas.broker.telemetry.client_series import ClientSeries
from barnabas.broker.telemetry.telemetry import MAX_POINTS, NO_INSTANCE, Client, Push, Telemetry
from barnabas.metrics.otlp import Point, PointKind, points_of
from barnabas.records.compression import Compression, compress
from barnabas.wire.errors import ErrorCode
from tests.support.otlp import CUMULATIVE, DELTA, Payload

APP = Client("app", ("librdkafka", "2.10.0"), "10.0.0.7", 4711)
INTERVAL_MS = 1_000
OK = ErrorCode.NONE
THROTTLED = ErrorCode.THROTTLING_QUOTA_EXCEEDED


class Node:
    """A node's telemetry at a time of the test's choice."""

    def __init__(self, **subscriptions: dict[str, str]) -> None:
        self.now_ms = 1_000_000
        self.telemetry = Telemetry(lambda: self.now_ms, Random(1), lambda: 10_000)
        all_of_all = {"metrics": "*", "interval.ms": str(INTERVAL_MS)}
        self.telemetry.apply(subscriptions or {"all": all_of_all})

    def subscribed(self, client: Client = APP) -> tuple[bytes, int]:
        error, instance_id, wanted = self.telemetry.ask(NO_INSTANCE, client)
        assert error is OK
        return instance_id, wanted.subscription_id

    def wanted(self, client: Client) -> tuple[tuple[str, ...], int]:
        _, _, wanted = self.telemetry.ask(NO_INSTANCE, client)
        return wanted.metrics, wanted.interval_ms

    def push(
        self, who: tuple[bytes, int], metrics: bytes = b"", client: Client = APP, **how: Any
    ) -> ErrorCode:
        push = Push(*who, how.get("is_terminating", False), how.get("compression", 0), metrics)
        return self.telemetry.push(push, client)

    def samples(self) -> dict[str, float]:
        return {
            key.name + "".join(f" {name}={text}" for name, text in key.labels): value
            for key, _, value in self.telemetry.series.samples()
        }


def payload(value: int = 1, **how: Any) -> bytes:
    metrics = Payload()
    metrics.total("org.apache.kafka.x.total", value, **how)
    return metrics.encoded


# -- subscriptions -----------------------------------------------------------------------------


def test_no_subscription_wants_nothing_and_asks_again_in_five_minutes() -> None:
    node = Node(other={"metrics": "*", "match": "client_id=other"})
    assert node.wanted(APP) == ((), 300_000)


def test_a_client_pushes_what_all_matching_subscriptions_want() -> None:
    node = Node(
        first={"metrics": "org.a,org.b", "interval.ms": "5000"},
        second={"metrics": "org.c", "interval.ms": "700", "match": "client_id=ap+"},
        third={"metrics": "org.d", "match": "client_id=app,client_software_name=java"},
    )
    assert node.wanted(APP) == (("org.a", "org.b", "org.c"), 700)


@pytest.mark.parametrize(
    ("match", "is_matched"),
    [
        ("client_id=.*", True),
        ("client_id=ap", False),
        ("client_software_name=librdkafka,client_software_version=2\\..*", True),
        ("client_source_address=10\\.0\\..*", True),
        ("client_source_port=4711", True),
        ("client_source_port=47", False),
    ],
)
def test_patterns_match_whole_values(match: str, is_matched: bool) -> None:
    node = Node(one={"metrics": "*", "match": match})
    assert bool(node.wanted(APP)[0]) == is_matched


# -- times -------------------------------------------------------------------------------------


def test_a_client_asks_and_pushes_once_in_an_interval() -> None:
    node = Node()
    who = node.subscribed()
    assert node.telemetry.ask(who[0], APP)[0] is THROTTLED
    assert node.push(who) is OK  # the first one comes when the client likes
    assert node.push(who) is THROTTLED
    node.now_ms += INTERVAL_MS
    assert node.push(who) is OK


def test_a_client_learns_that_its_subscription_has_changed() -> None:
    node = Node()
    who = node.subscribed()
    assert node.push(who) is OK
    node.telemetry.apply({"all": {"metrics": "org.a", "interval.ms": str(INTERVAL_MS)}})
    node.now_ms += INTERVAL_MS
    assert node.push(who) is ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    error, same, wanted = node.telemetry.ask(who[0], APP)
    assert (error, same, wanted.metrics) == (OK, who[0], ("org.a",))
    assert node.push((same, wanted.subscription_id)) is OK


def test_a_client_that_ends_pushes_at_once_and_never_again() -> None:
    node = Node()
    who = node.subscribed()
    assert node.push(who, payload()) is OK
    assert node.push(who, payload(), is_terminating=True) is OK
    node.now_ms += INTERVAL_MS
    assert node.push(who) is ErrorCode.INVALID_REQUEST
    assert node.samples() == {"org_apache_kafka_x_total client_id=app": 2.0}


def test_an_instance_needs_an_id_to_push() -> None:
    assert Node().push((NO_INSTANCE, 0)) is ErrorCode.INVALID_REQUEST


# -- what is pushed ----------------------------------------------------------------------------


@pytest.mark.parametrize("codec", list(Compression))
def test_every_compression(codec: Compression) -> None:
    node = Node()
    data = compress(codec, payload(5))
    assert node.push(node.subscribed(), data, compression=int(codec)) is OK
    assert node.samples() == {"org_apache_kafka_x_total client_id=app": 5.0}


def test_unknown_compression_lets_the_client_ask_at_once() -> None:
    node = Node()
    who = node.subscribed()
    assert node.push(who, payload(), compression=9) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert node.telemetry.ask(who[0], APP)[0] is OK


@pytest.mark.parametrize(
    ("data", "compression", "error"),
    [
        (bytes(10_001), 0, ErrorCode.TELEMETRY_TOO_LARGE),
        (compress(Compression.ZSTD, bytes(1 << 20)), 4, ErrorCode.TELEMETRY_TOO_LARGE),
        (compress(Compression.GZIP, bytes(1 << 20)), 1, ErrorCode.TELEMETRY_TOO_LARGE),
        (b"no zstd", 4, ErrorCode.INVALID_RECORD),
        (b"\xff\xff", 0, ErrorCode.INVALID_RECORD),
    ],
)
def test_what_is_too_large_or_not_readable(data: bytes, compression: int, error: ErrorCode) -> None:
    node = Node()
    assert node.push(node.subscribed(), data, compression=compression) is error
    assert node.samples() == {}
    assert node.telemetry.refused == 1


def test_only_so_many_values_of_a_push_are_kept() -> None:
    node = Node()
    node.telemetry.max_bytes = lambda: 1 << 20
    metrics = Payload()
    for number in range(MAX_POINTS + 1):
        metrics.gauge(f"m{number}", 1.0)
    assert node.push(node.subscribed(), metrics.encoded) is OK
    assert (len(node.telemetry.series), node.telemetry.cut) == (MAX_POINTS, 1)


# -- series ------------------------------------------------------------------------------------


@pytest.mark.parametrize("temporality", [DELTA, CUMULATIVE])
def test_instances_of_one_client_id_are_added_up(temporality: int) -> None:
    node = Node()
    for _ in range(2):
        assert node.push(node.subscribed(), payload(3, temporality=temporality)) is OK
    assert node.samples() == {"org_apache_kafka_x_total client_id=app": 6.0}


def test_series_of_clients_that_are_gone_are_forgotten() -> None:
    node = Node()
    assert node.push(node.subscribed(), payload()) is OK
    other = APP._replace(client_id="other")
    node.now_ms += 50_000
    assert node.push(node.subscribed(other), payload(), other) is OK
    node.now_ms += 20_000
    node.telemetry.expire()
    assert node.samples() == {"org_apache_kafka_x_total client_id=other": 1.0}
    assert node.telemetry.instance_count == 1


def test_a_counter_does_not_go_back_when_an_instance_is_gone() -> None:
    series = ClientSeries()
    point = Point("org.apache.kafka.x", PointKind.CUMULATIVE, (), 5.0)
    series.add(b"a", "app", [point])
    series.add(b"b", "app", [point._replace(value=2.0)])
    series.forget(b"a")
    assert [value for _, _, value in series.samples()] == [7.0]


def test_no_client_takes_more_than_its_share_or_the_name_of_a_node_s_metric() -> None:
    series = ClientSeries(max_series=2)
    wrong = [
        Point("", PointKind.GAUGE, (), 1.0),
        Point("x" * 500, PointKind.GAUGE, (), 1.0),
        Point("x", PointKind.GAUGE, (("key", "y" * 500),), 1.0),
        Point("x", PointKind.GAUGE, tuple((f"key{number}", "") for number in range(9)), 1.0),
    ]
    series.add(b"a", "app", wrong)
    assert (len(series), series.left_out) == (0, 4)
    names = ("barnabas_cut_off", "up", "third")
    series.add(b"a", "app", [Point(name, PointKind.GAUGE, (), 1.0) for name in names])
    assert [key.name for key, _, _ in series.samples()] == ["client_barnabas_cut_off", "client_up"]
    assert series.left_out == 5


# -- hostile clients ----------------------------------------------------------------------------


def test_what_no_subscription_asks_for_is_not_read() -> None:
    node = Node(other={"metrics": "*", "match": "client_id=somebody-else"})
    assert node.push(node.subscribed(), payload()) is OK
    assert node.samples() == {}


def test_millions_of_empty_fields_are_not_read() -> None:
    points, more = points_of(b"\x0a\x00" * 4_000_000, 1_000)
    assert (points, more) == ([], True)


def test_long_names_are_cut_before_anything_is_done_with_them() -> None:
    metrics = Payload()
    metrics.total("x" * 2_000_000, 1)
    ((name, *_),), _ = points_of(metrics.encoded, 1_000)
    assert len(name) < 1_000


def test_values_of_all_instances_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.broker.telemetry.client_series.MAX_VALUES", 3)
    series = ClientSeries()
    point = Point("org.apache.kafka.x", PointKind.GAUGE, (), 1.0)
    for number in range(5):
        series.add(bytes([number]), "app", [point])
    assert series.left_out == 2
    series.forget(bytes([0]))
    series.add(bytes([4]), "app", [point, point])
    assert series.left_out == 2


def test_an_instance_keeps_no_names_that_its_client_has_chosen() -> None:
    """There may be 16,384 of them, for a quarter of an hour."""
    node = Node()
    long = "x" * 30_000
    client = Client(long, (long, long), "10.0.0.7", 4711)
    node.subscribed(client)
    before = memory_of(node.telemetry)
    for _ in range(10):
        node.subscribed(client._replace(client_id=long + "y"))
    assert memory_of(node.telemetry) - before < 10 * 5_000


def memory_of(telemetry: Telemetry) -> int:
    return len(pickle.dumps(telemetry._instances))
