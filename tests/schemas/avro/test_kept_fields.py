"""The newest version with the fields of earlier ones."""

import json
from typing import Any

import pytest

from barnabas.schemas.avro.kept_fields import with_kept_fields
from barnabas.schemas.avro.parser import AvroParser
from barnabas.schemas.avro.types import AvroRecord, AvroType, described


def parsed(*fields: Any, name: str = "R", **other: Any) -> AvroType:
    schema = {"type": "record", "name": name, "fields": fields, **other}
    return AvroParser().parse(json.dumps(schema))


def field(name: str, kind: Any, **other: Any) -> Any:
    return {"name": name, "type": kind, **other}


def inner(*fields: Any) -> Any:
    return {"type": "record", "name": "Inner", "fields": fields}


def fields(found: AvroType) -> list[str]:
    assert isinstance(found, AvroRecord)
    return [f"{each.name}: {described(each.type)}" for each in found.fields]


def test_new_fields_come_last_and_removed_ones_stay() -> None:
    newest = parsed(field("c", "string"), field("a", "long"))
    earlier = parsed(field("a", "int"), field("b", "int"))
    assert fields(with_kept_fields(newest, earlier)) == ["a: long", "b: int", "c: string"]


def test_a_renamed_field_keeps_its_name() -> None:
    newest = parsed(field("b", "long", aliases=["a"]), field("c", "int"))
    found = with_kept_fields(newest, parsed(field("a", "int"), field("c", "int")))
    assert fields(found) == ["a: long", "c: int"]
    assert isinstance(found, AvroRecord)
    assert found.fields[0].aliases == ["b"]


@pytest.mark.parametrize(
    "around",
    [
        lambda kind: kind,
        lambda kind: ["null", kind],
        lambda kind: {"type": "array", "items": kind},
        lambda kind: {"type": "map", "values": ["null", kind]},
    ],
)
def test_records_inside_keep_theirs(around: Any) -> None:
    newest = parsed(field("r", around(inner(field("y", "int")))))
    earlier = parsed(field("r", around(inner(field("x", "int")))))
    found = with_kept_fields(newest, earlier)
    while not (isinstance(found, AvroRecord) and found.name == "Inner"):
        if isinstance(found, AvroRecord):
            found = found.fields[0].type
        elif hasattr(found, "branches"):
            found = found.branches[1]
        else:
            found = getattr(found, "items", None) or found.values  # type: ignore[union-attr]
    assert fields(found) == ["x: int", "y: int"]


def test_another_record_is_not_merged() -> None:
    newest = parsed(field("a", "int"), name="Paid")
    assert with_kept_fields(newest, parsed(field("b", "int"), name="Refunded")) is newest
