"""Rows of a query: what is new, also what commits late, from real databases."""

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from barnabas.errors import InvalidArgument
from barnabas.spark.connector.row_batches import RowError
from barnabas.spark.pipelines import (
    PipelineError,
    PipelineRun,
    RunFolder,
    for_each_batch,
    from_query,
    load,
    pipeline,
)
from barnabas.spark.pipelines.databases import jdbc
from barnabas.spark.pipelines.databases.query_place import QueryPlace
from barnabas.spark.pipelines.postgres.connection import DatabaseError
from barnabas.spark.pipelines.sources import query_rows
from barnabas.spark.pipelines.sources.query_rows import QueryRows
from tests.support.mariadb import MariaDb
from tests.support.postgres import Postgres

FIELDS = t.StructType(
    [
        t.StructField("id", t.LongType()),
        t.StructField("name", t.StringType()),
        t.StructField("price", t.DecimalType(9, 2)),
        t.StructField("changed", t.TimestampType()),
    ]
)
TABLE = "CREATE TABLE orders (id BIGINT, name VARCHAR(50), price DECIMAL(9, 2), changed {})"
Execute = Callable[[str], None]
Database = tuple[QueryPlace, Execute]
SLOW = "SELECT 1 AS id WHERE {} IS NOT NULL"


def derby(folder: Path) -> tuple[QueryPlace, Execute]:
    """A database in this process, by the JDBC driver that Spark comes with."""
    pytest.importorskip("jpype", reason="JPype1 is not installed")
    jars = tuple(map(str, (Path(pyspark.__file__).parent / "jars").glob("derby*.jar")))
    place = QueryPlace(f"jdbc:derby:{folder / 'derby'};create=true", 30, jars)
    java = jdbc._started(jars)
    java.JClass("java.lang.System").setProperty("derby.stream.error.file", "/dev/null")

    def execute(statement: str) -> None:
        connection = jdbc.JdbcConnection(place)
        connection._connection.setReadOnly(False)
        connection._connection.createStatement().execute(statement)
        connection._connection.commit()
        connection.close()

    return place, execute


_SERVERS = [pytest.param(each, marks=pytest.mark.long) for each in ("mysql", "postgresql", "jdbc")]


@pytest.fixture(params=["sqlite", "duckdb", *_SERVERS])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[QueryPlace, Execute]:
    """A database with a table of orders, and what executes statements in it."""
    if request.param == "jdbc":
        place, execute = derby(tmp_path)
        execute(TABLE.format("TIMESTAMP"))
        return place, execute
    url, execute = _database(request, tmp_path)
    return QueryPlace(url, 30), execute


def _database(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Execute]:
    if request.param == "sqlite":
        path = tmp_path / "x.db"

        def execute(statement: str) -> None:
            connection = sqlite3.connect(path, isolation_level=None)
            connection.execute(statement)
            connection.close()

        execute(TABLE.format("TEXT"))
        return f"sqlite:{path}", execute
    if request.param == "duckdb":
        import duckdb

        file = str(tmp_path / "x.duckdb")

        def execute(statement: str) -> None:
            with duckdb.connect(file) as connection:
                connection.execute(statement)

        execute(TABLE.format("TIMESTAMP"))
        return f"duckdb:{file}", execute
    if request.param == "mysql":
        server: MariaDb = request.getfixturevalue("mariadb")
        server.execute(TABLE.format("DATETIME(6)"), "shop")
        return server.url, lambda statement: server.execute(statement, "shop") and None
    other: Postgres = request.getfixturevalue("postgres_server")

    def execute(statement: str) -> None:
        with other.connect() as connection:
            connection.execute(statement)

    execute("DROP TABLE IF EXISTS orders")
    execute(TABLE.format("TIMESTAMP"))
    return other.url, execute


def rows(
    place: QueryPlace, *by: str, query: str = "orders", limit: int = 100, delay_s: int = 0
) -> QueryRows:
    return QueryRows(place, query, FIELDS, by, delay_s, 0, limit)


def order(n: int, at: str = "2026-01-01 00:00:00") -> str:
    return f"INSERT INTO orders VALUES ({n}, 'n{n}', {n}.25, '{at}')"


def ids(found: Any) -> list[int]:
    return [row[0] for row in found]


def test_new_rows_come_by_id_and_again_when_they_are_read_again(
    database: Database,
) -> None:
    place, execute = database
    for each in (1, 2, 3, 5):
        execute(order(each))
    new = rows(place, "id", limit=3)
    start = new.initial()
    first = new.latest(start)
    assert first == {"after": [3]}
    assert list(new.read(start, first)) == [
        (n, f"n{n}", Decimal(f"{n}.25"), datetime(2026, 1, 1, tzinfo=UTC)) for n in (1, 2, 3)
    ]
    execute(order(4))
    second = new.latest(first)
    assert second == {"after": [5]}
    assert ids(new.read(first, second)) == [4, 5]
    assert new.latest(second) == second
    assert ids(new.read(start, first)) == [1, 2, 3], "the same rows"


