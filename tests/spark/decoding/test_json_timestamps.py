"""Timestamps in JSON: numbers are seconds, as in Spark, and text has a zone or gets the session's.

`test_from_json` compares with a real Spark, and is not part of the quick tier.
"""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql.types import StructField, StructType, TimestampType

from barnabas.spark.decoding import json_kernel
from barnabas.spark.decoding.decoding import Decoding
from barnabas.spark.decoding.json_decoder import JsonDecoder

SCHEMA = StructType([StructField("at", TimestampType())])
NOON = datetime(2023, 11, 14, 12, tzinfo=UTC)


@pytest.fixture(params=["kernel", "python"])
def decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> JsonDecoder:
    """By the kernel, if it is compiled, and without it."""
    if request.param == "python":
        monkeypatch.setattr(json_kernel, "kernel", None)
    return JsonDecoder(Decoding("json", SCHEMA, time_zone="Europe/Paris"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"1699963200", NOON),
        (b"0", datetime(1970, 1, 1, tzinfo=UTC)),
        (b"-1", datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
        (b'"2023-11-14T12:00:00Z"', NOON),
        (b'"2023-11-14T13:00:00+01:00"', NOON),
        (b'"2023-11-14T13:00:00"', NOON),
        (b"null", None),
    ],
)
def test_what_a_timestamp_means(
    decoder: JsonDecoder, value: bytes, expected: datetime | None
) -> None:
    found = decoder.decode(pa.array([b'{"at": %b}' % value], pa.binary()))
    assert not found.dead
    assert found.columns[0].to_pylist() == [expected]
