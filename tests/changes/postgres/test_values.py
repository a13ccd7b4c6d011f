"""Values: what PostgreSQL writes as text, as Debezium and as Spark have it in JSON."""

import base64
import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.changes.calendar_text import (
    days_of,
    interval_parts,
    interval_text,
    iso_date,
    timestamp_us,
)
from barnabas.changes.postgres.nested_text import array_elements, hstore_pairs
from barnabas.changes.postgres.type_catalog import UNKNOWN, PostgresType, TypeCatalog, TypeRow
from barnabas.changes.postgres.values import PLAIN, Representation, converter

DEBEZIUM = Representation()


def shown(
    name: str, text: str, modifier: int = -1, representation: Representation = DEBEZIUM
) -> object:
    return json.loads(converter(PostgresType(name), modifier, representation)(text))


def numeric(precision: int, scale: int) -> int:
    return (precision << 16 | scale & 0x7FF) + 4


def decimal_of(value: object, scale: int) -> Decimal:
    assert isinstance(value, str)
    number = int.from_bytes(base64.b64decode(value), "big", signed=True)
    return Decimal(f"{number}E{-scale}")


@pytest.mark.parametrize(
    ("name", "modifier", "text", "debezium", "plain"),
    [
        ("bool", -1, "t", True, True),
        ("int8", -1, "-9223372036854775808", -(2**63), -(2**63)),
        ("float8", -1, "1e+300", 1e300, 1e300),
        ("float8", -1, "NaN", "NaN", "NaN"),
        ("float4", -1, "-Infinity", "-Infinity", "-Infinity"),
        ("text", -1, 'a "quoted"\n\\ ü', 'a "quoted"\n\\ ü', 'a "quoted"\n\\ ü'),
        ("numeric", numeric(5, 2), "1.10", "bg==", 1.1),
        ("numeric", numeric(5, 2), "-1.28", "gA==", -1.28),
        ("numeric", -1, "12.345", {"scale": 3, "value": "MDk="}, 12.345),
        ("numeric", numeric(5, -2), "12300", "ew==", 12300),
        ("numeric", -1, "NaN", "NaN", "NaN"),
        ("money", -1, "-$1,234.50", "/h3G", -1234.5),
        ("date", -1, "1970-01-02", 1, "1970-01-02"),
        ("date", -1, "0044-03-15 BC", -735160, "-0043-03-15"),
        ("date", -1, "infinity", 9223372036825200000, "infinity"),
        ("timestamp", -1, "1970-01-01 00:00:01.5", 1_500_000, "1970-01-01T00:00:01.500000"),
        ("timestamp", 3, "1970-01-01 00:00:01.5", 1500, "1970-01-01T00:00:01.500"),
        ("timestamp", -1, "-infinity", -9223372036832400000, "-infinity"),
        (
            "timestamptz",
            -1,
            "2026-01-01 12:00:00+00",
            "2026-01-01T12:00:00.000000Z",
            "2026-01-01T12:00:00.000000Z",
        ),
        (
            "timestamptz",
            0,
            "2026-01-01 00:00:00+05:30",
            "2025-12-31T18:30:00Z",
            "2025-12-31T18:30:00Z",
        ),
        (
            "timestamptz",
            0,
            "10000-01-01 00:00:00+00",
            "+10000-01-01T00:00:00Z",
            "+10000-01-01T00:00:00Z",
        ),
        ("time", -1, "24:00:00", 86_400_000_000, "24:00:00.000000"),
        ("time", 0, "00:00:02", 2000, "00:00:02"),
        ("timetz", 0, "01:00:00+02", "23:00:00Z", "23:00:00Z"),
        ("interval", -1, "P1DT2H", 93_600_000_000, "P0Y0M1DT2H0M0S"),
        ("interval", -1, "PT0S", 0, "P0Y0M0DT0H0M0S"),
        ("bytea", -1, "\\x00ff10", "AP8Q", "AP8Q"),
        ("uuid", -1, "7f3c", "7f3c", "7f3c"),
        ("jsonb", -1, '{"a": 1}', '{"a": 1}', '{"a": 1}'),
        ("bit", 1, "1", True, "1"),
        ("bit", 10, "1100000001", "AQM=", "1100000001"),
        (
            "point",
            -1,
            "(1,2.5)",
            {"x": 1.0, "y": 2.5, "wkb": "AQEAAAAAAAAAAADwPwAAAAAAAARA", "srid": None},
            {"x": 1.0, "y": 2.5, "wkb": "AQEAAAAAAAAAAADwPwAAAAAAAARA", "srid": None},
        ),
        ("hstore", -1, '"a"=>"1", "b\\""=>NULL', '{"a": "1", "b\\"": null}', None),
        ("inet", -1, "10.0.0.1/8", "10.0.0.1/8", "10.0.0.1/8"),
        ("ltree", -1, "a.b", "a.b", "a.b"),
    ],
)
def test_a_value_of_each_type(
    name: str, modifier: int, text: str, debezium: object, plain: object
) -> None:
    assert shown(name, text, modifier) == debezium
    if plain is not None:
        assert shown(name, text, modifier, PLAIN) == plain


