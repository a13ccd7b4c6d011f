"""Micro-batches of changes, asked for as Spark asks, without Spark: offsets, repeats, kills."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable

from barnabas.changes.errors import ChangesError
from barnabas.errors import InvalidArgument
from barnabas.spark.changes.change_columns import schema_of
from barnabas.spark.changes.data_source import PostgresChangesDataSource
from barnabas.spark.changes.stream_reader import (
    COLUMNS_OPTION,
    FORMAT_OPTION,
    LIMIT_OPTION,
    ChangesReader,
    close,
)
from tests.changes.postgres.workload import TABLES, Workload
from tests.support.postgres import Postgres

Json = dict[str, Any]


@pytest.fixture
def connection(postgres_server: Postgres) -> Iterator[psycopg.Connection]:
    postgres_server.clear()
    with postgres_server.connect() as connection:
        yield connection
    postgres_server.clear()


@pytest.fixture
def options(postgres_server: Postgres) -> Iterator[dict[str, str]]:
    options = {
        "database.hostname": str(postgres_server.folder),
        "database.user": "postgres",
        "database.dbname": "postgres",
        "topic.prefix": "shop",
        FORMAT_OPTION: "rows",
    }
    yield options
    close(options)


class Killed(Exception):
    pass


@dataclass
class Query:
    """What Spark does with a reader, and what it saves: planned batches, and finished ones."""

    options: dict[str, str]
    chance: Random | None = None
    """Whether it is killed between two steps."""
    planned: list[tuple[Json, Json]] = field(default_factory=list)
    finished: int = 0
    output: dict[int, list[Json]] = field(default_factory=dict)
    """By batch, as a sink that writes each batch once."""
    repeats: int = 0

    def run(self) -> None:
        """All there is, as with `availableNow`, restarted as often as it is killed."""
        while True:
            try:
                self._run()
            except Killed:
                close(self.options)  # connections end with the process
                continue
            close(self.options)
            return

    def _run(self) -> None:
        reader = ChangesReader(self.options)
        reader.prepareForTriggerAvailableNow()
        self._step()
        if len(self.planned) > self.finished:
            self._batch(reader)
        while True:
            start = self.planned[-1][1] if self.planned else reader.initialOffset()
            self._step()
            end = reader.latestOffset(start, ReadAllAvailable())
            self._step()
            if end == start:
                return
            # Through JSON, as in the checkpoint.
            self.planned.append(json.loads(json.dumps([start, end])))
            self._step()
            self._batch(reader)

    def _batch(self, reader: ChangesReader) -> None:
        start, end = self.planned[-1]
        rows = [
            row
            for each in reader.partitions(start, end)
            for batch in reader.read(each)
            for row in batch.to_pylist()
        ]
        self._step()
        number = len(self.planned) - 1
        if number in self.output:
            self.repeats += 1
            if "snapshot" not in start and "incremental" not in start:
                assert self.output[number] == rows, "a repeated batch has other changes"
        self.output[number] = rows
        self._step()
        self.finished = len(self.planned)
        self._step()

    def _step(self) -> None:
        if self.chance is not None and self.chance.random() < 0.2:
            raise Killed

    @property
    def rows(self) -> list[Json]:
        return [row for _, batch in sorted(self.output.items()) for row in batch]

    def table(self, name: str) -> dict[str, Json]:
        """The rows of a table by key, as they are after all changes."""
        found: dict[str, Json] = {}
        for row in self.rows:
            if row["table"] != name:
                continue
            if row["op"] == "d":
                found.pop(row["key"], None)
            elif row["op"] == "u":
                found[row["key"]] = {**found.get(row["key"], {}), **json.loads(row["value"])}
            else:
                found[row["key"]] = json.loads(row["value"])
        return found


def test_a_query_that_is_killed_between_any_two_steps(
    connection: psycopg.Connection, options: dict[str, str]
) -> None:
    connection.execute(TABLES)
    workload = Workload(connection, 42)
    workload.fill(120)
    options |= {
        LIMIT_OPTION: "40",
        "snapshot.fetch.size": "20",
        "table.exclude.list": "public.notes",
    }
    query = Query(options, Random(1))
    for _ in range(6):
        query.run()
        workload.run(40)
    query.run()
    assert query.repeats, "it was not killed after a batch was written"
    for table, columns in (("accounts", "id, name, balance"), ("items", "kind, number, count")):
        assert_equal(connection, query, table, columns)


def test_a_query_that_is_killed_while_tables_are_read_again(
    connection: psycopg.Connection, options: dict[str, str]
) -> None:
    connection.execute(TABLES)
    connection.execute("CREATE TABLE signals (id text PRIMARY KEY, type text, data text)")
    workload = Workload(connection, 43)
    workload.fill(200)
    options |= {
        LIMIT_OPTION: "40",
        "snapshot.mode": "no_data",
        "signal.data.collection": "public.signals",
        "incremental.snapshot.chunk.size": "15",
        "table.include.list": "public.accounts,public.items",
    }
    query = Query(options, Random(2))
    data = {"data-collections": ["public.accounts", "public.items"]}
    for number in range(2):
        query.run()
        connection.execute(
            "INSERT INTO signals VALUES (%s, 'execute-snapshot', %s)",
            (str(number), json.dumps(data)),
        )
        workload.run(40)
    query.run()
    assert query.repeats, "it was not killed after a batch was written"
    assert connection.execute("SELECT count(*) FROM signals").fetchone() == (0,)
    for table, columns in (("accounts", "id, name, balance"), ("items", "kind, number, count")):
        assert_equal(connection, query, table, columns)


def assert_equal(connection: psycopg.Connection, query: Query, table: str, columns: str) -> None:
    """The copy has the rows of the table."""
    expected = connection.execute(
        f"SELECT row_to_json(r)::text FROM (SELECT {columns} FROM {table}) r"
    ).fetchall()
    names = columns.split(", ")
    copy = [{name: row[name] for name in names} for row in query.table(table).values()]
    assert sorted(map(json.dumps, copy)) == sorted(
        json.dumps(json.loads(row)) for (row,) in expected
    )


def test_the_log_is_released_up_to_what_is_finished(
    connection: psycopg.Connection, options: dict[str, str]
) -> None:
    connection.execute("CREATE TABLE a (id int PRIMARY KEY)")
    query = Query(options)
    query.run()
    for number in range(3):
        connection.execute("INSERT INTO a VALUES (%s)", (number,))
        query.run()
        (confirmed,) = connection.execute(
            "SELECT confirmed_flush_lsn::text FROM pg_replication_slots"
        ).fetchone() or ("",)
        assert confirmed == query.planned[-1][1]["lsn"]
    assert [json.loads(row["value"]) for row in query.rows] == [{"id": n} for n in range(3)]


def test_a_run_ends_although_changes_keep_coming(
    connection: psycopg.Connection, options: dict[str, str]
) -> None:
    connection.execute("CREATE TABLE a (id int PRIMARY KEY)")
    reader = ChangesReader(options)
    start = reader.initialOffset()
    assert reader.initialOffset() == start, "Spark asks twice"
    reader.prepareForTriggerAvailableNow()
    connection.execute("INSERT INTO a VALUES (1)")
    ends = [start]
    for number in range(2, 9):
        ends.append(reader.latestOffset(ends[-1], ReadAllAvailable()))
        if ends[-1] == ends[-2]:
            break
        connection.execute("INSERT INTO a VALUES (%s)", (number,))
    assert ends[-1] == ends[-2]
    assert reader.partitions(ends[-1], ends[-1]) == []
    assert reader.reportLatestOffset() == ends[-1]


@pytest.mark.parametrize("name", ["rows", "debezium"])
def test_batches_have_the_columns_that_spark_was_told(
    connection: psycopg.Connection, options: dict[str, str], name: str
) -> None:
    connection.execute("CREATE TABLE a (id int PRIMARY KEY, large text)")
    connection.execute("INSERT INTO a SELECT n, 'x' FROM generate_series(1, 12000) n")
    options[FORMAT_OPTION] = name
    reader = ChangesReader(options)
    start = reader.initialOffset()
    (part,) = reader.partitions(start, reader.latestOffset(start, ReadAllAvailable()))
    batches = list(reader.read(part))
    assert [each.num_rows for each in batches] == [5000, 5000, 2000]
    expected = to_arrow_schema(schema_of(name), timezone="UTC")
    assert pa.Table.from_batches(batches).schema.equals(expected)
    assert PostgresChangesDataSource(options).schema() == schema_of(name)


def test_a_failed_read_leaves_nothing_behind(
    connection: psycopg.Connection, options: dict[str, str], postgres_server: Postgres
) -> None:
    connection.execute("CREATE TABLE a (id int PRIMARY KEY)")
    reader = ChangesReader(options)
    start = reader.initialOffset()
    while "snapshot" in start:
        start = reader.latestOffset(start, ReadAllAvailable())
    connection.execute("INSERT INTO a VALUES (1)")
    end = reader.latestOffset(start, ReadAllAvailable())
    (part,) = reader.partitions(start, end)
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'barnabas barnabas_shop'"
    )
    with pytest.raises(ChangesError, match="terminating connection"):
        list(reader.read(part))
    assert sum(each.num_rows for each in reader.read(part)) == 1


@pytest.mark.parametrize("how", ["RENAME customer TO client", "DROP customer"])
def test_a_column_that_is_gone_stops_the_read(
    connection: psycopg.Connection, options: dict[str, str], how: str
) -> None:
    connection.execute("CREATE TABLE a (id int PRIMARY KEY, customer text)")
    options[COLUMNS_OPTION] = '["id", "customer"]'
    query = Query(options)
    query.run()
    connection.execute("INSERT INTO a VALUES (1, 'ada')")
    query.run()
    assert [row["value"] for row in query.rows] == ['{"id":1,"customer":"ada"}']
    connection.execute(f"ALTER TABLE a {how}")
    connection.execute("INSERT INTO a (id) VALUES (2)")
    with pytest.raises(ChangesError, match=r"table public\.a has no column customer; it has id"):
        query.run()
    del options[COLUMNS_OPTION]  # as with missing_columns=null: nothing is lost
    query.run()
    assert [json.loads(row["value"])["id"] for row in query.rows] == [1, 2]


def test_a_snapshot_has_the_columns_too(
    connection: psycopg.Connection, options: dict[str, str]
) -> None:
    connection.execute("CREATE TABLE a (id int PRIMARY KEY)")
    connection.execute("INSERT INTO a VALUES (1)")
    with pytest.raises(ChangesError, match="no column name and no column at; it has id"):
        Query({**options, COLUMNS_OPTION: '["id", "name", "at"]'}).run()


def test_changes_from_before_a_column_was_added_are_read(
    connection: psycopg.Connection, options: dict[str, str]
) -> None:
    connection.execute("CREATE TABLE a (id int PRIMARY KEY)")
    query = Query(options)
    query.run()
    connection.execute("INSERT INTO a VALUES (1)")
    connection.execute("ALTER TABLE a ADD late text")
    connection.execute("INSERT INTO a VALUES (2, 'x')")
    options[COLUMNS_OPTION] = '["id", "late"]'
    query.run()
    assert [row["value"] for row in query.rows] == ['{"id":1}', '{"id":2,"late":"x"}']


def test_an_unknown_format() -> None:
    with pytest.raises(InvalidArgument, match="unknown format 'avro' for changes; use debezium"):
        schema_of("avro")
