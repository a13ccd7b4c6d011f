"""librdkafka pushes its metrics by itself: they are shown at /metrics while a subscription asks."""

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Producer

from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.raw_client import RawClient
from tests.broker.verbs import create_topic
from tests.support.broker import BrokerProcess
from tests.support.metrics import scrape
from tests.support.wait import LIMIT_S, wait_until

_CLIENT_METRICS = 16
_COUNTER = "org_apache_kafka_producer_connection_creation_total"
_LATENCY = "org_apache_kafka_producer_request_latency_max"


@contextmanager
def subscription(client: RawClient, name: str, **settings: str) -> Iterator[None]:
    """One that is there for a while: other tests of this node find none."""
    _change(client, name, **settings)
    yield
    _change(client, name, metrics="")


def _change(client: RawClient, name: str, **settings: str) -> None:
    configs = [AlterableConfig(key.replace("_", "."), 0, text) for key, text in settings.items()]
    change = AlterConfigsResource(_CLIENT_METRICS, name, configs)
    (result,) = client.ask(IncrementalAlterConfigsRequest([change])).responses
    assert result.error_code == 0, result.error_message


def advertised(client: RawClient) -> set[int]:
    return {each.api_key for each in client.ask(ApiVersionsRequest("raw", "1.0")).api_keys}


def test_clients_are_told_of_pushes_while_they_are_wanted(client: RawClient) -> None:
    wait_until(lambda: not advertised(client) & {71, 72})
    with subscription(client, "some", metrics="org."):
        wait_until(lambda: advertised(client) >= {71, 72})
    wait_until(lambda: not advertised(client) & {71, 72})


def test_librdkafka_pushes_its_metrics(node: BrokerProcess, client: RawClient) -> None:
    create_topic(client, "pushed")
    ours = {"metrics": "*", "interval_ms": "200", "match": "client_software_name=confluent-.*"}
    with subscription(client, "ours", **ours):
        producer = Producer({"bootstrap.servers": node.bootstrap, "client.id": "pushing"})

        def shown() -> float | None:
            producer.produce("pushed", b"value")
            producer.flush(LIMIT_S)
            return scrape(node).total(_LATENCY, client_id="pushing")

        wait_until(shown, "librdkafka's metrics are not shown")
        found = scrape(node)
    assert (found.families[_COUNTER], found.families[_LATENCY]) == ("counter", "gauge")
    assert (found.value("barnabas_client_metrics_instances") or 0) >= 1
    assert (found.value("barnabas_client_metrics_pushes_total") or 0) >= 1
    names = {name for name, labels, _ in found.samples if labels.get("client_id") == "pushing"}
    assert len(names) > 3
