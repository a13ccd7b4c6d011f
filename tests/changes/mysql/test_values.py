"""Values of all common types: the same from a snapshot as from the log, as Debezium writes them."""

import json
import struct
from base64 import b64encode
from typing import Any

import pytest

from barnabas.changes.events import Change
from barnabas.changes.mysql.changes import MySqlChanges
from barnabas.changes.mysql.column_type import ColumnType
from barnabas.changes.mysql.json_document import json_text
from barnabas.changes.mysql.settings import mysql_settings
from barnabas.changes.mysql.values import PLAIN, Representation, converter, time_us
from tests.changes.mysql.conftest import Execute, Read, Settings

ISO = Representation(time="isostring")
MICROSECONDS = Representation(time="microseconds")


def b64(data: bytes) -> str:
    return b64encode(data).decode()


POINT = {"x": 1.5, "y": -2.0, "wkb": "AQEAAAAAAAAAAAD4PwAAAAAAAADA", "srid": None}
COLUMNS: list[tuple[str, str, Any]] = [
    # Type, value in SQL, and JSON
    ("tinyint", "-128", -128),
    ("tinyint unsigned", "255", 255),
    ("tinyint(1)", "true", 1),
    ("smallint", "-32768", -32768),
    ("smallint unsigned", "65535", 65535),
    ("mediumint", "-8388608", -8388608),
    ("mediumint unsigned", "16777215", 16777215),
    ("int", "-2147483648", -(2**31)),
    ("int unsigned", "4294967295", 2**32 - 1),
    ("bigint", "-9223372036854775808", -(2**63)),
    ("bigint unsigned", "9223372036854775807", 2**63 - 1),
    ("year", "2026", 2026),
    ("float", "0.1", 0.1),
    ("float", "3.4e38", 3.4e38),
    ("double", "-1.7976931348623157e308", -1.7976931348623157e308),
    ("decimal(10, 2)", "-1234.5", b64((-123450).to_bytes(3, "big", signed=True))),
    ("decimal(10, 2)", "0", "AA=="),
    ("decimal(65, 30)", "123456789012.5", b64((1234567890125 * 10**29).to_bytes(18, "big"))),
    ("decimal(9)", "999999999", b64((999999999).to_bytes(4, "big"))),
    ("bit(1)", "b'1'", True),
    ("bit(12)", "b'100000000011'", b64(b"\x03\x08")),
    ("char(10)", "'häl  '", "häl"),
    ("char(200) character set utf8mb4", "'☃🎉'", "☃🎉"),
    ("varchar(50) character set latin1", "'häl€'", "häl€"),
    ("varchar(50) character set cp1251", "'привет'", "привет"),
    ("varchar(300)", "'quote \" and \\\\ and\\nline'", 'quote " and \\ and\nline'),
    ("text character set ucs2", "'wide ü'", "wide ü"),
    ("longtext", "repeat('x', 70000)", "x" * 70000),
    ("binary(6)", "x'ff00'", b64(b"\xff\0\0\0\0\0")),
    ("varbinary(300)", "x'00ff00'", b64(b"\0\xff\0")),
    ("tinyblob", "x'80'", b64(b"\x80")),
    ("longblob", "repeat(x'ff', 300)", b64(b"\xff" * 300)),
    ("enum('a', 'it''s', 'ü')", "'it''s'", "it's"),
    ("enum('x', 'y')", "'y'", "y"),
    ("set('a', 'b', 'c')", "'a,c'", "a,c"),
    ("set('a', 'b', 'c')", "''", ""),
    ("json", "'{\"a\": [1, null, \"ü\"]}'", '{"a": [1, null, "ü"]}'),
    ("date", "'2026-01-31'", 20484),
    ("date", "'1000-01-01'", -354285),
    ("date", "'0000-00-00'", None),
    ("date not null", "'0000-00-00'", 0),
    ("date", "'2026-00-00'", None),
    ("time", "'-838:59:59'", -3020399000000),
    ("time(3)", "'-00:00:00.5'", -500000),
    ("time(6)", "'12:34:56.789012'", 45296789012),
    ("datetime", "'2026-01-31 12:34:56'", 1769862896000),
    ("datetime(3)", "'1969-12-31 23:59:59.999'", -1),
    ("datetime(5)", "'2026-01-31 12:34:56.78901'", 1769862896789010),
    ("datetime(6)", "'9999-12-31 23:59:59.999999'", 253402300799999999),
    ("datetime not null", "'0000-00-00 00:00:00'", 0),
    ("timestamp null", "'2026-01-31 12:34:56'", "2026-01-31T03:34:56Z"),
    ("timestamp(6) null", "'2026-01-31 12:34:56.789'", "2026-01-31T03:34:56.789Z"),
    ("timestamp(2) null", "'2026-01-31 12:34:56.5'", "2026-01-31T03:34:56.500Z"),
    ("timestamp not null", "'0000-00-00 00:00:00'", "1970-01-01T00:00:00Z"),
    ("point", "point(1.5, -2)", POINT),
    ("int", "NULL", None),
    ("inet6", "'2001:db8::ff00:42:8329'", "2001:db8::ff00:42:8329"),
    ("inet4", "'10.0.0.0'", "10.0.0.0"),
    ("inet6", "'::ffff:10.0.0.1'", "::ffff:10.0.0.1"),
    ("uuid", "'550e8400-e29b-41d4-a716-446655440000'", "550e8400-e29b-41d4-a716-446655440000"),
    ("uuid", "'0196e9f8-3c4d-7abc-8a2b-0242ac120000'", "0196e9f8-3c4d-7abc-8a2b-0242ac120000"),
    ("uuid", "'0196e9f8-3c4d-11ef-8a2b-0242ac120002'", "0196e9f8-3c4d-11ef-8a2b-0242ac120002"),
    ("int as (3 + 4) persistent", "DEFAULT", 7),
    ("int as (3 + 5) virtual", "DEFAULT", 8),
]  # fmt: skip


