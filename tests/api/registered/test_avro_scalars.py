"""Values of Avro are written as they are, or refused: never rounded, cut or unreadable."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from io import BytesIO
from typing import Any

import fastavro
import pytest

from barnabas.errors import ValidationFailed
from barnabas.formats.registered.avro_checks import AvroChecks

LARGEST = "123456789012345678901234567890123456.78"


def logical(kind: str, of: str, **more: Any) -> Any:
    return {"type": kind, "logicalType": of, **more}


DECIMAL = logical("bytes", "decimal", precision=38, scale=2)
FIXED = logical("fixed", "decimal", precision=38, scale=2, name="F", size=16)
DATE = logical("int", "date")
TIME_MS = logical("int", "time-millis")
TIME_US = logical("long", "time-micros")
AT_MS = logical("long", "timestamp-millis")
AT_US = logical("long", "timestamp-micros")
LOCAL_MS = logical("long", "local-timestamp-millis")
LOCAL_US = logical("long", "local-timestamp-micros")
FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)


def written_and_read(schema: Any, value: Any) -> Any:
    named: dict[str, Any] = {}
    parsed = fastavro.parse_schema(schema, named)
    buffer = BytesIO()
    fastavro.schemaless_writer(buffer, parsed, AvroChecks(named).of(parsed)(value))
    buffer.seek(0)
    return fastavro.schemaless_reader(buffer, parsed, None)


@pytest.mark.parametrize("schema", [DECIMAL, FIXED], ids=["bytes", "fixed"])
@pytest.mark.parametrize(
    "text",
    [
        *(LARGEST, f"-{LARGEST}"),
        *("12345678901234567890123456789012.500", "99999999999999999999999999999.9900"),
        *("0.000", "-0.000", "0E+999999", "1.500", "-1.28", "12E+3", "7"),
    ],
)
def test_decimals_are_not_rounded(schema: Any, text: str) -> None:
    found = written_and_read(schema, Decimal(text))
    assert found == Decimal(text)
    assert found.as_tuple().exponent == -2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1234567890123456789012345678901.005", "more than 2 decimal places"),
        ("1E-999999", "more than 2 decimal places"),
        (f"1{LARGEST}", "more than 38 digits"),
        ("1E+37", "more than 38 digits"),
        ("1E+999999", "more than 38 digits"),
        ("NaN", "expected a Decimal"),
    ],
)
def test_decimals_that_do_not_fit_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ValidationFailed, match=problem):
        written_and_read(DECIMAL, Decimal(text))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        *((DATE, date.min), (DATE, date.max)),
        *((TIME_MS, time(23, 59, 59, 999_000)), (TIME_US, time.max)),
        *((AT_MS, datetime(2026, 1, 1, 0, 0, 0, 123_000, UTC)), (AT_US, LAST)),
        *((LOCAL_MS, FIRST.replace(tzinfo=None)), (LOCAL_US, LAST.replace(tzinfo=None))),
    ],
)
def test_times_come_out_as_they_went_in(schema: Any, value: Any) -> None:
    assert written_and_read(schema, value) == value


@pytest.mark.parametrize(
    ("schema", "low", "high"),
    [
        (DATE, date.min.toordinal() - 719_163, date.max.toordinal() - 719_163),
        (TIME_MS, 0, 86_399_999),
        (TIME_US, 0, 86_399_999_999),
        *((each, -62_135_596_800_000, 253_402_300_799_999) for each in (AT_MS, LOCAL_MS)),
        *((each, -62_135_596_800_000_000, 253_402_300_799_999_999) for each in (AT_US, LOCAL_US)),
    ],
)
def test_numbers_that_no_reader_understands_are_refused(schema: Any, low: int, high: int) -> None:
    for each in (low, high):
        found = written_and_read(schema, each)  # it can be read
        assert written_and_read(schema, found) == found
    for each in (low - 1, high + 1, 1 << 70):
        with pytest.raises(ValidationFailed, match="is out of range"):
            written_and_read(schema, each)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (AT_MS, datetime(2026, 1, 1, 0, 0, 0, 123_999, UTC)),
        (LOCAL_MS, FIRST.replace(microsecond=1, tzinfo=None)),
        (TIME_MS, time(1, 2, 3, 4)),
    ],
)
def test_microseconds_are_not_cut_off(schema: Any, value: Any) -> None:
    with pytest.raises(ValidationFailed, match="the schema has only milliseconds"):
        written_and_read(schema, value)


def test_times_keep_their_zones_or_are_refused() -> None:
    east = timezone(timedelta(hours=2))
    at = datetime(2026, 1, 1, 1, tzinfo=east)
    assert written_and_read(AT_US, at) == at
    with pytest.raises(ValidationFailed, match="is out of range"):
        written_and_read(AT_US, datetime.min.replace(tzinfo=east))  # in UTC, the year 0
    with pytest.raises(ValidationFailed, match="a time of day without a time zone"):
        written_and_read(TIME_US, time(1, tzinfo=UTC))
    with pytest.raises(ValidationFailed, match="a datetime without a time zone"):
        written_and_read(LOCAL_US, at)
    with pytest.raises(ValidationFailed, match="a datetime with a time zone"):
        written_and_read(AT_US, at.replace(tzinfo=None))


@pytest.mark.parametrize("union", [["null", "double", "float"], ["float", "double", "string"]])
def test_a_number_takes_the_branch_that_does_not_round_it(union: Any) -> None:
    assert written_and_read(union, 0.1) == 0.1