def test_rows_of_the_same_time_are_told_apart_by_their_id(database: Database) -> None:
    place, execute = database
    for each, second in ((1, 0), (2, 0), (3, 0), (4, 1)):
        execute(order(each, f"2026-01-01 00:00:0{second}"))
    new = rows(place, "changed", "id", limit=2)
    start, found = new.initial(), []
    while (end := new.latest(start)) != start:
        found.append(ids(new.read(start, end)))
        start = end
    assert found == [[1, 2], [3, 4]]
    by_time = rows(place, "changed", limit=2)
    first = by_time.read(by_time.initial(), by_time.latest(by_time.initial()))
    assert sorted(ids(first)) == [1, 2, 3]
    execute("UPDATE orders SET changed = '2026-01-02 00:00:00' WHERE id = 1")
    end = by_time.latest(new.initial())
    last = by_time.latest(end)
    assert ids(by_time.read(end, last)) == [4, 1], "an update comes as a new row"


def test_a_row_that_commits_late_is_not_missed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, execute = database
    now = 100.0
    monkeypatch.setattr(query_rows.time, "monotonic", lambda: now)
    new = rows(place, "id", delay_s=5)
    start = new.initial()
    execute(order(2))
    assert new.latest(start) == start, "2 was seen just now"
    execute(order(1))  # it got its id before 2 did, and commits now
    execute(order(3))
    now += 4
    assert new.latest(start) == start
    now += 1
    end = new.latest(start)
    assert end == {"after": [2]}, "3 has to wait"
    assert ids(new.read(start, end)) == [1, 2]
    now += 4
    assert new.latest(end) == {"after": [3]}