@pytest.mark.parametrize("metadata", ["FULL", "MINIMAL", "NO_LOG"])
def test_all_types(metadata: str, run: Execute, settings: Settings) -> None:
    """Those of a server in a time zone of nine hours."""
    run(f"SET GLOBAL binlog_row_metadata = {metadata}")
    try:
        found = snapshot_and_change(run, settings())
    finally:
        run("SET GLOBAL binlog_row_metadata = FULL")
    expected = {f"c{n}": value for n, (_, _, value) in enumerate(COLUMNS)}
    for name, row in zip(("snapshot", "log"), found, strict=True):
        del row["id"]
        for column, value in expected.items():
            of = COLUMNS[int(column[1:])]
            assert row[column] == value, f"{column} {of[:2]} from the {name}"
        assert row == expected


def snapshot_and_change(run: Execute, given: dict[str, str]) -> list[dict[str, Any]]:
    columns = ", ".join(f"c{n} {of}" for n, (of, _, _) in enumerate(COLUMNS))
    values = ", ".join(value for _, value, _ in COLUMNS)
    run(
        f"CREATE TABLE t (id int PRIMARY KEY, {columns})",
        f"/* old dates */ SET STATEMENT sql_mode = '' FOR INSERT INTO t VALUES (1, {values})",
    )
    with MySqlChanges(mysql_settings(given)) as changes:
        position = changes.initial()
        run(f"SET STATEMENT sql_mode = '' FOR INSERT INTO t VALUES (2, {values})")
        rows = []
        while (end := changes.latest(position)) != position:
            for event in changes.read(position, end):
                if isinstance(event, Change):
                    assert event.after is not None
                    rows.append(json.loads(event.table.row_json(event.after)))
            position = end
    return rows


def test_plain_values(run: Execute, read: Read) -> None:
    """As Spark reads them, with the types that anybody would give the columns."""
    run(
        "CREATE TABLE t (id decimal(20, 3) PRIMARY KEY, at datetime(3), day date, seen timestamp "
        "NULL, flags bit(12), lasts time)",
        "INSERT INTO t VALUES (1.5, '2026-01-31 12:00:00.5', '2026-01-31', '2026-01-31 12:00:00', "
        "b'101', '26:00:00')",
    )
    changes = read()
    position = changes.initial()
    (row,) = list(changes.read(position, changes.latest(position)))
    assert isinstance(row, Change)
    assert row.after is not None
    assert json.loads(row.table.row_json(row.after)) == {
        "id": 1.5,
        "at": "2026-01-31T12:00:00.500",
        "day": "2026-01-31",
        "seen": "2026-01-31T03:00:00Z",
        "flags": 5,
        "lasts": "26:00:00",
    }


@pytest.mark.parametrize(
    ("of", "shown", "text", "expected"),
    [
        (ColumnType("bigint", is_unsigned=True), Representation(unsigned="precise"),
         "18446744073709551615", b64(b"\0" + b"\xff" * 8)),
        (ColumnType("decimal", scale=2), Representation("string"), "1.50", "1.50"),
        (ColumnType("decimal", scale=2), Representation("double"), "1.50", 1.5),
        (ColumnType("blob"), Representation(binary="hex"), "\xff\0", "ff00"),
        (ColumnType("time", scale=3), ISO, "12:00:00.500", "12:00:00.500Z"),
        (ColumnType("time", scale=3), Representation(time="connect"), "00:00:01.500", 1500),
        (ColumnType("datetime"), ISO, "2026-01-31 12:00:00", "2026-01-31T12:00:00Z"),
        (ColumnType("datetime"), MICROSECONDS, "1970-01-01 00:00:01", 1000000),
        (ColumnType("date", is_nullable=False), PLAIN, "0000-00-00", None),
    ],
)  # fmt: skip
def test_representations(
    of: ColumnType, shown: Representation, text: str, expected: object
) -> None:
    assert json.loads(converter(of, shown)(text)) == expected


@pytest.mark.parametrize("text", ["", "1", "12:00", "a:00:00"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        time_us(text)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (bytes([0, 1, 0, 12, 0, 11, 0, 1, 0, 5, 1, 0]) + b"a", '{"a": 1}'),
        (bytes([2, 2, 0, 10, 0, 5, 1, 0, 4, 0, 0]), "[1, null]"),
        (bytes([4, 1]), "true"),
        (b"\x0c\x03abc", '"abc"'),
        (bytes([0x0B]) + struct.pack("<d", 1.5), "1.5"),
        (bytes([0x0A]) + b"\xff" * 8, str(2**64 - 1)),
        (b"", "null"),
    ],
)
def test_documents_of_mysql(data: bytes, text: str) -> None:
    """In the format of its documentation: no MySQL is installed where this is tested."""
    assert json_text(data) == text


@pytest.mark.parametrize(
    "data", [b"\0\1", bytes([2, 255, 255, 0, 0]), bytes([4, 9]), b"\x7f", b"\5"]
)
def test_what_is_no_document(data: bytes) -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_text(data)
