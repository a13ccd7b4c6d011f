"""Every option of Spark's Kafka source and sink and of Kafka's clients is done, or refused by name.

The names are those of Spark's guide (Structured Streaming + Kafka Integration) and of Kafka 4's
`ConsumerConfig` and `ProducerConfig`.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from barnabas.errors import InvalidArgument
from barnabas.spark.sink.options import sink_options
from barnabas.spark.source.options import (
    READ_OPTIONS,
    REFUSED_READ_OPTIONS,
    batch_options,
    stream_options,
)

LEAST = {"kafka.bootstrap.servers": "host:1", "subscribe": "orders"}
LEAST_TO_WRITE = {"kafka.bootstrap.servers": "host:1"}


def _names(text: str) -> list[str]:
    return text.split()


OF_SPARK_S_SOURCE = _names(
    """
    assign subscribe subscribePattern startingTimestamp startingOffsetsByTimestamp startingOffsets
    endingTimestamp endingOffsetsByTimestamp endingOffsets failOnDataLoss
    kafkaConsumer.pollTimeoutMs fetchOffset.numRetries fetchOffset.retryIntervalMs
    maxOffsetsPerTrigger maxBytesPerTrigger minOffsetsPerTrigger maxTriggerDelay minPartitions
    maxRecordsPerPartition groupIdPrefix includeHeaders startingOffsetsByTimestampStrategy
    """
)
OF_ALL_CLIENTS = _names(
    """
    auto.include.jmx.reporter bootstrap.servers client.dns.lookup client.id config.providers
    connections.max.idle.ms enable.metrics.push interceptor.classes metadata.max.age.ms
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters
    metrics.num.samples metrics.recording.level metrics.sample.window.ms receive.buffer.bytes
    reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retry.backoff.max.ms
    retry.backoff.ms security.protocol send.buffer.bytes socket.connection.setup.timeout.max.ms
    socket.connection.setup.timeout.ms
    """
)
OF_CONSUMERS = _names(
    """
    allow.auto.create.topics auto.commit.interval.ms auto.offset.reset check.crcs client.rack
    default.api.timeout.ms enable.auto.commit exclude.internal.topics fetch.max.bytes
    fetch.max.wait.ms fetch.min.bytes group.id group.instance.id group.protocol
    group.remote.assignor heartbeat.interval.ms isolation.level key.deserializer
    max.partition.fetch.bytes max.poll.interval.ms max.poll.records partition.assignment.strategy
    session.timeout.ms value.deserializer
    """
)
OF_PRODUCERS = _names(
    """
    acks batch.size buffer.memory compression.gzip.level compression.lz4.level compression.type
    compression.zstd.level delivery.timeout.ms enable.idempotence key.serializer linger.ms
    max.block.ms max.in.flight.requests.per.connection max.request.size metadata.max.idle.ms
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
    partitioner.ignore.keys retries transaction.timeout.ms transaction.two.phase.commit.enable
    transactional.id value.serializer
    """
)
OF_SECURE_CONNECTIONS_REFUSED = _names(
    """
    sasl.client.callback.handler.class sasl.kerberos.service.name sasl.login.class
    security.providers ssl.ca ssl.keystore.password
    ssl.protocol ssl.truststore.password
    """
)
SECURE = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.ssl.truststore.location": "ca.pem",
    "kafka.ssl.truststore.type": "PEM",
    "kafka.sasl.mechanism": "SCRAM-SHA-512",
    "kafka.sasl.username": "alice",
    "kafka.sasl.password": "sesame",
}

DONE_BY_THE_SOURCE: dict[str, tuple[str, Any]] = {
    "client.id": ("me", lambda s: s.consumer.connection.client_id == "me"),
    "client.rack": ("a", lambda s: s.consumer.rack == "a"),
    "default.api.timeout.ms": ("7", lambda s: s.consumer.connection.retry_timeout_ms == 7),
    "fetch.max.bytes": ("7", lambda s: s.consumer.tuning.max_bytes == 7),
    "fetch.max.wait.ms": ("7", lambda s: s.consumer.tuning.max_wait_ms == 7),
    "fetch.min.bytes": ("7", lambda s: s.consumer.tuning.min_bytes == 7),
    "isolation.level": ("read_uncommitted", lambda s: s.consumer.isolation == 0),
    "max.partition.fetch.bytes": ("7", lambda s: s.consumer.tuning.partition_max_bytes == 7),
    "metadata.max.age.ms": ("7", lambda s: s.consumer.metadata_max_age_ms == 7),
    "request.timeout.ms": ("7", lambda s: s.consumer.connection.request_timeout_ms == 7),
    "security.protocol": ("plaintext", lambda s: True),
    "socket.connection.setup.timeout.ms": (
        "7",
        lambda s: s.consumer.connection.connect_timeout_ms == 7,
    ),
    "bootstrap.servers": (
        "there:9",
        lambda s: s.consumer.connection.bootstrap_servers == "there:9",
    ),
}
DONE_BY_THE_SINK: dict[str, tuple[str, Any]] = {
    "acks": ("1", lambda p: p.producer["acks"] == 1),
    "batch.size": ("7", lambda p: p.producer["batch_bytes"] == 7),
    "bootstrap.servers": ("there:9", lambda p: p.connection.bootstrap_servers == "there:9"),
    "buffer.memory": ("7", lambda p: p.producer["buffer_bytes"] == 7),
    "client.id": ("me", lambda p: p.connection.client_id == "me"),
    "compression.type": ("gzip", lambda p: p.producer["compression"] == 1),
    "delivery.timeout.ms": ("7", lambda p: p.producer["delivery_timeout_ms"] == 7),
    "enable.idempotence": ("false", lambda p: p.producer["idempotent"] is False),
    "linger.ms": ("0", lambda p: p.producer["linger_ms"] == 0),
    "max.request.size": (
        "7",
        lambda p: (
            [p.producer[n] for n in ("batch_bytes", "request_bytes", "max_request_bytes")]
            == [7, 7, 7]
        ),
    ),
    "metadata.max.age.ms": ("7", lambda p: p.producer["metadata_max_age_ms"] == 7),
    "request.timeout.ms": ("7", lambda p: p.connection.request_timeout_ms == 7),
    "security.protocol": ("PLAINTEXT", lambda p: True),
    "socket.connection.setup.timeout.ms": ("7", lambda p: p.connection.connect_timeout_ms == 7),
    "transaction.timeout.ms": ("7", lambda p: p.transaction_timeout_ms == 7),
}


@pytest.mark.parametrize("name", OF_SPARK_S_SOURCE)
def test_options_of_the_source(name: str) -> None:
    assert (name in READ_OPTIONS.values()) != (name in REFUSED_READ_OPTIONS)
    if name in REFUSED_READ_OPTIONS:
        for parse in (batch_options, stream_options):
            with pytest.raises(InvalidArgument, match=f"{name} cannot be set: .*(groupId|kafka)"):
                parse(LEAST | {name: "1"})


def test_options_of_the_source_that_nothing_else_tests() -> None:
    options = stream_options(
        LEAST | {"maxBytesPerTrigger": "10m", "kafkaConsumer.pollTimeoutMs": "7"}
    )
    assert (options.max_bytes_per_trigger, options.source.poll_timeout_ms) == (10 << 20, 7)
    for wrong in ("0", "many", "-1", "1x"):
        with pytest.raises(InvalidArgument, match="maxBytesPerTrigger must be a size"):
            stream_options(LEAST | {"maxBytesPerTrigger": wrong})


def test_options_of_the_sink() -> None:
    given = LEAST_TO_WRITE | {"topic": "orders", "includeHeaders": "true"}
    assert sink_options(given, streaming=True).topic == "orders"


@pytest.mark.parametrize("name", [*OF_ALL_CLIENTS, *OF_CONSUMERS])
def test_settings_of_consumers(name: str) -> None:
    if name in DONE_BY_THE_SOURCE:
        value, is_done = DONE_BY_THE_SOURCE[name]
        assert is_done(batch_options(LEAST | {f"kafka.{name}": value}).source)
        return
    with pytest.raises(InvalidArgument, match=f"kafka.{name}.* cannot be set: "):
        batch_options(LEAST | {f"kafka.{name}": "something"})


@pytest.mark.parametrize("name", [*OF_ALL_CLIENTS, *OF_PRODUCERS])
def test_settings_of_producers(name: str) -> None:
    if name in DONE_BY_THE_SINK:
        value, is_done = DONE_BY_THE_SINK[name]
        once = {"deliveryGuarantee": "exactly-once"} if name == "transaction.timeout.ms" else {}
        options = sink_options(LEAST_TO_WRITE | once | {f"kafka.{name}": value}, streaming=True)
        assert is_done(options.producer)
        return
    with pytest.raises(InvalidArgument, match=f"kafka.{name}.* cannot be set: "):
        sink_options(LEAST_TO_WRITE | {f"kafka.{name}": "something"}, streaming=False)


@pytest.mark.parametrize("name", OF_SECURE_CONNECTIONS_REFUSED)
def test_settings_of_secure_connections_that_are_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"kafka.{name} is not supported"):
        batch_options(LEAST | {f"kafka.{name}": "x"})
    with pytest.raises(InvalidArgument, match=f"kafka.{name} is not supported"):
        sink_options(LEAST_TO_WRITE | {f"kafka.{name}": "x"}, streaming=False)


def test_settings_of_secure_connections() -> None:
    source = batch_options(LEAST | SECURE).source.consumer.connection
    sink = sink_options(LEAST_TO_WRITE | SECURE, streaming=False).producer.connection
    for connection in (source, sink):
        assert connection.security.protocol.name == "SASL_SSL"
        assert connection.security.tls.paths == ("ca.pem",)
        assert connection.security.sasl_username == "alice"
        assert "sesame" not in repr(connection)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kafka.check.crcs": "TRUE"}, None),
        ({"kafka.check.crcs": "false"}, "always behaves as with true"),
        ({"startOffset": "latest"}, "no option 'startoffset': did you mean startingOffsets?"),
        ({"whatever": "1"}, "no option 'whatever'"),
        ({"path": "/x"}, None),
    ],
)
def test_values_and_names_that_are_not_taken(given: Mapping[str, str], said: str | None) -> None:
    if said is None:
        batch_options(LEAST | given)
        return
    with pytest.raises(InvalidArgument) as raised:
        batch_options(LEAST | given)
    assert said in str(raised.value)


def test_unknown_options_of_a_write_and_those_that_are_spark_s() -> None:
    sink_options(
        LEAST_TO_WRITE | {"checkpointLocation": "x", "asyncProgressTrackingEnabled": "true"},
        streaming=True,
    )
    with pytest.raises(InvalidArgument, match="no option 'partitions'"):
        sink_options(LEAST_TO_WRITE | {"partitions": "3"}, streaming=True)
