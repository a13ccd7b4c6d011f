"""Which subjects a topic has, where its name does not say it."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("authlib")

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.common.schema_registry_client import (
    AssociationCreateOrUpdateInfo,
    AssociationCreateOrUpdateRequest,
)
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext

from barnabas.registry.model.association_changes import (
    associate,
    delete_associations,
    wanted_associations,
)
from barnabas.registry.model.associations import Association, association_json
from barnabas.registry.model.contents import Json
from barnabas.registry.model.errors import RegistryRefusal
from barnabas.registry.model.image import RegistryImage
from barnabas.registry.model.names import qualified
from barnabas.registry.model.records import association_record
from barnabas.registry.rest.routes import ROUTES
from tests.registry.memory_registry import MemoryRegistry
from tests.registry.registry_process import MakeRegistry, record

A, B = '{"a": 0}', '{"b": 0}'
GUIDS = (f"guid-{number}" for number in itertools.count())


@pytest.fixture
def registry() -> MemoryRegistry:
    found = MemoryRegistry()
    for subject in ("s", "t", ":.lkc-1:orders-value"):
        found.register(subject, A)
    return found


def put(
    registry: MemoryRegistry, topic: str, *asked: Json, update: bool = False, **fields: Json
) -> list[Association]:
    body: dict[str, Json] = {
        "resourceName": topic,
        "resourceNamespace": "lkc-1",
        "resourceId": f"id-of-{topic}",
        "associations": [*asked],
        **fields,
    }
    wanted = wanted_associations(body, qualified)
    guids = lambda: next(GUIDS)  # noqa: E731
    return registry.commit(associate(registry.image, wanted, guids, update=update))


def value(subject: str | None = None, **fields: Json) -> Json:
    named: dict[str, Json] = {} if subject is None else {"subject": subject}
    return {**named, "associationType": "value", **fields}


@contextmanager
def refused(code: int, match: str | None = None) -> Iterator[None]:
    with pytest.raises(RegistryRefusal, match=match) as found:
        yield
    assert found.value.code == code


def delete(registry: MemoryRegistry, topic: str, *, cascade: bool = False) -> None:
    found = registry.image.associations.of_resource(f"id-of-{topic}")
    registry.commit(delete_associations(registry.image, found, f"id-of-{topic}", cascade=cascade))


def test_one_is_created_found_and_deleted(registry: MemoryRegistry) -> None:
    (made,) = put(registry, "orders", value("s"))
    associations = registry.image.associations
    assert made.lifecycle == "WEAK"
    assert not made.frozen
    assert associations.of_name("lkc-1", "orders") == [made]
    assert associations.of_name("-", "orders") == [made]
    assert associations.of_name("lkc-2", "orders") == []
    assert associations.of_subject("s") == associations.of_resource("id-of-orders") == [made]
    assert put(registry, "orders", value("s")) == [made], "the same again"
    delete(registry, "orders")
    assert associations.of_name("-", "orders") == []
    with refused(40410, "'id-of-orders' not found"):
        delete(registry, "orders")


def test_a_replay_and_what_compaction_leaves_have_the_same(registry: MemoryRegistry) -> None:
    put(registry, "orders", value("s"))
    put(registry, "bills", value("t", lifecycle="STRONG"))
    put(registry, "orders", value("s", lifecycle="STRONG"), update=True)
    delete(registry, "bills")
    (left,) = registry.compacted().associations.of_subject("s")
    assert left.lifecycle == "STRONG"
    assert registry.compacted().associations.of_subject("t") == []


def test_records_have_confluents_format() -> None:
    made = Association("s", "g", "orders", "lkc-1", "i", "topic", "value", "STRONG", frozen=True)
    key, stored = association_record(made.key, made)
    assert key == (
        b'{"keytype":"ASSOC","tenant":"default","resourceName":"orders",'
        b'"resourceNamespace":"lkc-1","resourceType":"topic","associationType":"value",'
        b'"subject":"s","magic":0}'
    )
    image = RegistryImage()
    image.replay(key, stored)
    assert image.associations.of_subject("s") == [made]
    assert association_json(made)["resourceId"] == "i"


def test_a_strong_one_is_the_only_one_of_its_subject(registry: MemoryRegistry) -> None:
    put(registry, "orders", value("s"))
    put(registry, "bills", value("s"))
    with refused(40904, "subject 's'"):
        put(registry, "stock", value("s", lifecycle="STRONG"))
    with refused(40904, "subject 's'"):
        put(registry, "bills", value("s", lifecycle="STRONG"), update=True)
    put(registry, "stock", value("t", lifecycle="STRONG"))
    with refused(40905, "subject 't'"):
        put(registry, "more", value("t"))


def test_a_resource_has_one_subject_for_its_values(registry: MemoryRegistry) -> None:
    put(registry, "orders", value("s"), {"subject": "t", "associationType": "key"})
    with refused(40903, "type 'value' already exists for resource 'id-of-orders'"):
        put(registry, "orders", value("t"))
    with refused(40903):
        put(registry, "orders", value("s", lifecycle="STRONG"))


def test_the_subject_needs_a_schema(registry: MemoryRegistry) -> None:
    with refused(40907, "subject 'nothing'"):
        put(registry, "orders", value("nothing"))


def test_a_frozen_one_stays(registry: MemoryRegistry) -> None:
    (made,) = put(registry, "orders", value(frozen=True))
    assert (made.subject, made.lifecycle) == (":.lkc-1:orders-value", "STRONG")
    assert put(registry, "orders", value(frozen=True)) == [made]
    with refused(40908, "type 'value' is frozen"):
        put(registry, "orders", value("s"), update=True)
    with refused(40908):
        put(registry, "orders", value(frozen=False), update=True)
    with refused(40908):
        delete(registry, "orders")


def test_a_strong_one_takes_its_subject_with_it(registry: MemoryRegistry) -> None:
    put(registry, "orders", value("s", lifecycle="STRONG"))
    put(registry, "bills", value("t"))
    delete(registry, "orders", cascade=True)
    delete(registry, "bills", cascade=True)
    assert registry.image.schemas.subjects() == [":.lkc-1:orders-value", "t"]
    assert registry.register("s", B).id == 2, "ids are not given again"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"resourceName": ""}, "resourceName"),
        ({"resourceNamespace": None}, "resourceNamespace"),
        ({"resourceId": ""}, "resourceId"),
        ({"resourceType": "table"}, "resourceType"),
        ({"associations": []}, "associations"),
        ({"associations": [value("s"), value("t")]}, "associationType"),
        ({"associations": [{"associationType": "header"}]}, "associationType"),
        ({"associations": [value("s", lifecycle="FOREVER")]}, "lifecycle"),
        ({"associations": [value("s", frozen=True)]}, "subject"),
        ({"associations": [value(frozen=True, lifecycle="WEAK")]}, "lifecycle"),
        ({"associations": [value(frozen="yes")]}, "frozen"),
        ({"associations": [value(schema="{}")]}, "schema"),
    ],
)
def test_a_request_that_makes_no_sense(
    registry: MemoryRegistry, fields: dict[str, Json], field: str
) -> None:
    with refused(42212, f"invalid '{field}'"):
        put(registry, "orders", value("s"), **fields)


def test_changes_of_associations_are_logged() -> None:
    changing = {each.method for each in ROUTES if each.path.startswith("associ") and each.changes}
    assert changing == {"POST", "PUT", "DELETE"}


def test_confluents_serializers_write_with_the_subject_of_the_topic(
    make_registry: MakeRegistry,
) -> None:
    """Asked of an instance that does not write, too."""
    writer, other = make_registry(), make_registry()
    text = record("a")
    writer.register("invoices", text)
    client = SchemaRegistryClient({"url": other.url})
    info = AssociationCreateOrUpdateInfo("invoices", "value", "WEAK")
    key = AssociationCreateOrUpdateInfo("names", "key", "STRONG", schema=Schema('"string"', "AVRO"))
    request = AssociationCreateOrUpdateRequest("bills", "lkc-1", "1234", "topic", [info, key])
    made = client.create_association(request)
    assert [each.subject for each in made.associations or ()] == ["invoices", "names"]
    (found,) = client.get_associations_by_resource_name("bills", "-", "topic", ["value"])
    assert (found.subject, found.resource_id) == ("invoices", "1234")
    serializer = AvroSerializer(
        client, conf={"auto.register.schemas": False, "use.latest.version": True}
    )
    context = SerializationContext("bills", MessageField.VALUE)
    data = serializer({"a": 7}, context)
    assert AvroDeserializer(client)(data, context) == {"a": 7}
    client.delete_associations("1234", "topic", ["key"], cascade_lifecycle=True)
    assert other.get("/subjects?deleted=true") == ["invoices"]
    assert other.get("/associations/subjects/names") == []
    assert len(str(other.get("/associations/resources/1234")).split("guid")) == 2
    with pytest.raises(SchemaRegistryError) as missing:
        client.delete_associations("9", "topic")
    assert (missing.value.http_status_code, missing.value.error_code) == (404, 40410)
    dry = {"resourceName": "x", "resourceNamespace": "n", "resourceId": "8"}
    asked: Json = {**dry, "associations": [{"subject": "invoices", "lifecycle": "WEAK"}]}
    assert other.call("POST", "/associations?dryRun=true", asked).status == 200
    assert other.get("/associations/resources/8") == []
    assert other.call("PUT", "/associations/resources/8", asked).status == 200
    assert "PUT /associations/resources/8" in other.said()
