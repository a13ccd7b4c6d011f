"""Columns to Avro: what fastavro reads back, and what can't be written."""

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest

from barnabas.errors import ValidationFailed
from barnabas.formats.arrow.avro_decoder import AvroDecoder
from barnabas.formats.arrow.avro_encoder import avro_encoder
from barnabas.formats.arrow.avro_schema import avro_schema_of
from tests.formats.arrow.decoding import parsed, record, written
from tests.formats.arrow.random_avro import RandomAvro


def encoded(rows: pa.StructArray, schema: Any) -> list[bytes]:
    return avro_encoder(rows.type, parsed(schema))(rows)


@pytest.mark.parametrize("seed", range(60))
def test_what_was_decoded_is_encoded_again(seed: int) -> None:
    made = RandomAvro(seed)
    schema = made.record()
    values = [written(schema, made.value(schema)) for _ in range(20)]
    decoder = AvroDecoder(parsed(schema))
    numbers = np.full(len(values), decoder.add(parsed(schema)), np.int32)
    columns = decoder.decode(pa.array(values, pa.binary()), numbers).columns
    names = [each["name"] for each in schema["fields"]]
    rows = pa.StructArray.from_arrays(columns, names)
    again = encoded(rows, schema)
    assert again == values
    assert encoded(rows[3:17], schema) == values[3:17]


ROWS = pa.array(
    [
        {
            "n": 1, "t": "é", "at": datetime(2026, 1, 2, 3, 4, 5, 6, UTC), "day": date(2026, 1, 2),
            "price": Decimal("9.90"), "tags": ["a", None], "by": [("x", 1.5), ("y", None)],
            "place": {"x": 1},
        },
        {"n": None, "t": None, "at": None, "day": None, "price": None, "tags": None, "by": None,
         "place": None},
    ],
    pa.struct(
        {
            "n": pa.int16(), "t": pa.string(), "at": pa.timestamp("us", "UTC"), "day": pa.date32(),
            "price": pa.decimal128(10, 2), "tags": pa.list_(pa.string()),
            "by": pa.map_(pa.string(), pa.float64()), "place": pa.struct({"x": pa.int64()}),
        }
    ),
)  # fmt: skip


def test_the_schema_of_columns_takes_their_rows() -> None:
    schema = avro_schema_of(ROWS.type, "shop.orders-2")
    assert schema["name"] == "shop_orders_2"
    read = [
        fastavro.schemaless_reader(io.BytesIO(each), fastavro.parse_schema(schema), None)
        for each in encoded(ROWS, json.loads(json.dumps(schema)))
    ]
    first = {**ROWS[0].as_py(), "by": {"x": 1.5, "y": None}}
    assert read == [first, dict.fromkeys(first)]


def columns(**types: pa.DataType) -> pa.StructType:
    return pa.struct(types)


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}


@pytest.mark.parametrize(
    ("kind", "field", "problem"),
    [
        (pa.int64(), "int", "f0: a column of type int64 can't be written as int"),
        (pa.string(), ["null", "long"], "f0: a column of type string can't be written as long"),
        (pa.float64(), "float", "can't be written as float"),
        (pa.decimal128(6, 3), DECIMAL, "can't be written as bytes"),
        (pa.timestamp("us"), {"type": "long", "logicalType": "timestamp-micros"}, "can't"),
        (
            pa.list_(pa.int64()),
            {"type": "array", "items": "int"},
            r"f0\[\]: a column of type int64",
        ),
        (pa.struct({"x": pa.int8()}), record({"name": "y", "type": "int"}, name="P"), "f0.x: is a"),
    ],
)
def test_columns_that_do_not_fit_are_refused_without_rows(
    kind: pa.DataType, field: Any, problem: str
) -> None:
    with pytest.raises(ValidationFailed, match=problem):
        avro_encoder(columns(f0=kind), parsed(record(field)))


def test_missing_and_unknown_fields() -> None:
    schema = record("int", {"name": "b", "type": "string", "default": "x"})
    rows = pa.array([{"f0": 1}], columns(f0=pa.int32()))
    assert encoded(rows, schema) == [b"\2\2x"]
    with pytest.raises(ValidationFailed, match="f0: is no column, and has no default"):
        avro_encoder(columns(b=pa.string()), parsed(schema))
    with pytest.raises(ValidationFailed, match="c: is a column, and R has no such field"):
        avro_encoder(columns(f0=pa.int32(), c=pa.string()), parsed(schema))


@pytest.mark.parametrize(
    ("kind", "field", "value", "problem"),
    [
        (pa.int32(), "int", None, "f0: is NULL, and int can't be"),
        (pa.int32(), ["int", "string"], None, "f0: is NULL, and none of its types is null"),
        (
            pa.string(),
            {"type": "enum", "name": "E", "symbols": ["A"]},
            "B",
            "f0: 'B' is no symbol of E",
        ),
        (pa.binary(), {"type": "fixed", "name": "F", "size": 2}, b"a", "f0: has 1 bytes, and F 2"),
    ],
)
def test_values_that_do_not_fit_are_named(
    kind: pa.DataType, field: Any, value: Any, problem: str
) -> None:
    with pytest.raises(ValidationFailed, match=problem):
        encoded(pa.array([{"f0": value}], columns(f0=kind)), record(field))