def test_the_other_modes() -> None:
    def of(name: str, text: str, modifier: int = -1, **modes: str) -> object:
        return shown(name, text, modifier, Representation(**modes))  # type: ignore[arg-type]

    assert of("numeric", "1.10", decimal="string") == "1.10"
    assert of("numeric", "1.10", decimal="double") == 1.1
    assert of("bytea", "\\xfffe", binary="hex") == "fffe"
    assert of("bytea", "\\xfffe", binary="base64-url-safe") == "__4="
    assert of("interval", "P1Y-2M-3DT-4H5M-6.5S", interval="string") == "P0Y10M-3DT-3H-55M-6.5S"
    assert of("hstore", '"a"=>"1"', hstore="map") == {"a": "1"}
    assert of("timestamp", "1970-01-01 00:00:01", time="connect") == 1000
    assert of("timestamp", "1970-01-01 00:00:01", 0, time="microseconds") == 1_000_000
    assert of("time", "00:00:01", 0, time="adaptive_time_microseconds") == 1_000_000
    assert of("date", "1970-01-02", time="isostring") == "1970-01-02Z"
    assert of("timestamp", "1970-01-01 00:00:01", 0, time="isostring") == "1970-01-01T00:00:01Z"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("int4", "x"),
        ("bool", "true"),
        ("float8", "one"),
        ("date", "01/02/2026"),
        ("timestamp", "2026-01-01"),
        ("time", "noon"),
        ("interval", "1 day"),
        ("bytea", "abc"),
        ("hstore", "a"),
    ],
)
def test_a_text_that_is_no_value_is_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"not|invalid|convert"):
        shown(name, text)


def test_arrays_domains_and_unknown_types() -> None:
    price = PostgresType("price", "domain", PostgresType("numeric"), numeric(5, 2))
    assert converter(price, -1, DEBEZIUM)("1.10") == '"bg=="'
    prices = PostgresType("_price", "array", price)
    assert json.loads(converter(prices, -1, PLAIN)("{1.10,NULL}")) == [1.1, None]
    for kind in ("enum", "range", "composite", "unknown"):
        assert converter(PostgresType("x", kind), -1, DEBEZIUM)("[1,2)") == '"[1,2)"'
    assert converter(UNKNOWN, -1, PLAIN)("x") == '"x"'


def test_the_catalog_looks_up_what_is_not_built_in_once() -> None:
    rows = {
        9001: TypeRow(9001, "price", "d", 0, 1700, numeric(5, 2)),
        9002: TypeRow(9002, "_price", "b", 9001, 0, -1),
        9003: TypeRow(9003, "mood", "e", 0, 0, -1),
    }
    asked: list[int] = []

    def look_up(numbers: object) -> list[TypeRow]:
        (number,) = numbers  # type: ignore[attr-defined]
        asked.append(number)
        return [rows[number]] if number in rows else []

    catalog = TypeCatalog(look_up)
    price = PostgresType("price", "domain", PostgresType("numeric"), numeric(5, 2))
    for _ in range(2):
        assert catalog.find(9002) == PostgresType("_price", "array", price)
        assert catalog.find(9003).kind == "enum"
        assert catalog.find(4711) == UNKNOWN
        assert catalog.find(23).name == "int4"
    assert asked == [9002, 9001, 9003, 4711]
    catalog.forget()
    catalog.find(9003)
    assert asked[-1] == 9003


@given(st.dates())
def test_days_are_pythons(day: date) -> None:
    assert days_of(day.isoformat()) == day.toordinal() - date(1970, 1, 1).toordinal()
    assert iso_date(days_of(day.isoformat())) == day.isoformat()


@given(st.datetimes(timezones=st.just(UTC)))
def test_timestamps_are_pythons(time: datetime) -> None:
    since = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert timestamp_us(time.isoformat(" ")) == since


@given(st.integers(-2_500_000, 110_000_000))
def test_days_before_christ_and_far_ahead_go_both_ways(days: int) -> None:
    text = iso_date(days)
    year, rest = text[:-6], text[-6:]
    written = f"{int(year):04}{rest}" if int(year) > 0 else f"{1 - int(year):04}{rest} BC"
    assert days_of(written) == days


@given(st.integers(-10_000, 10_000), st.integers(-400, 400), st.integers(-(10**12), 10**12))
def test_an_interval_keeps_its_parts(months: int, days: int, clock: int) -> None:
    sign, rest = ("-", -clock) if clock < 0 else ("", clock)
    text = f"P{months}M{days}DT{sign}{rest // 1_000_000}.{rest % 1_000_000:06}S"
    assert interval_parts(text) == (months, days, clock)
    assert interval_parts(interval_text(text)) == (months, days, clock)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_a_decimal_keeps_its_digits(number: Decimal) -> None:
    text = f"{number:f}"
    assert decimal_of(shown("numeric", text, numeric(1000, 4)), 4) == number
    of_any_scale = shown("numeric", text)
    assert isinstance(of_any_scale, dict)
    assert decimal_of(of_any_scale["value"], of_any_scale["scale"]) == number
    assert converter(PostgresType("numeric"), -1, PLAIN)(text) == text


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def array_text(elements: list[object]) -> str:
    def one(each: object) -> str:
        if each is None:
            return "NULL"
        if isinstance(each, list):
            return array_text(each)
        escaped = str(each).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    return f"{{{','.join(map(one, elements))}}}"


@given(st.lists(st.none() | texts) | st.lists(st.lists(st.none() | texts, min_size=1), min_size=1))
def test_an_array_keeps_its_elements(elements: list[object]) -> None:
    assert array_elements(array_text(elements)) == elements
    assert array_elements("[0:3][1:2]=" + array_text(elements)) == elements


@pytest.mark.parametrize("text", ["", "{", "{1", "{1}}", "{1,}", "{,}", "1", '{"a}', "{1}x"])
def test_what_is_no_array_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an array"):
        array_elements(text)


@given(st.dictionaries(texts, st.none() | texts))
def test_an_hstore_keeps_its_pairs(pairs: dict[str, str | None]) -> None:
    def quoted(text: str | None) -> str:
        if text is None:
            return "NULL"
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    text = ", ".join(f"{quoted(key)}=>{quoted(value)}" for key, value in pairs.items())
    assert hstore_pairs(text) == pairs
