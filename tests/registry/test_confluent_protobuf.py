"""confluent-kafka's Protobuf serializers."""

import pytest

pytest.importorskip("authlib")

from base64 import b64decode

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from barnabas.registry.protobuf_files.writing import compiled
from barnabas.schemas.parsing import parse
from barnabas.schemas.protobuf.parsed import ParsedProtobuf
from barnabas.schemas.schema import Schema, SchemaKind, SchemaReference
from tests.registry.registry_process import RegistryProcess

ITEM = 'syntax = "proto3";\npackage acme;\nmessage Item { double price = 1; }\n'
ORDER = """
syntax = "proto3";
package acme;
import "item.proto";
message Order {
  string id = 1;
  map<string, Item> items = 2;
  optional int32 count = 3;
}
"""
VALUE = SerializationContext("orders", MessageField.VALUE)


def message_class() -> type:
    item = Schema(SchemaKind.PROTOBUF, ITEM)
    reference = SchemaReference("item.proto", "item.proto", 1)
    order = Schema(SchemaKind.PROTOBUF, ORDER, (reference,))
    pool = descriptor_pool.DescriptorPool()
    for name, schema in (("item.proto", item), ("order.proto", order)):
        parsed = parse(schema, lambda _: item)
        assert isinstance(parsed, ParsedProtobuf)
        pool.Add(FileDescriptorProto.FromString(b64decode(compiled(parsed, name))))
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("acme.Order"))


def test_a_message_with_an_import_is_registered_written_and_read(registry: RegistryProcess) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    order = message_class()
    message = order(id="1", count=0)
    message.items["a"].price = 1.5
    data = ProtobufSerializer(order, client, {"use.deprecated.format": False})(message, VALUE)
    assert data is not None
    assert client.get_subjects() == ["item.proto", "orders-value"]
    text = registry.get("/subjects/orders-value/versions/1")
    assert isinstance(text, dict)
    assert "message Order {" in str(text["schema"])
    assert text["references"] == [{"name": "item.proto", "subject": "item.proto", "version": 1}]
    again = ProtobufSerializer(order, client, {"use.deprecated.format": False})(message, VALUE)
    assert again == data
    fresh = SchemaRegistryClient({"url": registry.url})
    settings = {"use.deprecated.format": False, "use.latest.version": True}
    found = ProtobufDeserializer(order, settings, fresh)(data, VALUE)
    assert found == message
