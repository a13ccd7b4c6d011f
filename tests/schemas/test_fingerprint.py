"""GUIDs that Confluent's registry computes for the same schemas."""

from barnabas.schemas.schema import Schema, SchemaKind, SchemaReference, guid

PACKAGE = "io.confluent.kafka.example"
PERSON = (
    f'{{"type":"record","name":"Person","namespace":"{PACKAGE}","fields":'
    '[{"name":"name","type":"string"},{"name":"age","type":"int"},{"name":"ssn","type":"string"},'
    f'{{"name":"user","type":"{PACKAGE}.User"}},{{"name":"address","type":"{PACKAGE}.Address"}}]}}'
)
REFERENCES = (
    SchemaReference(f"{PACKAGE}.User", "User", 1),
    SchemaReference(f"{PACKAGE}.Address", "Address", 2),
)


def test_the_guid_of_a_schema_is_confluents() -> None:
    found = guid(Schema(SchemaKind.AVRO, PERSON))
    assert str(found) == "d629bb05-ad85-3d20-fbcb-895de3c459f7"


def test_references_are_part_of_it() -> None:
    found = guid(Schema(SchemaKind.AVRO, PERSON, REFERENCES))
    assert str(found) == "5c08d70e-5347-41b2-6369-199425d044eb"
