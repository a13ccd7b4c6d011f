"""Protobuf values as columns."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, timestamp_pb2
from pyspark.sql import DataFrame, SparkSession

from barnabas.errors import InvalidArgument
from barnabas.spark.decoding.decoders import decoder_of
from barnabas.spark.decoding.decoding import Decoding
from barnabas.spark.pipelines import from_topic, pipeline, to_memory
from barnabas.spark.pipelines.formats.values import value_format
from barnabas.spark.pipelines.sources.record_schema import resolved_schema
from barnabas.spark.testing import running

Field = descriptor_pb2.FieldDescriptorProto
AT = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)
ROW = {"id": 7, "size": 1 << 63, "kind": "LARGE", "tags": ["a", "b"], "prices": {"eur": 1.5}}
ROW |= {"at": AT, "place": {"x": 3}, "note": "hi"}


def field(
    name: str, number: int, of_type: int, **other: object
) -> descriptor_pb2.FieldDescriptorProto:
    return Field(name=name, number=number, type=of_type, **{"label": Field.LABEL_OPTIONAL, **other})


@pytest.fixture
def schema(tmp_path: Path) -> str:
    """What protoc writes for shop.Order, which holds all kinds of fields."""
    entry = descriptor_pb2.DescriptorProto(
        name="PricesEntry",
        field=[field("key", 1, Field.TYPE_STRING), field("value", 2, Field.TYPE_DOUBLE)],
        options=descriptor_pb2.MessageOptions(map_entry=True),
    )
    order = descriptor_pb2.DescriptorProto(
        name="Order",
        nested_type=[entry],
        oneof_decl=[descriptor_pb2.OneofDescriptorProto(name="_note")],
        field=[
            field("id", 1, Field.TYPE_INT64),
            field("size", 2, Field.TYPE_UINT64),
            field("kind", 3, Field.TYPE_ENUM, type_name=".shop.Kind"),
            field("tags", 4, Field.TYPE_STRING, label=Field.LABEL_REPEATED),
            field(
                "prices", 5, Field.TYPE_MESSAGE, type_name=".shop.Order.PricesEntry",
                label=Field.LABEL_REPEATED,
            ),
            field("at", 6, Field.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp"),
            field("place", 7, Field.TYPE_MESSAGE, type_name=".shop.Place"),
            field("note", 8, Field.TYPE_STRING, proto3_optional=True, oneof_index=0),
        ],
    )  # fmt: skip
    place = descriptor_pb2.DescriptorProto(name="Place", field=[field("x", 1, Field.TYPE_INT32)])
    tree = descriptor_pb2.DescriptorProto(
        name="Tree", field=[field("child", 1, Field.TYPE_MESSAGE, type_name=".shop.Tree")]
    )
    kinds = [
        descriptor_pb2.EnumValueDescriptorProto(name=name, number=number)
        for number, name in enumerate(("SMALL", "LARGE"))
    ]
    shop = descriptor_pb2.FileDescriptorProto(
        name="shop.proto",
        package="shop",
        syntax="proto3",
        dependency=["google/protobuf/timestamp.proto"],
        message_type=[order, place, tree],
        enum_type=[descriptor_pb2.EnumDescriptorProto(name="Kind", value=kinds)],
    )
    files = descriptor_pb2.FileDescriptorSet()
    timestamp_pb2.DESCRIPTOR.CopyToProto(files.file.add())
    files.file.add().CopyFrom(shop)
    (tmp_path / "shop.desc").write_bytes(files.SerializeToString())
    return f"{tmp_path}/shop.desc:shop.Order"


def test_all_kinds_of_fields_become_columns(schema: str) -> None:
    values = value_format("protobuf", schema)
    assert values.fields.simpleString() == (
        "struct<id:bigint,size:decimal(20,0),kind:string,tags:array<string>,"
        "prices:map<string,double>,at:timestamp,place:struct<x:int>,note:string>"
    )
    decoder = decoder_of(Decoding.from_json(values.decoding("UTC").as_json()))
    found = decoder.decode(pa.array([values.encode(ROW), b"", None, b"\xff"], pa.binary()))
    rows = [dict(zip(values.fields.names, row, strict=True)) for row in zip(
        *(column.to_pylist() for column in found.columns), strict=True
    )]  # fmt: skip
    full, empty, nothing = rows
    assert full == ROW | {"size": Decimal(1 << 63), "prices": [("eur", 1.5)]}
    assert empty["id"] == 0
    assert empty["kind"] == "SMALL"
    assert (empty["at"], empty["place"], empty["note"]) == (None, None, None)
    assert set(nothing.values()) == {None}
    assert list(found.dead) == [3]
    assert found.reasons[0].startswith("the value does not fit the schema: ")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda path: path.replace("Order", "Odrer"), "no message 'shop.Odrer' among .*shop.Order"),
        (lambda path: path.replace("Order", "Tree"), "shop.Tree contains itself"),
        (lambda path: path.replace(".desc", ".none"), "can't be read"),
        (lambda _: "shop.desc", "PATH:MESSAGE"),
        (lambda _: f"{__file__}:shop.Order", "not a descriptor file"),
    ],
)
def test_wrong_schemas_are_refused(schema: str, change: object, complaint: str) -> None:
    assert callable(change)
    with pytest.raises(InvalidArgument, match=complaint):
        value_format("protobuf", change(schema))


def test_the_path_is_relative_to_the_pipeline() -> None:
    found = resolved_schema("protobuf", "shop.desc:shop.Order", Path("/pipelines"))
    assert found == "/pipelines/shop.desc:shop.Order"


def test_values_are_decoded_by_workers_of_spark(spark: SparkSession, schema: str) -> None:
    """With the types that Spark gives them, and what can't be decoded among the dead letters."""
    source = from_topic("orders", schema, format="protobuf", dead_letters="bad", record=())

    @pipeline(sources={"orders": source}, sink=to_memory())
    def orders(orders: DataFrame) -> DataFrame:
        return orders.selectExpr(
            "id", "size + 1 AS size", "kind", "get(tags, 1) AS tag", "prices['eur'] AS eur", "at",
            "place.x AS x", "note",
        )  # fmt: skip

    with running(orders, spark=spark) as run:
        run.feed("orders", ROW, b"\xff", b"")
        full, empty = run.rows()
        assert full == {
            "id": 7,
            "size": Decimal((1 << 63) + 1),
            "kind": "LARGE",
            "tag": "b",
            "eur": 1.5,
            "at": AT,
            "x": 3,
            "note": "hi",
        }
        assert (empty["id"], empty["kind"], empty["at"], empty["x"]) == (0, "SMALL", None, None)
        (letter,) = run.dead_letters()
        assert b"does not fit the schema" in letter["headers"]["dead-letter.reason"]
