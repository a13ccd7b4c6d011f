"""confluent-kafka's JSON serializers."""

import json

import pytest

pytest.importorskip("authlib")
pytest.importorskip("jsonschema")

from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.registry.registry_process import RegistryProcess

VALUE = SerializationContext("orders", MessageField.VALUE)
ITEM = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "http://example.com/item.json",
        "title": "Item",
        "type": "object",
        "properties": {"price": {"type": "number"}},
        "required": ["price"],
    }
)
ORDER = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "http://example.com/order.json",
        "title": "Order",
        "type": "object",
        "properties": {"id": {"type": "string"}, "item": {"$ref": "item.json"}},
        "additionalProperties": False,
    }
)


def test_values_with_a_reference_are_written_and_read(registry: RegistryProcess) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    client.register_schema("item", Schema(ITEM, "JSON"))
    reference = SchemaReference("http://example.com/item.json", "item", 1)
    schema = Schema(ORDER, "JSON", [reference])
    order = {"id": "1", "item": {"price": 1.5}}
    data = JSONSerializer(schema, client)(order, VALUE)
    assert data is not None
    fresh = SchemaRegistryClient({"url": registry.url})
    assert JSONDeserializer(None, schema_registry_client=fresh)(data, VALUE) == order
    assert client.get_subjects() == ["item", "orders-value"]


def test_a_property_that_changes_its_type_is_refused(registry: RegistryProcess) -> None:
    assert registry.register("s", ITEM, schemaType="JSON") == 1
    changed = ITEM.replace('"number"', '"string"')
    body = {"schema": changed, "schemaType": "JSON"}
    refused = registry.call("POST", "/subjects/s/versions", {**body})
    assert isinstance(refused.body, dict)
    assert refused.body["error_code"] == 40901
    assert "price" in str(refused.body["message"])
