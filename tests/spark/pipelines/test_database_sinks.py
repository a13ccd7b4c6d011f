"""Tables of SQLite, DuckDB and MariaDB: rows merged exactly once, wherever the writer dies."""

import multiprocessing
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pymysql
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineError,
    PipelineRun,
    RunFolder,
    from_generator,
    load,
    pipeline,
    to_duckdb,
    to_mysql,
    to_sqlite,
)
from barnabas.spark.pipelines.databases.dialect import Dialect
from barnabas.spark.pipelines.databases.duck import Duck
from barnabas.spark.pipelines.databases.mysql import MySql
from barnabas.spark.pipelines.databases.session import Session
from barnabas.spark.pipelines.databases.sqlite import Sqlite
from barnabas.spark.pipelines.databases.table_writer import TableWriter
from barnabas.spark.pipelines.deleted_column import DELETED
from barnabas.spark.pipelines.postgres.connection import DatabaseError, shown
from barnabas.spark.pipelines.sinks.database import DatabaseSink
from tests.support.mariadb import MariaDb

QUERY = "5e1c-query"
FIELDS = [
    t.StructField("id", t.LongType()),
    t.StructField("name", t.StringType()),
]
ALL_TYPES = [
    t.StructField("k", t.StringType()),
    t.StructField("yes", t.BooleanType()),
    t.StructField("small", t.ShortType()),
    t.StructField("large", t.LongType()),
    t.StructField("real", t.DoubleType()),
    t.StructField("price", t.DecimalType(12, 2)),
    t.StructField("day", t.DateType()),
    t.StructField("at", t.TimestampType()),
    t.StructField("raw", t.BinaryType()),
]


@pytest.fixture(params=["sqlite", "duckdb", pytest.param("mysql", marks=pytest.mark.long)])
def database(
    request: pytest.FixtureRequest, tmp_path: Path
) -> tuple[Dialect, str, Callable[..., DatabaseSink]]:
    """A dialect, an empty database, and the sink's function."""
    if request.param == "sqlite":
        return Sqlite(), str(tmp_path / "file.db"), to_sqlite
    if request.param == "duckdb":
        return Duck(), str(tmp_path / "file.duckdb"), to_duckdb
    server: MariaDb = request.getfixturevalue("mariadb")
    return MySql(), server.url, to_mysql


Database = tuple[Dialect, str, Callable[..., DatabaseSink]]


def rows_of(*rows: tuple[int, str] | tuple[int, str, bool]) -> pa.Table:
    names = ["id", "name", DELETED][: len(rows[0])]
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def query(database: Database, statement: str) -> list[tuple[Any, ...]]:
    session = database[0].connect(database[1])
    try:
        return session.execute(statement)
    finally:
        session.close()


def test_a_batch_is_merged_and_left_out_when_it_comes_again(database: Database) -> None:
    dialect, place, _ = database
    writer = TableWriter(dialect, place, "people", ("id",), create=True)
    assert writer.write(QUERY, 0, FIELDS, rows_of((1, "ann"), (2, "bob"), (3, "cid")))
    deleting = rows_of((1, "x", True), (2, "Bob", False), (9, "y", True))
    assert writer.write(QUERY, 1, FIELDS, deleting)
    assert not writer.write(QUERY, 1, FIELDS, rows_of((7, "not again")))
    assert query(database, "SELECT id, name FROM people ORDER BY id") == [(2, "Bob"), (3, "cid")]
    with pytest.raises(
        InvalidArgument, match="already has batch 1, and the query is at batch 0: was an old"
    ):
        writer.write(QUERY, 0, FIELDS, rows_of((7, "old")))
    assert writer.write("another", 0, FIELDS, rows_of((4, "dan")))
    assert query(database, "SELECT count(*) FROM people") == [(3,)]


def test_rows_are_added_without_a_key(database: Database) -> None:
    dialect, place, _ = database
    writer = TableWriter(dialect, place, "log", create=True)
    for number in (0, 1, 1):
        writer.write(QUERY, number, FIELDS, rows_of((1, "same"), (1, "same")))
    assert query(database, "SELECT count(*) FROM log") == [(4,)]


