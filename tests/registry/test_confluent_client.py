"""confluent-kafka's registry client and serializers."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

pytest.importorskip("authlib")

from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    ServerConfig,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.common.schema_registry_client import (
    ConfigCompatibilityLevel,
    Metadata,
    MetadataProperties,
    Rule,
    RuleKind,
    RuleMode,
    RuleSet,
)
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.registry.registry_process import RegistryProcess, record

A, AB = record("a"), record("a", "b")
TEXT = json.dumps({"type": "record", "name": "T", "fields": [{"name": "text", "type": "string"}]})
VALUE = SerializationContext("orders", MessageField.VALUE)


@pytest.fixture
def client(registry: RegistryProcess) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": registry.url})


def avro(text: str, **more: object) -> Schema:
    return Schema(text, "AVRO", **more)


def test_subjects_versions_and_schemas(client: SchemaRegistryClient) -> None:
    assert client.register_schema("s", avro(A)) == 1
    registered = client.register_schema_full_response("s", avro(AB))
    assert (registered.schema_id, registered.version) == (2, 2)
    assert client.get_subjects() == ["s"]
    assert client.get_versions("s") == [1, 2]
    assert client.get_latest_version("s").schema_id == 2
    assert client.lookup_schema("s", avro(A)).version == 1
    assert json.loads(str(client.get_schema(1).schema_str)) == json.loads(A)
    by_guid = client.get_schema_by_guid(str(registered.guid))
    assert json.loads(str(by_guid.schema_str)) == json.loads(AB)
    assert "AVRO" in client.get_schema_types()
    assert client.delete_version("s", 1) == 1
    assert client.delete_subject("s") == [2]
    assert client.delete_subject("s", permanent=True) == [1, 2]
    with pytest.raises(SchemaRegistryError) as error:
        client.get_latest_version("t")
    assert (error.value.http_status_code, error.value.error_code) == (404, 40401)


def test_settings_and_compatibility(client: SchemaRegistryClient) -> None:
    client.register_schema("s", avro(A))
    assert client.test_compatibility("s", avro(AB))
    needed = {"type": "record", "name": "R", "fields": [{"name": "z", "type": "string"}]}
    assert not client.test_compatibility("s", avro(json.dumps(needed)))
    config = ServerConfig(compatibility=ConfigCompatibilityLevel.FULL, compatibility_group="g")
    client.set_config("s", config)
    found = client.get_config("s")
    assert (found.compatibility_level, found.compatibility_group) == ("FULL", "g")
    client.set_compatibility("s", "NONE")
    assert client.get_compatibility("s") == "NONE"
    assert client.test_compatibility("s", avro(json.dumps(needed)))


def test_metadata_rules_and_references(client: SchemaRegistryClient) -> None:
    rule = Rule(
        "positive", None, RuleKind.CONDITION, RuleMode.WRITE, "CEL", None, None, "value.a > 0",
        None, None, False,
    )  # fmt: skip
    metadata = Metadata(None, MetadataProperties({"owner": "me"}), None)
    rules = RuleSet(None, [rule])
    client.register_schema("r", avro(A, metadata=metadata, rule_set=rules))
    found = client.get_latest_with_metadata("r", {"owner": "me"})
    assert found.schema.rule_set.domain_rules[0].name == "positive"
    using = {"type": "record", "name": "U", "fields": [{"name": "r", "type": "R"}]}
    references = [SchemaReference("R", "r", 1)]
    client.register_schema("u", avro(json.dumps(using), references=references))
    assert client.get_version("u", 1).schema.references[0].subject == "r"


def test_avro_is_written_and_read(client: SchemaRegistryClient) -> None:
    serialize = AvroSerializer(client, A)
    data = serialize({"a": 7}, VALUE)
    assert data is not None
    assert data[:5] == b"\0\0\0\0\1"
    reader = AvroDeserializer(client, AB)
    assert reader(data, VALUE) == {"a": 7, "b": 0}
    assert client.get_subjects() == ["orders-value"]


@pytest.mark.parametrize("conf", [{"use.latest.version": True}, {}])
def test_the_guid_of_a_schema_is_written_to_a_header(
    registry: RegistryProcess, client: SchemaRegistryClient, conf: dict[str, bool]
) -> None:
    """confluent-kafka gets it by GET, too, where it says who it is by its version alone."""
    client.register_schema("orders-value", avro(TEXT))
    guid = client.get_latest_version("orders-value").guid
    options = {
        "auto.register.schemas": False,
        "schema.id.serializer": header_schema_id_serializer,
        **conf,
    }
    context = SerializationContext("orders", MessageField.VALUE, [])
    # Its deserializer takes values of less than six bytes for cut off, also with an id in a header.
    value = {"text": "hello, world"}
    data = AvroSerializer(client, TEXT, conf=options)(value, context)
    assert data == b"\x18hello, world", "without an id in front"
    assert context.headers == [("__value_schema_id", b"\x01" + UUID(guid).bytes)]
    reader = AvroDeserializer(SchemaRegistryClient({"url": registry.url}))
    assert reader(data, context) == value
