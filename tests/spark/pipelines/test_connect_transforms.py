"""Single-record transforms with Connect's settings, on columns."""

import json
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import connect_transforms


def settings(*transforms: dict[str, str], **more: str) -> dict[str, str]:
    """The settings of transforms t0, t1, …; `type` without its package."""
    given = {"transforms": ", ".join(f"t{index}" for index in range(len(transforms)))}
    for index, transform in enumerate(transforms):
        for name, value in transform.items():
            if name == "type":
                value = f"org.apache.kafka.connect.transforms.{value}"
            given[f"transforms.t{index}.{name}"] = value
    return {**given, **more, "connector.class": "ignored"}


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    made = """
        SELECT id, name, amount, named_struct('city', city, 'zip', 7L) AS address, at, ms,
            named_struct('timestamp', at, 'offset', id, 'headers',
                array(named_struct('key', name, 'value', binary('x')))) AS record
        FROM VALUES
            (1L, 'ann', 1.5D, 'Rome', timestamp'2026-01-02T03:04:05Z', 1767323045000L),
            (2L, NULL, 2.5D, 'Oslo', timestamp'2026-12-31T23:30:00Z', 1767323045001L)
            AS t(id, name, amount, city, at, ms)
    """
    return spark.sql(made)


def applied(
    rows: DataFrame, *transforms: dict[str, str], topic: str | None = "orders", **more: str
) -> list[Row]:
    return connect_transforms(settings(*transforms, **more), topic=topic)(rows).collect()


def test_fields_are_chosen_renamed_masked_and_cast(rows: DataFrame) -> None:
    found = applied(
        rows,
        {"type": "ReplaceField$Value", "include": "id,name,amount", "renames": "id:number"},
        {"type": "MaskField$Value", "fields": "name,amount"},
        {"type": "Cast$Value", "spec": "number:string,amount:int32"},
        {"type": "InsertField$Value", "static.field": "from!", "static.value": "shop"},
        {"type": "InsertField$Value", "topic.field": "topic", "offset.field": "place"},
    )
    assert [each.asDict() | {"record": None} for each in found] == [
        {"number": "1", "name": "", "amount": 0, "from": "shop", "topic": "orders", "place": 1}
        | {"record": None},
        {"number": "2", "name": None, "amount": 0, "from": "shop", "topic": "orders", "place": 2}
        | {"record": None},
    ]
    (first, _) = applied(
        rows,
        {"type": "ReplaceField$Value", "exclude": "at,ms,amount,address"},
        {"type": "MaskField$Value", "fields": "id,name", "replacement": "9"},
    )
    assert (first["id"], first["name"]) == (9, "9")


def test_values_are_flattened_extracted_and_hoisted(rows: DataFrame) -> None:
    (first, _) = applied(rows, {"type": "Flatten$Value", "delimiter": "_"})
    assert (first["address_city"], first["address_zip"], first["id"]) == ("Rome", 7, 1)
    (first, _) = applied(rows, {"type": "ExtractField$Value", "field": "address"})
    assert (first["city"], first["zip"]) == ("Rome", 7)
    (first, _) = applied(
        rows,
        {"type": "ExtractField$Value", "field": "name"},
        {"type": "HoistField$Value", "field": "line"},
    )
    assert first["line"] == Row(value="ann")


def test_keys_and_topics_make_records(rows: DataFrame) -> None:
    found = applied(
        rows,
        {"type": "ReplaceField$Value", "include": "id,name"},
        {"type": "ValueToKey", "fields": "id"},
        {"type": "RegexRouter", "regex": "(or)(.*)", "replacement": "$2-$1"},
        {"type": "TimestampRouter", "topic.format": "${topic}.${timestamp}"},
    )
    assert [(bytes(each["key"]), json.loads(each["value"]), each["topic"]) for each in found] == [
        (b'{"id":1}', {"id": 1, "name": "ann"}, "ders-or.20260102"),
        (b'{"id":2}', {"id": 2, "name": None}, "ders-or.20261231"),
    ]
    found = applied(
        rows,
        {"type": "ReplaceField$Value", "include": "id"},
        {"type": "ValueToKey", "fields": "id"},
        {"type": "ExtractField$Key", "field": "id"},
        {"type": "RegexRouter", "regex": "order", "replacement": "x"},
    )
    assert [(bytes(each["key"]), each["topic"]) for each in found] == [
        (b"1", "orders"),
        (b"2", "orders"),
    ]


