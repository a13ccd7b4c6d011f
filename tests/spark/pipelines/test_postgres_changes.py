"""Changes of a PostgreSQL through pipelines: into topics, tables and another database."""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pandas as pd
import psycopg
import pytest
from pyspark.sql import DataFrame, SparkSession

import barnabas
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineError,
    PipelineRun,
    RunFolder,
    for_each_batch,
    from_postgres_changes,
    load,
    pipeline,
    to_postgres,
    to_topic,
)
from barnabas.spark.testing import running
from tests.changes.postgres.workload import TABLES, Workload
from tests.examples.documents import ROOT
from tests.spark.pipelines.test_etl import records
from tests.support.broker import BrokerProcess
from tests.support.postgres import Postgres

pytestmark = pytest.mark.timeout(900)

ACCOUNTS = "id BIGINT, name STRING, balance DECIMAL(38, 20)"


@pytest.fixture
def connection(postgres_server: Postgres) -> Iterator[psycopg.Connection]:
    postgres_server.clear()
    with postgres_server.connect() as connection:
        yield connection
    postgres_server.clear()


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker that has what exactly once needs."""
    settings = {"transaction.two.phase.commit.enable": "true"}
    broker = BrokerProcess(tmp_path_factory.mktemp("broker"), settings)
    broker.start()
    yield broker.bootstrap
    broker.kill()


@pytest.fixture
def run(spark: SparkSession, bootstrap: str, tmp_path: Path) -> Callable[[Pipeline], None]:
    folder = RunFolder(tmp_path / "runs")

    def run(defined: Pipeline) -> None:
        with PipelineRun(spark, [defined], bootstrap, folder, once=True, max_restarts=2) as run:
            run.wait()

    return run


def test_records_in_debeziums_envelope_exactly_once(
    connection: psycopg.Connection,
    postgres_server: Postgres,
    bootstrap: str,
    admin: barnabas.Admin,
    run: Callable[[Pipeline], None],
) -> None:
    connection.execute("CREATE TABLE orders (id int PRIMARY KEY, item text)")
    connection.execute("CREATE TABLE items (name text PRIMARY KEY)")
    connection.execute("INSERT INTO orders SELECT n, 'before' FROM generate_series(1, 5) n")
    names = ["changes.public.orders", "changes.public.items"]
    for name in names:
        admin.create_topic(name, partitions=1)

    @pipeline(
        sources={
            "changes": from_postgres_changes(
                postgres_server.url, "orders,items", topic_prefix="changes", snapshot__fetch__size=2
            )
        },
        sink=to_topic("changes.public.orders", exactly_once=True, topic_per_row=True),
    )
    def envelopes(changes: DataFrame) -> DataFrame:
        return changes

    run(envelopes)
    with connection.transaction():
        connection.execute("INSERT INTO orders VALUES (6, 'new')")
        connection.execute("INSERT INTO items VALUES ('new')")
    connection.execute("UPDATE orders SET item = 'changed' WHERE id = 6")
    connection.execute("DELETE FROM orders WHERE id = 1")
    run(envelopes)
    found = records(bootstrap, names, 10)
    found.sort(key=lambda each: (each.topic, each.offset))
    assert [(each.topic, each.key, _op(each.value)) for each in found] == [
        (names[1], b'{"name":"new"}', "c"),
        *((names[0], f'{{"id":{n}}}'.encode(), "r") for n in range(1, 6)),
        (names[0], b'{"id":6}', "c"),
        (names[0], b'{"id":6}', "u"),
        (names[0], b'{"id":1}', "d"),
        (names[0], b'{"id":1}', None),
    ]


def _op(value: bytes | None) -> str | None:
    return None if value is None else str(json.loads(value)["op"])


def test_a_table_is_copied_to_another_database_also_when_a_batch_fails(
    connection: psycopg.Connection, postgres_server: Postgres, run: Callable[[Pipeline], None]
) -> None:
    connection.execute(TABLES)
    workload = Workload(connection, 3)
    workload.fill(100)
    connection.execute("CREATE SCHEMA copies")
    copy = to_postgres(
        postgres_server.url,
        "copies.accounts",
        key="id",
        latest_by="change.lsn",
        delete_when="change.op = 'd'",
        create=True,
    )
    failures = [True, False, True, False, False]

    @for_each_batch
    def written(rows: DataFrame, number: int) -> None:
        copy.upsert(rows)
        if failures and failures.pop(0):
            raise RuntimeError("after it was written")

    @pipeline(
        sources={
            "accounts": from_postgres_changes(
                postgres_server.url, "accounts", ACCOUNTS, max_changes_per_batch=50
            )
        },
        sink=written,
    )
    def copied(accounts: DataFrame) -> DataFrame:
        return accounts

    run(copied)
    for seed in range(2):
        Workload(connection, seed).run(60)
        run(copied)
        query = "SELECT id, name, round(balance, 20) FROM {} ORDER BY id"
        expected = connection.execute(query.format("accounts")).fetchall()
        assert connection.execute(query.format("copies.accounts")).fetchall() == expected
    assert not failures


def test_a_definition_in_sql_into_parquet(
    connection: psycopg.Connection,
    postgres_server: Postgres,
    run: Callable[[Pipeline], None],
    tmp_path: Path,
) -> None:
    connection.execute("CREATE TABLE orders (id int PRIMARY KEY, at timestamptz, price numeric)")
    connection.execute("INSERT INTO orders VALUES (1, '2026-01-01 00:00+00', 1.50)")
    file = tmp_path / "orders.sql"
    file.write_text(
        f"-- source orders: postgres_changes {postgres_server.url} orders\n"
        '--     schema="id INT, at TIMESTAMP, price DECIMAL(10, 2)" max_changes_per_batch=10\n'
        "--     tombstones.on.delete=false\n"
        "-- sink: parquet table\n"
        "SELECT id, at, price, change.op, change.snapshot FROM orders\n"
    )
    defined = load(str(file))["orders"]
    run(defined)
    connection.execute("UPDATE orders SET price = 2")
    connection.execute("DELETE FROM orders")
    run(defined)
    found = pd.read_parquet(tmp_path / "table").sort_values("op")
    rows = [tuple(each) for each in found[["op", "id", "price", "snapshot"]].astype(str).values]
    assert rows == [
        ("d", "1", "None", "False"),
        ("r", "1", "1.50", "True"),
        ("u", "1", "2.00", "False"),
    ]


def test_a_renamed_column_stops_the_pipeline_until_it_reads_both_names(
    connection: psycopg.Connection,
    postgres_server: Postgres,
    run: Callable[[Pipeline], None],
    tmp_path: Path,
) -> None:
    connection.execute("CREATE TABLE orders (id int PRIMARY KEY, customer text)")
    connection.execute("INSERT INTO orders VALUES (1, 'ada')")
    file = tmp_path / "orders.sql"
    before = (
        f"-- source orders: postgres_changes {postgres_server.url} orders\n"
        '--     schema="id INT, customer STRING"\n'
        "-- sink: parquet table\n"
        "SELECT id, customer FROM orders\n"
    )
    file.write_text(before)
    run(load(str(file))["orders"])
    connection.execute("INSERT INTO orders VALUES (2, 'bob')")
    connection.execute("ALTER TABLE orders RENAME customer TO client")
    connection.execute("INSERT INTO orders VALUES (3, 'eve')")
    with pytest.raises(PipelineError, match=r"table public\.orders has no column customer"):
        run(load(str(file))["orders"])
    after = before.replace(
        'customer STRING"', 'customer STRING, client STRING" missing_columns=null'
    )
    file.write_text(
        after.replace("SELECT id, customer", "SELECT id, coalesce(client, customer) customer")
    )
    run(load(str(file))["orders"])
    found = pd.read_parquet(tmp_path / "table").sort_values("id")
    assert found.values.tolist() == [[1, "ada"], [2, "bob"], [3, "eve"]]


def test_events_from_an_outbox(
    connection: psycopg.Connection,
    postgres_server: Postgres,
    bootstrap: str,
    admin: barnabas.Admin,
    run: Callable[[Pipeline], None],
    tmp_path: Path,
) -> None:
    connection.execute(
        "CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), aggregatetype text, "
        "aggregateid text, type text, payload jsonb)"
    )
    admin.create_topic("outbox.event.order", partitions=1)
    file = tmp_path / "outbox_events.sql"
    text = dict(_shown_in_page())[file.name]
    file.write_text(text.replace("postgresql://changes@localhost:5432/shop", postgres_server.url))
    defined = load(str(file))["outbox_events"]
    run(defined)
    with connection.transaction():
        connection.execute(
            "INSERT INTO outbox (aggregatetype, aggregateid, type, payload) "
            """VALUES ('order', '7', 'OrderCreated', '{"total": 1.50}')"""
        )
        connection.execute("DELETE FROM outbox")
    run(defined)
    (event,) = records(bootstrap, ["outbox.event.order"], 1)
    assert (event.key, event.value) == (b"7", b'{"total": 1.50}')
    assert dict(event.headers)["eventType"] == b"OrderCreated"


def test_problems_are_said_in_a_line(
    connection: psycopg.Connection, postgres_server: Postgres, run: Callable[[Pipeline], None]
) -> None:
    connection.execute("CREATE TABLE orders (id int)")

    @pipeline(
        sources={"orders": from_postgres_changes(postgres_server.url, "orders", "id INT")},
        sink=for_each_batch(lambda rows, number: None),
    )
    def orders(orders: DataFrame) -> DataFrame:
        return orders

    with pytest.raises(PipelineError, match=r"orders without a primary key.*IDENTITY FULL"):
        run(orders)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"slots__name": "x"}, "did you mean slot.name"),
        ({"snapshot": "custom"}, "use initial, initial_only, no_data, always or when_needed"),
        ({"tables": ""}, "name a table"),
        ({"url": "postgresql://u:s3cret@h:x/d?y=1"}, "not a PostgreSQL URL"),
        ({"url": "postgresql://u:s3cret@h/d?target_session_attrs=any"}, "is not supported"),
        ({"url": "postgresql://u:s3cret@h"}, "set topic.prefix|set database.dbname"),
        ({"max_changes_per_batch": 0}, "max_changes_per_batch is 1 or more"),
        ({"watermark": "soon"}, "watermark must be a column and a delay"),
        ({"schema": "id INT", "missing_columns": "none"}, "missing_columns is fail or null"),
        ({"missing_columns": "null"}, "missing_columns is for rows"),
    ],
)
def test_wrong_arguments_are_refused_without_secrets(
    arguments: dict[str, object], complaint: str
) -> None:
    given = {"url": "postgresql://u:s3cret@h/d", "tables": "orders", **arguments}
    with pytest.raises(InvalidArgument, match=complaint) as raised:
        from_postgres_changes(**given)  # type: ignore[arg-type]
    assert "s3cret" not in str(raised.value)


def test_a_source_shows_no_secrets() -> None:
    source = from_postgres_changes("postgresql://u:s3cret@h/d", ["orders", "shop.items"])
    assert source.describe() == "changes of public.orders, shop.items in postgresql://u@h/d"
    assert "s3cret" not in repr(source)


def test_changes_can_be_fed_in_a_test(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "orders.sql"
    file.write_text(
        "-- source orders: postgres_changes postgresql://h/d orders "
        'schema="id INT, price DECIMAL(10, 2)"\n-- sink: memory\n'
        "SELECT id, change.op FROM orders WHERE price > 1 OR price IS NULL\n"
    )
    with running(load(str(file))["orders"], spark=spark) as tested:
        tested.feed("orders", {"id": 1, "price": Decimal(2)}, {"id": 2, "price": Decimal(1)})
        tested.feed("orders", {"id": 1, "change": {"op": "d"}})
        assert tested.rows() == [{"id": 1, "op": "c"}, {"id": 1, "op": "d"}]


def _shown_in_page() -> list[tuple[str, str]]:
    page = (ROOT / "docs" / "changes.md").read_text()
    return re.findall(r"```(?:python|sql)\n(?:#|--) (\S+\.(?:py|sql))\n(.*?)```", page, re.DOTALL)


def test_what_the_page_shows_can_be_loaded(tmp_path: Path) -> None:
    found = _shown_in_page()
    for name, text in found:
        (tmp_path / name).write_text(text)
        if "import PostgresChanges" in text:  # runs for ever
            compile(text, name, "exec")
            continue
        assert list(load(str(tmp_path / name))) == [Path(name).stem]
    assert len(found) == 5
