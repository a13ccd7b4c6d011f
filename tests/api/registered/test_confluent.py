"""confluent-kafka's serializers read what ours write, and ours read theirs."""

import json
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("authlib")

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

import barnabas
from barnabas.errors import BarnabasError
from barnabas.formats import Registry
from barnabas.schemas import avro_of, json_schema_of
from tests.api.registered.models import AT, Line, Order, made
from tests.registry.registry_process import RegistryProcess


def written(servers: str, topic: str, sent: Any, **options: Any) -> bytes:
    """The bytes that our producer sends."""
    with barnabas.Producer(servers, **options) as producer:
        producer.send(topic, sent)
    with barnabas.Consumer(servers, topic) as consumer:
        (message,) = consumer.poll(120)
    return message.value


def read(servers: str, topic: str, data: bytes, **options: Any) -> Any:
    """What our consumer makes of these bytes."""
    with barnabas.Producer(servers) as producer:
        at = producer.send(topic, data).result().offset
    with barnabas.Consumer(servers, **options) as consumer:
        consumer.assign({barnabas.TopicPartition(topic, 0): at})
        return consumer.poll(120)[0].value


def of_value(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def test_avro(servers: str, topic: str, registry: RegistryProcess) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    options = {"value": Order, "value_format": "avro"}
    value = made(Order, Line)
    data = written(servers, topic, value, registry=Registry(registry.url, register=True), **options)
    found = AvroDeserializer(client)(data, of_value(topic))
    assert found["id"] == "7"
    assert found["price"] == Decimal("12.50")
    assert found["at"] == AT
    assert found["lines"] == [{"sku": "a", "count": 1}, {"sku": "b", "count": 2}]
    theirs = AvroSerializer(client, json.dumps(avro_of(Order)))(found, of_value(topic))
    assert theirs == data
    assert read(servers, topic, theirs, registry=registry.url, **options) == value


def test_json(servers: str, topic: str, registry: RegistryProcess) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    options = {"value": Line, "value_format": "json-schema"}
    own = Registry(registry.url, register=True)
    data = written(servers, topic, Line("a", 2), registry=own, **options)
    text = json.dumps(json_schema_of(Line))
    assert JSONDeserializer(text)(data, of_value(topic)) == {"sku": "a", "count": 2}
    theirs = JSONSerializer(text, client)({"sku": "b", "count": 3}, of_value(topic))
    assert theirs[:5] == data[:5]
    assert read(servers, topic, theirs, registry=registry.url, **options) == Line("b", 3)


def classes(prefix: str) -> tuple[Any, Any, str]:
    """A message inside of another one, and one that imports it and a well-known type."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    string, message = (
        descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
        descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE,
    )
    item = descriptor_pb2.FileDescriptorProto(
        name=f"{prefix}/item.proto", package=prefix, syntax="proto3"
    )
    item.message_type.add(name="Other")
    outer = item.message_type.add(name="Shop")
    inner = outer.nested_type.add(name="Item")
    inner.field.add(name="sku", number=1, type=string, label=1)
    order = descriptor_pb2.FileDescriptorProto(
        name=f"{prefix}/order.proto",
        package=prefix,
        syntax="proto3",
        dependency=[item.name, "google/protobuf/timestamp.proto"],
    )
    whole = order.message_type.add(name="Order")
    whole.field.add(name="item", number=1, type=message, label=1, type_name=f".{prefix}.Shop.Item")
    whole.field.add(
        name="at", number=2, type=message, label=1, type_name=".google.protobuf.Timestamp"
    )
    for each in (item, order):
        pool.AddSerializedFile(each.SerializeToString())
    found = [
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{prefix}.{name}"))
        for name in ("Shop.Item", "Order")
    ]
    return found[0], found[1], item.name


def test_protobuf(servers: str, topic: str, registry: RegistryProcess) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    item, order, item_file = classes(topic.replace("-", "_"))
    own = Registry(registry.url, register=True)
    plain = {"use.deprecated.format": False}
    values = ((item, item(sku="a"), b"\4\2\0"), (order, order(item=item(sku="b")), b"\0"))
    for kind, value, at in values:
        options = {"value": kind, "value_format": "protobuf"}
        name = f"{topic}.{kind.__name__}"
        with barnabas.Admin(servers) as admin:
            admin.create_topic(name)
        data = written(servers, name, value, registry=own, **options)
        assert data[5 : 5 + len(at)] == at
        assert ProtobufDeserializer(kind, plain)(data, of_value(name)) == value
        theirs = ProtobufSerializer(kind, client, plain)(value, of_value(name))
        assert theirs == data
        assert read(servers, name, theirs, registry=registry.url, **options) == value
    assert registry.get(f"/subjects/{item_file.replace('/', '%2F')}/versions") == [1]
    assert registry.get(f"/subjects/{topic}.Order-value/versions") == [1]


def test_protobuf_needs_a_class_to_write_and_none_to_read(
    servers: str, topic: str, registry: RegistryProcess
) -> None:
    item, _, _ = classes(topic.replace("-", "_"))
    own = Registry(registry.url, register=True)
    data = written(servers, topic, item(sku="a"), registry=own, value=item, value_format="protobuf")
    found = read(servers, topic, data, registry=registry.url, value_format="protobuf")
    assert found == {"sku": "a"}
    with (
        barnabas.Producer(servers, value_format="protobuf", registry=own) as producer,
        pytest.raises(ValueError, match="add value=CLASS"),
    ):
        producer.send(topic, {"sku": "a"})
    with (
        barnabas.Producer(servers, value_format="avro", registry=own) as producer,
        pytest.raises(BarnabasError, match="is PROTOBUF, not AVRO: choose another format"),
    ):
        producer.send(topic, {"sku": "a"})