def test_times_are_converted_in_utc(rows: DataFrame) -> None:
    def converted(field: str, target: str, **more: str) -> list[Any]:
        given = {"type": "TimestampConverter$Value", "field": field, "target.type": target}
        given |= {name.replace("_", "."): value for name, value in more.items()}
        only = {"type": "ReplaceField$Value", "include": field}
        return [each[field] for each in applied(rows, only, given)]

    assert converted("at", "unix") == [1767323045000, 1798759800000]
    assert converted("at", "unix", unix_precision="seconds") == [1767323045, 1798759800]
    assert [str(each) for each in converted("at", "Date")] == ["2026-01-02", "2026-12-31"]
    form = "yyyy-MM-dd HH:mm"
    assert converted("at", "string", format=form) == ["2026-01-02 03:04", "2026-12-31 23:30"]
    assert [round(each.timestamp(), 3) for each in converted("ms", "Timestamp")] == [
        1767323045.0,
        1767323045.001,
    ]
    texts = rows.selectExpr("'2026-01-02 03:04' AS t").limit(1)
    given = {"type": "TimestampConverter$Value", "field": "t", "target.type": "unix"}
    (row,) = applied(texts, given | {"format": form})
    assert row["t"] == 1767323040000


def test_rows_are_filtered_by_predicates(rows: DataFrame) -> None:
    def left(negate: str, **predicate: str) -> list[int]:
        given = {f"predicates.p.{name}": value for name, value in predicate.items()}
        given["predicates.p.type"] = (
            "org.apache.kafka.connect.transforms.predicates." + predicate["type"]
        )
        drop = {"type": "Filter", "predicate": "p", "negate": negate}
        return [each["id"] for each in applied(rows, drop, predicates="p", **given)]

    assert left("false", type="HasHeaderKey", name="ann") == [2]
    assert left("true", type="HasHeaderKey", name="ann") == [1]
    assert left("false", type="TopicNameMatches", pattern="ord.*") == []
    assert left("false", type="TopicNameMatches", pattern="ord") == [1, 2]
    assert left("false", type="RecordIsTombstone") == [1, 2]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (settings({"type": "Drop"}), r"transforms.t0.type: unknown transform '.*Drop'; use Cast"),
        ({"transforms": "x"}, "transforms.x.type is missing"),
        (
            settings({"type": "MaskField$Value", "feilds": "a", "fields": "b"}),
            r"unknown setting transforms.t0.feilds: did you mean transforms.t0.fields\?",
        ),
        (settings({"type": "MaskField$Value"}), "transforms.t0.fields: name fields"),
        (settings({"type": "Cast$Value", "spec": "a:int"}), "t0.spec: a: unknown type 'int'"),
        (settings({"type": "Cast$Value", "spec": "a"}), "t0.spec: write 'a' as a:b"),
        (
            settings({"type": "RegexRouter", "regex": "("}),
            "t0.regex: '.' is not a regular expression",
        ),
        (settings({"type": "RegexRouter", "regex": "a"}), "t0.replacement is missing"),
        (settings({"type": "Filter"}), "t0.predicate: Filter without a predicate"),
        (settings({"type": "Filter", "predicate": "p"}), "unknown predicate 'p'; predicates lists"),
        (
            settings(
                {"type": "Filter", "predicate": "p"}, predicates="p", **{"predicates.p.type": "X"}
            ),
            "predicates.p.type: unknown predicate 'X'; use TopicNameMatches",
        ),
        (
            settings(
                {"type": "ValueToKey", "fields": "a", "predicate": "p"},
                predicates="p",
                **{"predicates.p.type": "RecordIsTombstone"},
            ),
            "t0.predicate: ValueToKey applies to all rows",
        ),
        (
            settings({"type": "HoistField$Value", "field": "a"}, **{"transforms.x.field": "a"}),
            "transforms.x.field: name it in transforms",
        ),
        (
            settings({"type": "HoistField$Value", "field": "a"}, **{"predicates.p.type": "X"}),
            "predicates.p.type: name it in predicates",
        ),
        (
            settings(
                {"type": "HoistField$Value", "field": "a"},
                predicates="p",
                **{"predicates.p.type": "RecordIsTombstone"},
            ),
            "predicates.p: no transform uses it",
        ),
        (
            settings({"type": "HoistField$Value", "field": "a", "negate": "true"}),
            "t0.negate: it negates a predicate",
        ),
        (
            settings({"type": "TimestampConverter$Value", "field": "a", "target.type": "string"}),
            "t0.format: a string needs a format",
        ),
    ],
)
def test_what_is_unknown_is_refused_by_name(given: dict[str, str], complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        connect_transforms(given)


def test_fields_that_are_not_there_are_named(rows: DataFrame) -> None:
    for transform, complaint in (
        ({"type": "MaskField$Value", "fields": "x"}, "transforms.t0: no field 'x'; the value has"),
        ({"type": "ExtractField$Key", "field": "x"}, "transforms.t0.field: the key has no field"),
        ({"type": "ReplaceField$Value", "include": "x"}, "ReplaceField leaves no field"),
        ({"type": "InsertField$Value", "partition.field": "p"}, "not have the partition of"),
        ({"type": "MaskField$Value", "fields": "address"}, "can't mask address, a struct"),
    ):
        with pytest.raises(InvalidArgument, match=complaint):
            applied(rows, transform)
    with pytest.raises(InvalidArgument, match="rows of several topics"):
        applied(rows, {"type": "RegexRouter", "regex": "a", "replacement": "b"}, topic=None)
