"""The texts by which a registry recognizes Avro schemas: as Java writes them."""

import json
from typing import Any

import pytest

from tests.schemas.making import avro, record

TEXTS: list[tuple[Any, str]] = [
    ({"type": "string"}, '"string"'),
    ({"logicalType": "date", "type": "int"}, '{"type":"int","logicalType":"date"}'),
    (
        {"fields": [{"type": "int", "name": "a"}], "name": "n.s.A", "type": "record", "doc": "é"},
        (
            '{"type":"record","name":"A","namespace":"n.s","doc":"é",'
            '"fields":[{"name":"a","type":"int"}]}'
        ),
    ),
    (
        record(
            {"default": 1e10, "doc": "d", "x": 1, "order": "ignore", "name": "a", "type": "double"}
        ),
        (
            '{"type":"record","name":"Order","fields":[{"name":"a","type":"double","doc":"d",'
            '"default":1.0E10,"order":"ignore","x":1}]}'
        ),
    ),
    (
        {
            "aliases": ["n.X", "m.Y"],
            "symbols": ["A"],
            "default": "A",
            "name": "n.E",
            "type": "enum",
        },
        (
            '{"type":"enum","name":"E","namespace":"n","symbols":["A"],"default":"A",'
            '"aliases":["X","m.Y"]}'
        ),
    ),
    (
        record(("p", record(("q", "n.A"), name="P")), name="A", namespace="n"),
        (
            '{"type":"record","name":"A","namespace":"n","fields":[{"name":"p","type":'
            '{"type":"record","name":"P","fields":[{"name":"q","type":"A"}]}}]}'
        ),
    ),
    (
        record(("p", {"type": "fixed", "name": "F", "namespace": "", "size": 2}), namespace="n"),
        (
            '{"type":"record","name":"Order","namespace":"n","fields":[{"name":"p","type":'
            '{"type":"fixed","name":"F","namespace":"","size":2}}]}'
        ),
    ),
]


@pytest.mark.parametrize(("definition", "text"), TEXTS)
def test_the_canonical_text_is_that_of_java(definition: Any, text: str) -> None:
    assert avro(definition).canonical() == text
    assert avro(json.loads(text)).canonical() == text


def test_normalizing_sorts_what_has_no_order() -> None:
    one = record(
        {
            "type": {
                "zeta": 1,
                "scale": 2,
                "precision": 9,
                "logicalType": "decimal",
                "type": "bytes",
            },
            "name": "price",
            "aliases": ["cost", "amount"],
            "y": {"b": 1, "a": 2},
            "b": 1,
        },
        doc="",
        z=1,
        a=2,
    )
    assert avro(one).normalized() == (
        '{"type":"record","name":"Order","fields":[{"name":"price","type":{"type":"bytes",'
        '"logicalType":"decimal","precision":9,"scale":2,"zeta":1},"aliases":["amount","cost"],'
        '"b":1,"y":{"a":2,"b":1}}],"a":2,"z":1}'
    )
    assert '"zeta":1,"scale":2' in avro(one).canonical()


def test_schemas_that_differ_in_the_order_of_attributes_are_one_schema() -> None:
    one = {"type": "record", "name": "A", "fields": [{"name": "a", "type": "int", "doc": "x"}]}
    other = {"fields": [{"doc": "x", "type": "int", "name": "a"}], "name": "A", "type": "record"}
    assert avro(one).canonical() == avro(other).canonical()
