"""Which values are rows and which are not, and what is said of those."""

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from barnabas.spark.pipelines.formats.json_values import JsonValues
from barnabas.spark.pipelines.formats.record_decoder import decoded, undecodable

VALUES = JsonValues(
    "id INT NOT NULL, price DECIMAL(4,1), at TIMESTAMP, place STRUCT<x: INT>, name STRING, "
    "size DOUBLE"
)
NO_OBJECT = "the value is not a JSON object: "
GOES_ON = "there is more after the JSON object: "

ROWS = {
    b' \n{"id": 1}\t\r\n ': 1,
    b'{"id": 1, "id": 2}': 2,
    b'{"id": 3, "place": {"x": 4}} \n': 3,
    b'{"id": 4, "name": "}{"}': 4,
    b'{"id": 5, "other": [{"a": {}}, {}]}': 5,
    b"{'id': 6, \"size\": NaN}": 6,
    b'{"id": 7, "name": "\xc3\xa4}"}\n': 7,
    b'{"id": 8, "at": null, "price": 1.5}': 8,
}
REASONS = {
    b'{"id": 105}{"id": 106}': GOES_ON + '{"id": 105}{"id": 106}',
    b'{"id": 1} x': GOES_ON + '{"id": 1} x',
    b'{"id": 1}}': GOES_ON + '{"id": 1}}',
    b'{"id": 1}]': GOES_ON + '{"id": 1}]',
    b'{"id": 1},{"id": 2}]': GOES_ON + '{"id": 1},{"id": 2}]',
    b'{"id": 1, "place": {"x": 1}} {}': GOES_ON + '{"id": 1, "place": {"x": 1}} {}',
    b'[{"id": 1}]': NO_OBJECT + '[{"id": 1}]',
    b'{"id": 1': NO_OBJECT + '{"id": 1',
    b"null": NO_OBJECT + "null",
    b"": "the value is empty",
    b" \n": "the value is empty",
    b'{"id": 1, "name": "\xff"}': "the value is not UTF-8",
    None: "the record has no value",
    b"{}": "id is missing",
    b'{"id": 1, "at": "yesterday"}': "at is not TIMESTAMP: yesterday",
    b'{"id": 1, "price": 12345.6}': "price is not DECIMAL(4,1): 12345.6",
    b'{"id": "x", "place": {"x": "a"}}': 'id is not INT: x; place is not STRUCT<X:INT>: {"x":"a"}',
}


@pytest.fixture(scope="module")
def both(spark: SparkSession) -> dict[bytes | None, tuple[list[Row], list[str]]]:
    """The rows and the reasons that there are of each value."""
    given = [*ROWS, *REASONS]
    records = spark.createDataFrame(list(enumerate(given)), "n INT, value BINARY")
    rows = decoded(records, VALUES, [F.col("n")], skip=True).collect()
    bad = undecodable(records, VALUES).collect()
    return {
        value: (
            [each for each in rows if each.n == n],
            [each.reason for each in bad if each.n == n],
        )
        for n, value in enumerate(given)
    }


def test_an_object_alone_is_a_row(both: dict[bytes | None, tuple[list[Row], list[str]]]) -> None:
    assert {value: [each.id for each in both[value][0]] for value in ROWS} == {
        value: [number] for value, number in ROWS.items()
    }


def test_each_value_is_a_row_or_a_dead_letter(
    both: dict[bytes | None, tuple[list[Row], list[str]]],
) -> None:
    assert {value: len(rows) + len(reasons) for value, (rows, reasons) in both.items()} == (
        dict.fromkeys(both, 1)
    )


def test_what_is_wrong_is_said(both: dict[bytes | None, tuple[list[Row], list[str]]]) -> None:
    assert {value: both[value][1] for value in REASONS} == {
        value: [reason] for value, reason in REASONS.items()
    }


def test_an_error_says_it_too(spark: SparkSession) -> None:
    value = b'{"id": 1, "at": "yesterday"}'
    place = [F.lit("t").alias("topic"), F.lit(2).alias("partition"), F.lit(7).alias("offset")]
    records = spark.createDataFrame([(value,)], "value BINARY").select("*", *place)
    with pytest.raises(PySparkException, match="the record t:2@7 can't be decoded: at is not TIME"):
        decoded(records, VALUES, [], skip=False).collect()