def test_all_types_come_back(database: Database) -> None:
    dialect, place, _ = database
    at = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)
    row = {
        "k": "k'\"`%s\\",
        "yes": True,
        "small": -3,
        "large": 2**53 + 1,
        "real": 0.1,
        "price": Decimal("1234567890.05"),
        "day": date(2026, 2, 28),
        "at": at,
        "raw": b"\x00\xff'",
    }
    nothing = dict.fromkeys(row) | {"k": "nothing"}
    schema = pa.schema(
        [
            ("k", pa.string()),
            ("yes", pa.bool_()),
            ("small", pa.int16()),
            ("large", pa.int64()),
            ("real", pa.float64()),
            ("price", pa.decimal128(12, 2)),
            ("day", pa.date32()),
            ("at", pa.timestamp("us", "Asia/Tokyo")),
            ("raw", pa.binary()),
        ]
    )
    table = pa.Table.from_pylist([row, nothing], schema)
    TableWriter(dialect, place, "everything", ("k",), create=True).write(QUERY, 0, ALL_TYPES, table)
    found = query(database, "SELECT * FROM everything WHERE k <> 'nothing'")[0]
    k, yes, small, large, real, price, day, when, raw = found
    assert (k, bool(yes), small, large, real) == (row["k"], True, -3, 2**53 + 1, 0.1)
    assert Decimal(price) == row["price"]
    assert str(day) == "2026-02-28"
    if isinstance(when, str):
        assert when == "2026-03-29 01:30:00.123456"
    else:
        assert (when if when.tzinfo else when.replace(tzinfo=UTC)) == at
    assert raw == row["raw"]
    (empty,) = query(database, "SELECT * FROM everything WHERE k = 'nothing'")
    assert set(empty[1:]) == {None}


def test_a_table_is_made_and_altered_only_if_that_was_said(database: Database) -> None:
    dialect, place, _ = database
    writer = TableWriter(dialect, place, "people", ("id",))
    with pytest.raises(DatabaseError, match=r"table people does not exist in .*: create it"):
        writer.write(QUERY, 0, FIELDS, rows_of((1, "ann")))
    writer = replace(writer, create=True)
    writer.write(QUERY, 0, FIELDS, rows_of((1, "ann")))
    more = [*FIELDS, t.StructField("age", t.IntegerType())]
    grown = rows_of((2, "bob")).append_column("age", pa.array([30], pa.int32()))
    with pytest.raises(DatabaseError, match=r"table people has no column age: .* set evolve=True"):
        writer.write(QUERY, 1, more, grown)
    replace(writer, evolve=True).write(QUERY, 1, more, grown)
    found = query(database, "SELECT id, name, age FROM people ORDER BY id")
    assert found == [(1, "ann", None), (2, "bob", 30)]


def test_what_can_t_be_merged_is_refused_with_what_to_do(database: Database) -> None:
    dialect, place, _ = database
    bare = TableWriter(dialect, place, "bare", create=True)
    bare.write(QUERY, 0, FIELDS, rows_of((1, "ann")))
    with pytest.raises((DatabaseError, InvalidArgument), match="no primary key or unique index"):
        replace(bare, key=("id",)).write(QUERY, 1, FIELDS, rows_of((1, "bob")))
    keyed = TableWriter(dialect, place, "keyed", ("id",), create=True)
    with pytest.raises(DatabaseError, match=r"several rows with the same \(id\).*latest_by="):
        keyed.write(QUERY, 1, FIELDS, rows_of((1, "a"), (1, "b")))
    with pytest.raises(DatabaseError, match=r"id is NULL: .* WHERE id IS NOT NULL"):
        keyed.write(QUERY, 1, FIELDS, pa.table({"id": pa.array([None], pa.int64()), "name": ["x"]}))
    assert query(database, "SELECT count(*) FROM bare") == [(1,)]


class Dying:
    """A session whose process dies before one of its statements, as by kill -9."""

    def __init__(self, session: Any, left: int) -> None:
        self._session, self._left = session, left
        self.connection = session.connection

    def execute(self, statement: str, values: Any = ()) -> list[tuple[Any, ...]]:
        self._step()
        return list(self._session.execute(statement, values))

    def execute_many(self, statement: str, rows: Any) -> None:
        self._step()
        self._session.execute_many(statement, rows)

    def close(self) -> None:
        self._session.close()

    def _step(self) -> None:
        self._left -= 1
        if self._left == 0:
            os._exit(9)