def test_texts_are_in_the_order_of_the_database(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    fields = t.StructType().add("id", "string")
    with closing(sqlite3.connect(file, isolation_level=None)) as shop:
        shop.execute("CREATE TABLE items (id TEXT COLLATE NOCASE)")
        shop.execute("INSERT INTO items VALUES ('b')")
        items = QueryRows(QueryPlace(f"sqlite:{file}"), "items", fields, ("id",), 0, 0, 10)
        first = items.latest(items.initial())
        shop.execute("INSERT INTO items VALUES ('C')")  # which is before b in Python's order
        second = items.latest(first)
        assert list(items.read(first, second)) == [("C",)]
        shop.execute("DELETE FROM items WHERE id = 'C'")
        assert items.latest(second) == second, "no row comes twice"


def test_a_bounded_run_ends_where_the_table_ended(database: Database) -> None:
    place, execute = database
    execute(order(1))
    new = rows(place, "id")
    new.bound(new.initial())
    execute(order(2))
    assert new.latest(new.initial()) == {"after": [1]}
    assert new.latest({"after": [1]}) == {"after": [1]}


def test_all_rows_now_and_then(database: Database) -> None:
    place, execute = database
    execute(order(1))
    whole = QueryRows(place, "SELECT * FROM orders WHERE name LIKE 'n%'", FIELDS, (), 0, 3600, 10)
    start = whole.initial()
    end = whole.latest(start)
    assert ids(whole.read(start, end)) == [1]
    assert whole.latest(end) == end, "not within an hour"
    whole.bound(end)
    again = whole.latest(end)
    assert again["reading"] == 2
    assert whole.latest(again) == again


def test_what_does_not_fit_is_said(database: Database) -> None:
    place, execute = database
    execute(order(1))
    missing = QueryRows(place, "SELECT id FROM orders", FIELDS, ("id",), 0, 0, 9)
    with pytest.raises(InvalidArgument, match=r"(?i)the query has no column name, .*; it has id"):
        list(missing.read({"after": None}, {"after": [1]}))
    with pytest.raises(DatabaseError, match=r"(?i)no_such"):
        rows(place, "id", query="no_such").latest({"after": None})
    wrong = t.StructType([t.StructField("name", t.LongType())])
    with pytest.raises(RowError, match="column name: 'n1' does not fit the schema"):
        list(
            QueryRows(place, "orders", wrong, ("id",), 0, 0, 9).read(
                {"after": None}, {"after": [1]}
            )
        )
    execute("DELETE FROM orders")
    assert rows(place, "id").latest({"after": [7]}) == {"after": [7]}, "a table that was emptied"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"url": "oracle://x"}, "url 'oracle://x': use sqlite:PATH, duckdb:PATH, postgresql"),
        ({"query": " "}, "query has to be a query"),
        ({"id": "a b"}, "id has to be the name of a column, not 'a b'"),
        ({"timestamp": "at; DROP"}, "timestamp has to be the name of a column"),
        ({"delay_s": -1}, "delay_s is 0 or more, not -1"),
        ({"max_rows_per_batch": 0}, "max_rows_per_batch is 1 or more"),
        ({"timeout_s": 0}, "timeout_s is 1 or more"),
        ({"url": "jdbc:h2:x"}, "needs jar=PATH"),
        ({"url": "jdbc:h2:x", "jar": "h2.zip"}, "path of a .jar file, not 'h2.zip'"),
        ({"jar": "h2.jar"}, "jar is for URLs that begin with jdbc:"),
        ({"password": "x"}, "password is for URLs that begin with jdbc:"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        from_query(**{"url": "sqlite:x", "query": "t", "schema": "id INT", **arguments})


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "sleep"), [("mysql", "SLEEP(300)"), ("postgresql", "pg_sleep(300)")]
)
def test_a_server_that_does_not_answer(
    kind: str, sleep: str, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue("mariadb" if kind == "mysql" else "postgres_server")
    slow = QueryRows(
        QueryPlace(server.url, 1),
        f"SELECT 1 AS id WHERE {sleep} IS NOT NULL",
        FIELDS,
        ("id",),
        0,
        0,
        9,
    )
    began = time.monotonic()
    with pytest.raises(DatabaseError, match=r"no answer for 1 s|timed out"):
        slow.latest(slow.initial())
    assert time.monotonic() - began < 240


@pytest.mark.long
def test_times_of_jdbc_are_exact_and_values_have_their_types(tmp_path: Path) -> None:
    place, execute = derby(tmp_path)
    execute(
        "CREATE TABLE t (id INT, changed TIMESTAMP, d DATE, b BLOB, f DOUBLE, y BOOLEAN, c CLOB)"
    )
    execute(
        "INSERT INTO t VALUES (1, TIMESTAMP('2026-01-01 00:00:00.123456789'), DATE('2026-01-02'), "
        "CAST(X'0102' AS BLOB), 1.5, true, 'long')"
    )
    execute(
        "INSERT INTO t VALUES (2, TIMESTAMP('2026-01-01 00:00:00.1234568'), "
        + "NULL, " * 4
        + "NULL)"
    )
    types = (
        t.IntegerType(),
        t.TimestampType(),
        t.DateType(),
        t.BinaryType(),
        t.DoubleType(),
        t.BooleanType(),
        t.StringType(),
    )
    names = ("id", "changed", "d", "b", "f", "y", "c")
    fields = t.StructType([t.StructField(*each) for each in zip(names, types, strict=True)])
    new = QueryRows(place, "t", fields, ("changed",), 0, 0, 1)
    start, found = new.initial(), []
    while (end := new.latest(start)) != start:
        assert json.loads(json.dumps(end)) == end
        found += new.read(start, end)
        start = end
    at = datetime(2026, 1, 1, 0, 0, 0, 123456, UTC)
    assert found == [
        (1, at, date(2026, 1, 2), b"\x01\x02", 1.5, True, "long"),
        (2, at, None, None, None, None, None),
    ]


@pytest.mark.long
def test_a_jar_without_a_driver_is_named(tmp_path: Path) -> None:
    place, _ = derby(tmp_path)
    other = QueryRows(QueryPlace("jdbc:oracle:x", 9, place.jars), "t", FIELDS, ("id",), 0, 0, 9)
    with pytest.raises(DatabaseError, match=r"no driver in .*derby.*\.jar.* takes this URL"):
        other.latest(other.initial())
    missing = QueryRows(QueryPlace("jdbc:h2:x", 9, ("no.jar",)), "t", FIELDS, ("id",), 0, 0, 9)
    with pytest.raises(DatabaseError, match=r"JAR no\.jar does not exist"):
        missing.latest(missing.initial())


def test_a_pipeline_reads_what_is_new(spark: SparkSession, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "shop.db", isolation_level=None)
    connection.execute(TABLE.format("TEXT"))
    for each in (1, 2):
        connection.execute(order(each))
    found: list[int] = []

    @for_each_batch
    def kept(batch: DataFrame, number: int) -> None:
        found.extend(row["id"] for row in batch.orderBy("id").collect())

    (tmp_path / "q.sql").write_text(
        '-- source orders: query sqlite:shop.db "SELECT * FROM orders" schema="id BIGINT,'
        ' changed TIMESTAMP"\n--     id=id delay_s=0\n-- sink: memory\nSELECT * FROM orders'
    )
    source = load(tmp_path / "q.sql")["q"].sources["orders"]

    @pipeline(sources={"orders": source}, sink=kept)
    def copied(orders: DataFrame) -> DataFrame:
        return orders

    def run() -> None:
        runs = RunFolder(tmp_path / "runs")
        with PipelineRun(spark, [copied], "nowhere:9", runs, once=True, max_restarts=0) as each:
            each.wait()

    run()
    connection.execute(order(3))
    run()
    assert found == [1, 2, 3]
    connection.execute("DROP TABLE orders")
    with pytest.raises(PipelineError, match="no such table: orders"):
        run()
