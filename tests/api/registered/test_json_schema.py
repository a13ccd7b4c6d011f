"""JSON with a registry, against a broker and a registry."""

import json
from typing import Any

import pytest

import barnabas
from barnabas.errors import InvalidArgument
from barnabas.formats import Registry
from barnabas.schemas import json_schema_of
from tests.api.registered.models import VALUES, Line
from tests.registry.registry_process import RegistryProcess


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_models_go_in_and_come_out(
    servers: str, topic: str, registry: RegistryProcess, value: Any
) -> None:
    own = Registry(registry.url, register=True)
    options: Any = {"value": type(value), "value_format": "json-schema"}
    with barnabas.Producer(servers, registry=own, **options) as producer:
        producer.send(topic, value)
    with barnabas.Consumer(servers, topic, registry=registry.url, **options) as consumer:
        assert [each.value for each in consumer.poll(120)] == [value]


def test_what_does_not_match_is_named_before_it_is_sent(
    servers: str, topic: str, registry: RegistryProcess
) -> None:
    text = json.dumps(json_schema_of(Line))
    registry.register(f"{topic}-value", text, schemaType="JSON")
    with barnabas.Producer(servers, value_format="json-schema", registry=registry.url) as producer:
        producer.send(topic, {"sku": "a"})
        with pytest.raises(InvalidArgument) as caught:
            producer.send(topic, {"sku": "a", "count": "two"})
        assert str(caught.value) == (
            "value_format=json-schema: count: 'two' is not of type 'integer' "
            f"(version 1 of {topic}-value)"
        )
    with (
        barnabas.Producer(
            servers, value=Line, value_format="json-schema", registry=registry.url
        ) as producer,
        pytest.raises(InvalidArgument, match="sku: 5 is not of type 'string'"),
    ):
        producer.send(topic, Line(5))  # type: ignore[arg-type]
    with barnabas.Consumer(
        servers, topic, value_format="json-schema", registry=registry.url
    ) as consumer:
        assert [each.value for each in consumer.poll(120)] == [{"sku": "a"}]


def test_schemas_with_references(servers: str, topic: str, registry: RegistryProcess) -> None:
    registry.register(f"{topic}.sku", '{"type": "string", "maxLength": 2}', schemaType="JSON")
    registry.register(
        f"{topic}-value",
        '{"type": "object", "properties": {"sku": {"$ref": "sku.json"}}}',
        schemaType="JSON",
        references=[{"name": "sku.json", "subject": f"{topic}.sku", "version": 1}],
    )
    with barnabas.Producer(servers, value_format="json-schema", registry=registry.url) as producer:
        producer.send(topic, {"sku": "ab"})
        with pytest.raises(InvalidArgument, match="sku: 'abc' is too long"):
            producer.send(topic, {"sku": "abc"})