def _write_and_die(dialect: Dialect, place: str, number: int, step: int) -> None:
    connect = dialect.connect

    class Mortal(type(dialect)):  # type: ignore[misc]
        def connect(self, place: str) -> Session:
            session = connect(place)
            return session if isinstance(dialect, Duck) else Dying(session, step)

    made: Any = Mortal()
    if isinstance(dialect, Duck):  # whose sessions are asked for what only they have
        from barnabas.spark.pipelines.databases.duck import DuckSession

        class MortalSession(DuckSession):
            left = step

            def execute(self, statement: str, values: Any = ()) -> list[tuple[Any, ...]]:
                self.left -= 1
                if self.left == 0:
                    os._exit(9)
                return super().execute(statement, values)

        made.connect = lambda place: MortalSession(connect(place).connection)
    rows = rows_of((number, "new", False), (100 + number, "new", False), (number - 1, "", True))
    TableWriter(made, place, "people", ("id",), create=True).write(QUERY, number, FIELDS, rows)


def test_a_batch_is_there_once_wherever_its_writer_dies(database: Database) -> None:
    dialect, place, _ = database
    writer = TableWriter(dialect, place, "people", ("id",), create=True)
    writer.write(QUERY, 0, FIELDS, rows_of((0, "new")))
    processes = multiprocessing.get_context("fork")
    deaths, number = 0, 1
    for step in range(1, 30):
        process = processes.Process(target=_write_and_die, args=(dialect, place, number, step))
        process.start()
        process.join()
        before = {number - 1, *range(101, 100 + number)}
        after = {number, *range(101, 101 + number)}
        found = {row[0] for row in query(database, "SELECT id FROM people")}
        assert found == (after if process.exitcode == 0 else before), "all or nothing"
        if process.exitcode == 0:
            break
        deaths += 1
        rows = rows_of((number, "new", False), (100 + number, "new", False), (number - 1, "", True))
        assert writer.write(QUERY, number, FIELDS, rows)
        assert {row[0] for row in query(database, "SELECT id FROM people")} == after
        number += 1
    assert deaths >= 6


def test_an_engine_without_transactions_is_refused(mariadb: MariaDb) -> None:
    mariadb.execute("CREATE TABLE plain (id BIGINT PRIMARY KEY, name TEXT) ENGINE = MyISAM", "shop")
    writer = TableWriter(MySql(), mariadb.url, "plain", ("id",))
    with pytest.raises(InvalidArgument, match=r"engine MyISAM.*ALTER TABLE plain ENGINE = InnoDB"):
        writer.write(QUERY, 0, FIELDS, rows_of((1, "x")))


def test_wrong_credentials_are_said_without_the_password(mariadb: MariaDb) -> None:
    url = mariadb.url.replace("root@", "nobody:secret@")
    writer = TableWriter(MySql(), url, "people", ("id",))
    with pytest.raises(DatabaseError, match=r"mysql://nobody@localhost.*Access denied") as refused:
        writer.write(QUERY, 0, FIELDS, rows_of((1, "x")))
    assert "secret" not in str(refused.value)


@pytest.mark.long
def test_a_full_database_takes_nothing_of_a_batch_and_all_of_it_later() -> None:
    """The server has 4 MB for tables, which something else fills; then it gets more."""
    options = (
        "--innodb-file-per-table=0",
        "--innodb-data-file-path=ibdata1:12M:autoextend:max:16M",
    )
    server = MariaDb(*options)
    try:
        database = (MySql(), server.url, to_mysql)
        writer = TableWriter(MySql(), server.url, "people", ("id",), create=True)
        writer.write(QUERY, 0, FIELDS, rows_of((0, "there before")))
        server.execute("CREATE TABLE filler (x LONGBLOB)", "shop")
        fill = "INSERT INTO filler SELECT repeat('x', 100000) FROM seq_1_to_10"
        with suppress(pymysql.err.OperationalError):  # the table is full
            for _ in range(100):
                server.execute(fill, "shop")
        large = rows_of(*((number, "x" * 1000) for number in range(1, 2000)))
        with pytest.raises(DatabaseError, match=r"table people in .*is full"):
            writer.write(QUERY, 1, FIELDS, large)
        assert query(database, "SELECT count(*) FROM people") == [(1,)]
        server.kill()
        server.start(*(each.replace("16M", "64M") for each in options))
        assert writer.write(QUERY, 1, FIELDS, large)
        assert not writer.write(QUERY, 1, FIELDS, large)
        assert query(database, "SELECT count(*) FROM people") == [(2000,)]
    finally:
        server.close()


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: to_sqlite("f", "t", latest_by="id"), "latest_by needs a key"),
        (lambda: to_duckdb("f", "t", delete_when="x"), "delete_when needs a key"),
        (lambda: to_sqlite("f", ""), "table has to be the name of a table"),
        (lambda: to_mysql("mysql://h", "t"), "is not a URL such as mysql://"),
        (lambda: to_mysql("mysql://h:x/d", "t"), "is not a URL such as mysql://.*Port"),
        (
            lambda: to_mysql("mysql://u:p@h/d?sslmode=on", "t"),
            "sslmode in the URL",
        ),
        (lambda: to_mysql("postgresql://h/d", "t"), "postgresql://h/d is not a URL"),
    ],
)
def test_wrong_arguments_are_named(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        make()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://a:hunter@db/x", "postgresql://a@db/x"),
        ("mysql://a:hun/ter@2@db/x?ssl_ca=c", "mysql://a@db/x?ssl_ca=c"),
        ("jdbc:oracle:thin:scott/hunter@//db:1521/x", "jdbc:oracle:thin:scott@//db:1521/x"),
        ("jdbc:sqlserver://db;user=a;Password=hunter", "jdbc:sqlserver://db;user=a;Password=***"),
    ],
)
def test_a_password_is_not_shown_in_any_kind_of_url(url: str, said: str) -> None:
    assert shown(url) == said


