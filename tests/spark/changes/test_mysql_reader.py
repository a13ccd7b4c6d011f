"""Micro-batches of changes of a MariaDB, asked for as Spark asks, without Spark."""

import json
from collections.abc import Iterator
from random import Random

import pytest

from barnabas.changes.errors import ChangesError
from barnabas.errors import InvalidArgument
from barnabas.spark.changes.stream_reader import (
    COLUMNS_OPTION,
    DATABASE_OPTION,
    FORMAT_OPTION,
    LIMIT_OPTION,
    ChangesReader,
    close,
)
from tests.changes.mysql.test_changes import connected
from tests.changes.mysql.workload import TABLES, Workload
from tests.spark.changes.test_changes_reader import Query
from tests.support.mariadb import MariaDb


@pytest.fixture
def options(mariadb: MariaDb) -> Iterator[dict[str, str]]:
    options = {
        "database.hostname": "localhost",
        "database.unix.socket": str(mariadb.socket),
        "database.user": "root",
        "topic.prefix": "shop",
        "database.include.list": "shop",
        DATABASE_OPTION: "mysql",
        FORMAT_OPTION: "rows",
    }
    yield options
    close(options)


def test_a_query_that_is_killed_between_any_two_steps(
    mariadb: MariaDb, options: dict[str, str]
) -> None:
    for each in TABLES:
        mariadb.execute(each, "shop")
    options |= {LIMIT_OPTION: "40", "snapshot.fetch.size": "20", "table.exclude.list": "shop.notes"}
    query = Query(options, Random(1))
    with connected(mariadb, "shop") as connection:
        workload = Workload(connection, 42)
        workload.fill(120)
        for _ in range(5):
            query.run()
            workload.run(30)
    query.run()
    assert query.repeats, "it was not killed after a batch was written"
    for table, columns in (("accounts", "id, name"), ("items", "kind, number, count")):
        names = columns.split(", ")
        expected = {tuple(row) for row in mariadb.execute(f"SELECT {columns} FROM {table}", "shop")}
        found = {tuple(row[name] for name in names) for row in query.table(table).values()}
        assert found == expected


def test_a_column_that_is_gone_stops_the_read_and_one_that_was_added_does_not(
    mariadb: MariaDb, options: dict[str, str]
) -> None:
    mariadb.execute("CREATE TABLE a (id int PRIMARY KEY, customer text)", "shop")
    query = Query(options)
    query.run()
    mariadb.execute("INSERT INTO a VALUES (1, 'ada')", "shop")
    mariadb.execute("ALTER TABLE a ADD late text", "shop")
    options[COLUMNS_OPTION] = '["id", "customer", "late"]'
    query.run()
    assert [row["value"] for row in query.rows] == ['{"id":1,"customer":"ada"}']
    mariadb.execute("ALTER TABLE a CHANGE customer client text", "shop")
    mariadb.execute("INSERT INTO a VALUES (2, 'bob', 'x')", "shop")
    with pytest.raises(ChangesError, match=r"table shop\.a has no column customer; it has id"):
        query.run()


def test_records_of_a_batch(mariadb: MariaDb, options: dict[str, str]) -> None:
    mariadb.execute("CREATE TABLE orders (id int PRIMARY KEY, item text)", "shop")
    mariadb.execute("INSERT INTO orders VALUES (1, 'lamp')", "shop")
    options |= {FORMAT_OPTION: "debezium", "table.include.list": "shop.orders"}
    query = Query(options)
    query.run()
    mariadb.execute("DELETE FROM orders", "shop")
    query.run()
    values = [row["value"] and json.loads(row["value"]) for row in query.rows]
    assert {row["topic"] for row in query.rows} == {"shop.shop.orders"}
    assert [each and each["op"] for each in values] == ["r", "d", None]
    assert values[0]["source"]["snapshot"] == "true"
    assert values[1]["before"] == {"id": 1, "item": "lamp"}
    source = values[1]["source"]
    assert (source["server_id"], source["db"], source["row"]) == (7, "shop", 0)
    assert source["gtid"].startswith("0-7-")
    assert source["file"] == "bin.000001"


def test_an_unknown_database(options: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument, match="use postgres or mysql"):
        ChangesReader({**options, DATABASE_OPTION: "oracle"})
