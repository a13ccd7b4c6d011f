"""A reader leaves out exactly the rows that Spark would, NULL and negative numbers included."""

from itertools import product

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from barnabas.spark.source.row_condition import (
    Comparison,
    Condition,
    condition_of,
    without_unwanted,
)

SCHEMA = "kind STRING, flag BOOLEAN, small INT, bid STRUCT<price: BIGINT>"
BIDS = (None, {"price": None}, *({"price": each} for each in (-7, -1, 0, 3, 7, 2**62)))
ROWS = [
    {"kind": kind, "flag": flag, "small": small, "bid": bid}
    for kind, flag, small, bid in product(
        (None, "", "a", "ä", "b"), (None, True, False), (None, -1, 0, 1), BIDS
    )
]
PRICE = ("bid", "price")
CONDITIONS: list[tuple[str, Condition]] = [
    ("kind = 'ä'", ((Comparison("=", ("kind",), ("ä",)),),)),
    ("kind IN ('a', '')", ((Comparison("in", ("kind",), ("a", "")),),)),
    ("flag = true", ((Comparison("=", ("flag",), (True,)),),)),
    ("small >= 0", ((Comparison(">=", ("small",), (0,)),),)),
    ("bid.price < 0", ((Comparison("<", PRICE, (0,)),),)),
    ("bid.price <= 3", ((Comparison("<=", PRICE, (3,)),),)),
    ("bid.price > 3", ((Comparison(">", PRICE, (3,)),),)),
    ("bid.price % 7 = 0", ((Comparison("=", PRICE, (0,), 7),),)),
    ("bid.price % 3 = -1", ((Comparison("=", PRICE, (-1,), 3),),)),
    (
        "bid IS NOT NULL AND flag = false",
        ((Comparison("is not null", ("bid",)), Comparison("=", ("flag",), (False,))),),
    ),
    (
        "bid.price IS NOT NULL AND small = 1",
        ((Comparison("is not null", PRICE), Comparison("=", ("small",), (1,))),),
    ),
    (
        "kind = 'a' AND small > 0 OR bid.price = 7",
        (
            (Comparison("=", ("kind",), ("a",)), Comparison(">", ("small",), (0,))),
            (Comparison("=", PRICE, (7,)),),
        ),
    ),
]


@pytest.fixture(scope="module")
def rows() -> pa.RecordBatch:
    types = [
        ("kind", pa.string()),
        ("flag", pa.bool_()),
        ("small", pa.int32()),
        ("bid", pa.struct([("price", pa.int64())])),
    ]
    return pa.RecordBatch.from_pylist(ROWS, schema=pa.schema(types))


@pytest.mark.parametrize(("text", "condition"), CONDITIONS)
def test_the_same_rows_are_kept(
    spark: SparkSession, rows: pa.RecordBatch, text: str, condition: Condition
) -> None:
    found = without_unwanted(rows, condition).to_pylist()
    frame = spark.createDataFrame([tuple(each.values()) for each in ROWS], SCHEMA)
    assert found == [each.asDict(recursive=True) for each in frame.where(text).collect()]
    assert 0 < len(found) < len(ROWS)


def test_nothing_is_left_out_if_nearly_all_is_kept(rows: pa.RecordBatch) -> None:
    kept = without_unwanted(rows, ((Comparison(">=", ("small",), (-1,)),),))
    assert kept.num_rows == 3 * len(ROWS) // 4
    without_null = rows.filter(rows.column("small").is_valid())
    nearly_all = ((Comparison("is not null", ("bid",)),),)
    assert without_unwanted(without_null, nearly_all).num_rows == without_null.num_rows


def test_the_order_of_comparisons_does_not_matter() -> None:
    one, other = Comparison("=", ("kind",), ("a",)), Comparison(">", ("small",), (1,))
    implied = Comparison("is not null", ("small",))
    assert condition_of([[one, other, implied], [one]]) == condition_of([[one], [other, one]])
