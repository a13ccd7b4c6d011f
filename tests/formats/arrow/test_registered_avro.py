"""Values with the ids of schemas, as columns of one of them."""

import json
from typing import Any

import pyarrow as pa
import pytest

from barnabas.errors import InvalidArgument, RegistryUnreachable
from barnabas.formats.arrow import RegisteredAvroDecoder
from barnabas.formats.arrow.registered_avro import schema_ids
from barnabas.formats.registered.client import RegistryAnswerError
from barnabas.formats.registered.registry import Registry
from barnabas.formats.registered.wire_format import header
from tests.formats.arrow.decoding import record, written

FIRST = record({"name": "id", "type": "int"})
SECOND = record(
    {"name": "id", "type": "long"}, {"name": "tag", "type": "string", "default": "none"}
)


class Known(Registry):
    """A registry that answers from memory."""

    def __init__(self, schemas: dict[int, Any]) -> None:
        super().__init__("http://registry")
        self.schemas = schemas
        self.asked: list[int] = []

    def _asked(self, number: int) -> Any:
        self.asked.append(number)
        found = self.schemas.get(number)
        if found is None:
            raise RegistryAnswerError(40403, "Schema not found")
        if isinstance(found, Exception):
            raise found
        return self._registered(number, found)


def answer(schema: Any, kind: str = "AVRO") -> dict[str, Any]:
    return {"schema": json.dumps(schema), "schemaType": kind}


def value(number: int, schema: Any, row: Any) -> bytes:
    return header(number) + written(schema, row)


def test_versions_unknown_ids_and_what_is_no_avro() -> None:
    registry = Known({1: answer(FIRST), 2: answer(SECOND), 3: answer({}, "JSON"), 4: answer({})})
    decoder = RegisteredAvroDecoder.of(SECOND, registry)
    values: list[bytes | None] = [
        value(1, FIRST, {"id": 1}),
        header(9) + b"\2",
        value(2, SECOND, {"id": 2, "tag": "b"}),
        header(3) + b"{}",
        header(4) + b"",
        b"\0\0\0",
        b"",
        None,
        header(1),
        b"\1" + bytes(4) + b"\2",
        value(1, FIRST, {"id": 3}),
    ]
    found = decoder.decode(pa.array([b"before", *values], pa.binary())[1:])
    assert [each.to_pylist() for each in found.columns] == [[1, 2, 3], ["none", "b", "none"]]
    assert list(found.dead) == [1, 3, 4, 5, 6, 7, 8, 9]
    assert list(found.reasons) == [
        "the registry at http://registry has no schema 9",
        "schema 3 is JSON, not AVRO",
        "schema 4 can't be read: a type needs 'type'",
        r"the value does not begin with the id of a schema: b'\x00\x00\x00'",
        "the value does not begin with the id of a schema: b''",
        "the record has no value",
        "written with schema 1: it ends too early",
        r"the value does not begin with the id of a schema: b'\x01\x00\x00\x00\x00\x02'",
    ]


def test_a_schema_is_asked_for_once_also_if_it_does_not_exist() -> None:
    registry = Known({1: answer(FIRST)})
    decoder = RegisteredAvroDecoder.of(FIRST, registry)
    values = pa.array([value(1, FIRST, {"id": 1}), header(9)] * 3, pa.binary())
    for _ in range(3):
        assert len(decoder.decode(values).dead) == 3
    assert registry.asked == [1, 9]


def test_a_registry_that_is_down_makes_no_dead_letters() -> None:
    registry = Known({1: RegistryUnreachable("down")})
    decoder = RegisteredAvroDecoder.of(FIRST, registry)
    values = pa.array([value(1, FIRST, {"id": 1})], pa.binary())
    with pytest.raises(RegistryUnreachable):
        decoder.decode(values)
    registry.schemas[1] = answer(FIRST)
    assert not decoder.decode(values).dead


def test_nothing_and_nulls() -> None:
    decoder = RegisteredAvroDecoder.of(record(["null", "int"]), Known({}))
    assert decoder.decode(pa.array([], pa.binary())).columns[0].to_pylist() == []
    assert decoder.decode(pa.array([None, None], pa.binary())).columns[0].to_pylist() == [None] * 2


def test_ids_are_those_that_values_begin_with() -> None:
    values = [header(1), None, header(2**31) + b"x", b"\0\0", b"", b"\1\0\0\0\1"]
    array = pa.array([b"\0", *values], pa.binary())[1:]
    assert schema_ids(array).tolist() == [1, -1, 2**31, -1, -1, -1]


@pytest.mark.parametrize("schema", ['"string"', "{}", dict])
def test_what_has_no_columns_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidArgument):
        RegisteredAvroDecoder.of(schema, "http://registry")
