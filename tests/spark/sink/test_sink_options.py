"""Options and columns of writes mean what they mean to Spark's own sink."""

import pytest
from pyspark.sql.types import StructType

from barnabas.client.producer.record_producer import ACKS_ALL
from barnabas.errors import InvalidArgument
from barnabas.records.compression import Compression
from barnabas.spark.sink.batch_writer import BatchWriter
from barnabas.spark.sink.columns import written_columns
from barnabas.spark.sink.options import SinkOptions, sink_options

LEAST = {"kafka.bootstrap.servers": "host:1"}
EXACTLY_ONCE = {"deliveryGuarantee": "exactly-once"}


def stream(**given: str) -> SinkOptions:
    return sink_options(LEAST | given, streaming=True)


def schema(**columns: str) -> StructType:
    return StructType.fromJson(
        {
            "fields": [
                {"name": name, "type": of_type, "nullable": True, "metadata": {}}
                for name, of_type in columns.items()
            ]
        }
    )


def test_defaults() -> None:
    options = stream()
    assert (options.topic, options.exactly_once) == (None, False)
    assert (options.producer.acks, options.producer.compression) == (ACKS_ALL, Compression.NONE)
    assert options.producer.connection.bootstrap_servers == "host:1"


def test_settings_of_the_producer() -> None:
    options = sink_options(
        {
            "Kafka.Bootstrap.Servers": "host:1",
            "Topic": "Orders",
            "DELIVERYGUARANTEE": "exactly-once",
            "kafka.compression.type": "zstd",
            "kafka.batch.size": "1000",
            "kafka.delivery.timeout.ms": "7",
            "kafka.transaction.timeout.ms": "9",
            "kafka.linger.ms": "5",
            "checkpointLocation": "here",
        },
        streaming=True,
    )
    assert options.topic == "Orders"
    assert options.exactly_once
    assert options.producer.compression is Compression.ZSTD
    assert options.producer.producer["batch_bytes"] == 1000
    assert options.producer.producer["delivery_timeout_ms"] == 7
    assert options.producer.transaction_timeout_ms == 9
    assert stream(**EXACTLY_ONCE).producer.transaction_timeout_ms is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"deliveryGuarantee": "at-most-once"}, "at-least-once or exactly-once"),
        ({"deliveryGuarante": "exactly-once"}, "did you mean deliveryGuarantee"),
        ({"kafka.transactional.id": "a"}, "every task gets one"),
        ({"kafka.value.serializer": "a"}, "cast or encode"),
        ({"kafka.ssl.key.password": "a"}, "has no effect with security.protocol=PLAINTEXT"),
        ({"kafka.security.protocol": "TLS"}, "unknown security.protocol 'TLS'"),
        ({"kafka.comression.type": "zstd"}, "did you mean kafka.compression.type"),
        ({"kafka.compression.type": "zip"}, "zip"),
        ({"kafka.acks": "2"}, "all, -1, 1, 0"),
        ({"kafka.batch.size": "0"}, "at least 1"),
        ({"kafka.bootstrap.servers": ""}, "no bootstrap servers"),
        ({"kafka.transaction.timeout.ms": "9"}, "is for deliveryGuarantee=exactly-once"),
        (EXACTLY_ONCE | {"kafka.acks": "1"}, "needs kafka.acks=all"),
        (EXACTLY_ONCE | {"kafka.enable.idempotence": "false"}, "kafka.enable.idempotence"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said.replace(".", r"\.")):
        stream(**given)


def test_a_batch_is_not_written_exactly_once() -> None:
    with pytest.raises(InvalidArgument, match="availableNow"):
        sink_options(LEAST | EXACTLY_ONCE, streaming=False)


def test_topics_are_not_overwritten() -> None:
    with pytest.raises(InvalidArgument, match="append"):
        BatchWriter(sink_options(LEAST, streaming=False), schema(value="string"), overwrite=True)


def test_columns() -> None:
    everything = schema(
        key="binary", value="string", topic="string", partition="integer", offset="long"
    )
    assert written_columns(everything, None) == ["key", "value", "topic", "partition"]
    assert written_columns(everything, "orders") == ["key", "value", "partition"]


@pytest.mark.parametrize(
    ("columns", "topic", "said"),
    [
        ({"value": "string"}, None, "no topic: set the option topic"),
        ({"key": "string"}, "t", "no column 'value'"),
        ({"value": "integer"}, "t", "'value' is int, expected string or binary"),
        ({"value": "string", "partition": "long"}, "t", "'partition' is bigint"),
        ({"value": "string", "topic": "binary"}, None, "'topic' is binary"),
    ],
)
def test_columns_that_can_not_be_written(
    columns: dict[str, str], topic: str | None, said: str
) -> None:
    with pytest.raises(InvalidArgument, match=said):
        written_columns(schema(**columns), topic)