def test_a_password_is_not_shown() -> None:
    sink = to_mysql("mysql://u:s3cret@h/d", "t")
    assert "s3cret" not in f"{sink!r} {sink.describe()} {sink.places}"


def test_in_sql(tmp_path: Path) -> None:
    (tmp_path / "p.sql").write_text(
        "-- sink: sqlite out/x.db people key=id,day latest_by=at create=true evolve=true\nSELECT 1"
    )
    assert load(tmp_path / "p.sql")["p"].sink == to_sqlite(
        str(tmp_path / "out/x.db"),
        "people",
        key=["id", "day"],
        latest_by="at",
        create=True,
        evolve=True,
    )


@pytest.mark.timeout(900)
def test_a_pipeline_writes_each_row_once_also_when_batches_fail(
    spark: SparkSession, tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, place, to_database = database
    sink = to_database(place, "made", key="id", latest_by="n", delete_when="n % 7 = 0", create=True)
    failures = [False, True]
    write = DatabaseSink.write

    def failing(self: DatabaseSink, rows: DataFrame, number: int) -> None:
        write(self, rows, number)
        if failures and failures.pop(0):
            raise RuntimeError("after it was written")

    monkeypatch.setattr(DatabaseSink, "write", failing)
    source = from_generator("n BIGINT sequence", count=60, max_rows_per_batch=20)

    @pipeline(sources={"rows": source}, sink=sink)
    def made(rows: DataFrame) -> DataFrame:
        return rows.selectExpr(
            "n % 20 AS id", "n", "array(n, 1) AS list", "named_struct('x', n) AS s"
        )

    _run(spark, made, tmp_path)
    wanted = [(n % 20, n) for n in range(40, 60) if n % 7]
    assert [
        (int(a), int(b)) for a, b in query(database, "SELECT id, n FROM made ORDER BY n")
    ] == wanted
    nested = query(database, "SELECT list, s FROM made WHERE n = 41")
    assert [str(each) for each in nested[0]] == ["[41,1]", '{"x":41}']


def test_a_column_of_an_unknown_type_is_refused_before_anything_starts(
    spark: SparkSession, tmp_path: Path
) -> None:
    @pipeline(
        sources={"rows": from_generator("n BIGINT sequence", count=1)},
        sink=to_sqlite(str(tmp_path / "x.db"), "t", create=True),
    )
    def made(rows: DataFrame) -> DataFrame:
        return rows.selectExpr("n", "make_dt_interval(1) AS length")

    with pytest.raises((PipelineError, InvalidArgument), match="column length is of type"):
        _run(spark, made, tmp_path)
    assert not (tmp_path / "x.db").exists()


def test_a_locked_file_is_waited_for(tmp_path: Path) -> None:
    place = str(tmp_path / "x.db")
    writer = TableWriter(Sqlite(), place, "people", ("id",), create=True)
    writer.write(QUERY, 0, FIELDS, rows_of((1, "a")))
    other = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    import threading

    timer = threading.Timer(0.5, lambda: other.execute("COMMIT"))
    timer.start()
    assert writer.write(QUERY, 1, FIELDS, rows_of((2, "b")))
    timer.join()
    other.close()


def _run(spark: SparkSession, defined: Pipeline, folder: Path) -> None:
    runs = RunFolder(folder / "runs")
    with PipelineRun(spark, [defined], "nowhere:9", runs, once=True, max_restarts=9) as each:
        each.wait()
