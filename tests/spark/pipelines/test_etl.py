"""From topics to Parquet tables and a PostgreSQL, and from files and tables to topics."""

import io
import json
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

import fastavro
import pandas as pd
import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

import barnabas
import barnabas.spark
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineError,
    PipelineRun,
    RunFolder,
    compact_parquet,
    from_files,
    from_topic,
    load,
    pipeline,
    read_postgres,
    to_parquet,
    to_postgres,
    to_topic,
    write_topic,
)
from barnabas.spark.pipelines.parquet.table import ParquetTable
from tests.cli.conftest import Cli
from tests.conftest import MakeBroker
from tests.examples.documents import ROOT
from tests.support.wait import LIMIT_S

pytestmark = pytest.mark.timeout(900)

EVENT = "id BIGINT, at TIMESTAMP"


class Loading:
    """Sends JSON to a topic, and runs a pipeline on what there is."""

    def __init__(self, spark: SparkSession, bootstrap: str, topic: str, folder: Path) -> None:
        self.spark, self.bootstrap, self.topic = spark, bootstrap, topic
        self.folder = RunFolder(folder)
        self.producer = barnabas.Producer(bootstrap)

    def send(self, *rows: dict[str, object]) -> None:
        for row in rows:
            key = str(row["id"]).encode()
            value = None if len(row) == 1 else json.dumps(row).encode()
            self.producer.send(self.topic, value, key=key)
        self.producer.flush()

    def run(self, defined: Pipeline, *rows: dict[str, object], restarts: int = 3) -> None:
        self.send(*rows)
        with PipelineRun(
            self.spark, [defined], self.bootstrap, self.folder, once=True, max_restarts=restarts
        ) as run:
            run.wait()


@pytest.fixture
def loading(spark: SparkSession, bootstrap: str, topic: str, tmp_path: Path) -> Iterator[Loading]:
    loading = Loading(spark, bootstrap, topic, tmp_path / "runs")
    yield loading
    loading.producer.close()


def event(number: int, day: int = 1) -> dict[str, object]:
    return {"id": number, "at": f"2026-01-{day:02}T12:00:00Z"}


def ids(table: Path) -> list[int]:
    """As a reader has them who knows nothing of Spark or us."""
    return sorted(pd.read_parquet(table)["id"])


def times(table: Path) -> list[pa.DataType]:
    """What the column `at` is in each file."""
    return [parquet.read_schema(each).field("at").type for each in table.glob("day=*/*.parquet")]


def records(bootstrap: str, topics: list[str], count: int) -> list[barnabas.Message]:
    """So many records, or more if there are more by then."""
    found: list[barnabas.Message] = []
    deadline = monotonic() + LIMIT_S
    with barnabas.Consumer(bootstrap, topics) as consumer:
        while len(found) < count and monotonic() < deadline:
            found += consumer.poll(timeout_s=1)
        found += consumer.poll(timeout_s=0.2)
    return found


def test_a_table_by_event_date_that_stays_compact(
    spark: SparkSession, loading: Loading, tmp_path: Path
) -> None:
    table = tmp_path / "my events"

    @pipeline(
        sources={"events": from_topic(loading.topic, EVENT, record=())},
        sink=to_parquet(str(table), partition_by="day=date(at)", compact=4),
    )
    def events(events: DataFrame) -> DataFrame:
        return events

    most = 0
    for number in range(5):
        loading.run(events, event(number), event(100 + number, day=1 + number % 2))
        most = max(most, len(list(table.glob("day=2026-01-01/*.parquet"))))
    assert most < 7, "each run has added one file or more"
    expected = [*range(5), *range(100, 105)]
    assert ids(table) == expected
    read = spark.read.parquet(str(table))
    assert sorted(row.id for row in read.collect()) == expected
    assert dict(read.dtypes) == {"id": "bigint", "at": "timestamp", "day": "date"}
    assert read.where("day = '2026-01-02'").count() == 2
    assert set(times(table)) == {pa.timestamp("us", tz="UTC")}

    compact_parquet(spark, table)
    assert times(table) == [pa.timestamp("us", tz="UTC")] * 2, "a compacted file has them too"
    assert pd.read_parquet(table)["at"].min() == pd.Timestamp("2026-01-01T12:00:00Z")
    assert sorted(len(list(each.glob("*"))) for each in table.glob("day=*")) == [1, 1]
    loading.run(events, event(5))
    assert ids(table) == sorted([*expected, 5])
    assert compact_parquet(spark, table)[0].partition == "day=2026-01-01"
    assert [row.id for row in spark.read.parquet(str(table)).where("id = 5").collect()] == [5]


def test_a_driver_that_dies_in_a_batch(
    loading: Loading, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step has its own test without Spark; here Spark runs the batch again."""
    table = tmp_path / "table"

    @pipeline(
        sources={"events": from_topic(loading.topic, EVENT, record=())},
        sink=to_parquet(str(table), partition_by="day=date(at)", compact=2),
    )
    def events(events: DataFrame) -> DataFrame:
        return events

    loading.run(events, event(0, day=1), event(1, day=2))
    count = 2
    for step in ("before", "written", "decided", "half moved", "compacted"):
        with monkeypatch.context() as dying:
            _die(dying, step)
            more = [event(count + each, day=1 + each) for each in range(3)]
            with pytest.raises(PipelineError):
                loading.run(events, *more, restarts=0)
            seen = ids(table)
            assert len(seen) == len(set(seen))
            assert set(seen) >= set(range(count))
        loading.run(events)
        count += 3
        assert ids(table) == list(range(count)), step


def test_a_pipeline_whose_table_is_deleted_while_it_runs(loading: Loading, tmp_path: Path) -> None:
    table = tmp_path / "table"

    @pipeline(
        sources={"events": from_topic(loading.topic, EVENT, record=())}, sink=to_parquet(str(table))
    )
    def events(events: DataFrame) -> DataFrame:
        return events

    loading.send(event(0))
    with PipelineRun(loading.spark, [events], loading.bootstrap, loading.folder) as run:
        run.wait(until=lambda: run.queries[0].progress.rows_out == 1)
        shutil.rmtree(table)
        loading.send(event(1))
        with pytest.raises(PipelineError, match="is missing"):
            run.wait()
    assert not list(tmp_path.rglob("*.parquet"))
    with pytest.raises(InvalidArgument, match="is missing"):
        loading.run(events)


def _die(patch: pytest.MonkeyPatch, step: str) -> None:
    def killed(*_: object, **__: object) -> None:
        raise SystemError("killed")

    def move_one(table: ParquetTable, batch: object) -> None:
        source, target = batch.moves[0]
        staged = table.folder / "_barnabas" / "staged" / batch.staged / source
        (table.folder / target).parent.mkdir(exist_ok=True)
        if staged.exists():
            staged.rename(table.folder / target)
            killed()

    match step:
        case "before":
            patch.setattr(ParquetTable, "add", killed)
        case "written":
            patch.setattr(ParquetTable, "_decide", killed)
        case "decided" | "half moved":
            patch.setattr(ParquetTable, "_move", killed if step == "decided" else move_one)
        case "compacted":
            patch.setattr(ParquetTable, "replace", killed)


@pytest.fixture
def cli(bootstrap: str) -> Iterator[Cli]:
    command = Cli(bootstrap)
    yield command
    command.end()


@pytest.mark.timeout(900)
def test_a_driver_is_killed_in_the_middle(
    cli: Cli, spark: SparkSession, topic: str, producer: barnabas.Producer, tmp_path: Path
) -> None:
    """By kill -9, in the middle of whatever it does; then one that ends, then compaction."""
    table, checkpoints = tmp_path / "table", tmp_path / "checkpoints"
    (tmp_path / "events.sql").write_text(
        f'-- source events: topic {topic} schema="{EVENT}" record="" maxOffsetsPerTrigger=40\n'
        f'-- sink: parquet {table} partition_by="day=date(at)" compact=3\n'
        "SELECT * FROM events"
    )
    count = 240
    for number in range(count):
        producer.send(topic, json.dumps(event(number, day=1 + number % 2)).encode())
    producer.flush()
    process = cli.start(
        *("pipeline", "run", str(tmp_path), "--master", "local[2]", "--json"),
        *("--checkpoints", str(checkpoints)),
    )
    assert process.stdout is not None
    for line in process.stdout:
        if (json.loads(line)["batch"] or 0) >= 1:
            break
    process.kill()
    process.wait()
    seen = ids(table)
    assert len(seen) == len(set(seen))
    assert len(seen) >= 80
    # Here and not by another command: what it finds is the same, and Spark is there already.
    defined = list(load(tmp_path).values())
    with PipelineRun(
        spark, defined, cli.bootstrap, RunFolder(checkpoints), once=True, max_restarts=0
    ) as run:
        run.wait()
    assert ids(table) == list(range(count))


@pytest.mark.long
def test_a_table_is_compacted_by_a_command(
    cli: Cli, spark: SparkSession, loading: Loading, tmp_path: Path
) -> None:
    table = tmp_path / "table"
    (tmp_path / "events.sql").write_text(
        f'-- source events: topic {loading.topic} schema="{EVENT}" record=""\n'
        f'-- sink: parquet {table} partition_by="day=date(at)"\n'
        "SELECT * FROM events"
    )
    (events,) = load(tmp_path).values()
    for number in (0, 2):
        loading.run(events, event(number), event(number + 1, day=2))
    process = cli.start("pipeline", "compact", str(tmp_path), "--json")
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors.decode()
    done = json.loads(output)
    assert {each["partition"] for each in done} == {"day=2026-01-01", "day=2026-01-02"}
    assert len(list(table.glob("day=*/*.parquet"))) == 2
    assert ids(table) == list(range(4))


STOCK = "id BIGINT, amount INT, price DECIMAL(9, 2), at TIMESTAMP, tags ARRAY<STRING>"


def test_upserts_and_deletes_in_postgresql(
    spark: SparkSession, loading: Loading, postgres: str
) -> None:
    @pipeline(
        sources={"stock": from_topic(loading.topic, STOCK, key="item", record="offset")},
        sink=to_postgres(
            postgres,
            "stock",
            key="item",
            latest_by="record.offset",
            delete_when="id IS NULL",
            create=True,
        ),
    )
    def stock(stock: DataFrame) -> DataFrame:
        return stock

    def rows() -> list[tuple[object, ...]]:
        with psycopg.connect(postgres) as connection:
            found = connection.execute(
                "SELECT item, amount, price::text, extract(epoch FROM at)::int, tags FROM stock "
                "ORDER BY item"
            )
            return found.fetchall()

    at = "2026-01-01T00:00:00Z"
    loading.run(
        stock,
        {"id": 1, "amount": 5, "price": 1.5, "at": at, "tags": ["a", 'b"\n,']},
        {"id": 2, "amount": 7},
        {"id": 3, "amount": 9},
        {"id": 1, "amount": 6, "price": 1.5, "at": at, "tags": ["a", 'b"\n,']},
    )
    one = ("1", 6, "1.50", 1767225600, ["a", 'b"\n,'])
    assert rows() == [one, ("2", 7, None, None, None), ("3", 9, None, None, None)]
    loading.run(stock, {"id": 2}, {"id": 3}, {"id": 3, "amount": 10}, {"id": 4})
    assert rows() == [one, ("3", 10, None, None, None)]
    loading.folder.reset("stock")
    loading.run(stock)
    assert rows() == [one, ("3", 10, None, None, None)], "all of it again changes nothing"


def test_a_database_that_does_not_take_rows_says_what_to_do(
    spark: SparkSession, postgres: str
) -> None:
    rows = spark.sql("SELECT 1 AS id, 'x' AS name")
    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE TABLE named (id int, name text)")

    def refused(**arguments: object) -> str:
        given = {"url": postgres, "table": "named", "key": "id", "rows": rows, **arguments}
        written = given.pop("rows")
        with pytest.raises(barnabas.errors.BarnabasError) as error:
            to_postgres(**given).upsert(written)
        return str(error.value)

    assert "table other does not exist" in refused(table="other")
    assert "create=True" in refused(table="other")
    assert "ALTER TABLE named ADD PRIMARY KEY (id)" in refused()
    with psycopg.connect(postgres) as connection:
        connection.execute("ALTER TABLE named ADD PRIMARY KEY (id)")
    assert "latest_by" in refused(rows=rows.union(rows))
    assert 'column id: "x"' in refused(rows=rows.selectExpr("name AS id", "name"))
    assert "ALTER TABLE named ADD" in refused(rows=rows.selectExpr("id", "name", "1 AS more"))
    assert "WHERE id IS NOT NULL" in refused(rows=rows.selectExpr("int(NULL) AS id", "name"))
    assert "no column 'key'" in refused(key="key")
    assert "cast it" in refused(rows=rows.selectExpr("id", "INTERVAL 1 DAY AS name"))
    away = refused(url="postgresql://me:secret@localhost:1/db")
    assert "can't connect to postgresql://me@localhost:1/db" in away
    assert "secret" not in to_postgres("host=x password=secret", "t", key="id").describe()
    assert "is not a PostgreSQL URL" in refused(url="nonsense")
    to_postgres(postgres, "named", key="id").upsert(rows)
    assert read_postgres(spark, postgres, "named").collect() == rows.collect()


def test_a_table_of_a_database_to_a_topic(
    spark: SparkSession, postgres: str, bootstrap: str, topic: str
) -> None:
    with psycopg.connect(postgres) as connection:
        connection.execute(
            "CREATE TABLE orders AS SELECT n AS id, n * 1.25::numeric(9, 2) AS total, "
            "'2026-01-01Z'::timestamptz AS at, jsonb_build_object('n', n) AS details, "
            "n % 2 = 0 AS paid FROM generate_series(1, 3) n"
        )
    orders = read_postgres(spark, postgres, "SELECT * FROM orders WHERE id < 3 ORDER BY id")
    write_topic(orders, topic, key="id", bootstrap_servers=bootstrap)
    found = {each.key: json.loads(each.value) for each in records(bootstrap, [topic], 2)}
    assert found.keys() == {b"1", b"2"}
    assert found[b"2"]["total"] == 2.5
    assert found[b"2"]["details"] == '{"n": 2}'
    assert found[b"2"]["paid"] is True
    assert datetime.fromisoformat(found[b"2"]["at"]) == datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(barnabas.errors.BarnabasError, match="does not exist"):
        read_postgres(spark, postgres, "nothing")
    with pytest.raises(InvalidArgument, match="to_topic"):
        write_topic(spark.readStream.format("rate").load(), topic)


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_files_to_a_topic(spark: SparkSession, loading: Loading, tmp_path: Path, form: str) -> None:
    source = tmp_path / "files"

    @pipeline(
        sources={"files": from_files(str(source), EVENT, format=form)},
        sink=to_topic(loading.topic, key="id"),
    )
    def loaded(files: DataFrame) -> DataFrame:
        return files

    for start in (0, 3):
        rows = spark.range(start, start + 3).selectExpr("id", "timestamp'2026-01-01' AS at")
        rows.coalesce(1).write.mode("append").format(form).save(str(source))
        loading.run(loaded)
    found = records(loading.bootstrap, [loading.topic], 6)
    assert sorted(int(each.key) for each in found) == list(range(6))


def test_what_compaction_needs() -> None:
    with pytest.raises(InvalidArgument, match="partition_by"):
        to_parquet("table", compact=10)
    with pytest.raises(InvalidArgument, match="at least 2 files"):
        to_parquet("table", compact=1, partition_by="day")


_FILE = re.compile(
    r"^```(?:python|sql)\n(?:#|--) (\w+\.(?:py|sql))\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def test_what_the_document_shows_runs(
    spark: SparkSession,
    make_broker: MakeBroker,
    postgres: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    broker = make_broker().bootstrap
    programs = {}
    for name, text in _FILE.findall((ROOT / "docs" / "etl.md").read_text()):
        text = text.replace("postgresql://shop@localhost:5432/shop", postgres)
        text = text.replace("localhost:9092", broker)
        if "pipeline(" in text or name.endswith(".sql"):
            (tmp_path / name).write_text(text)
        else:
            programs[name] = text
    with barnabas.Admin(broker) as admin:
        for name in ("page-views", "bad-views", "customers", "orders", "readings", "bad-readings"):
            admin.create_topic(name)
        admin.create_topic("signups")
    with barnabas.Producer(broker) as producer:
        view = {"page": "/", "user": "ada", "at": "2026-01-01T12:00:00Z"}
        producer.send("page-views", json.dumps(view).encode())
        producer.send("page-views", b'{"page": "/", "user": "timeless"}')
        producer.send("customers", b'{"name": "Ada", "since": "2026-01-01"}', key=b"1")
        producer.send("customers", b'{"name": "Bob"}', key=b"2")
        producer.send("customers", None, key=b"2")
        for amount in (1.5, 2.5):
            order = {"customer": "1", "amount": amount, "at": "2026-01-01T12:00:00Z"}
            producer.send("orders", json.dumps(order).encode())
        text = (tmp_path / "sensor_readings.py").read_text()
        schema = fastavro.parse_schema(json.loads(text.split('"""')[1]))
        reading = io.BytesIO()
        row = {"sensor": "s", "celsius": 1.0, "at": 1767225600000}
        fastavro.schemaless_writer(reading, schema, row)
        producer.send("readings", reading.getvalue())
    (tmp_path / "incoming").mkdir()
    (tmp_path / "incoming" / "a.csv").write_text("user,country,at\neve,DE,2026-01-01T00:00:00Z\n")

    folder = RunFolder(tmp_path / "runs")
    for each in load(tmp_path).values():  # one after the other: each wants workers of its own
        with PipelineRun(spark, [each], broker, folder, once=True, max_restarts=3) as run:
            run.wait()
    with psycopg.connect(postgres) as connection:
        customers = connection.execute("SELECT id, name FROM customers").fetchall()
        assert customers == [("1", "Ada")]
        totals = connection.execute("SELECT customer, orders, amount::text FROM orders_per_day")
        assert totals.fetchall() == [("1", 2, "4.00")]
        connection.execute("DROP TABLE IF EXISTS orders")
        connection.execute("CREATE TABLE orders AS SELECT 7 AS number, now() AS changed")
    monkeypatch.chdir(tmp_path)  # where the pipelines are; they have run from elsewhere
    names: dict[str, pd.DataFrame] = {}
    exec(programs["read_views.py"], names)
    assert list(names["views"]["page"]) == ["/"]
    (bad,) = records(broker, ["bad-views"], 1)
    assert b"timeless" in bad.value, "which would have been in no day"
    assert list(pd.read_parquet("warehouse/page_views")["at"]) == [pd.Timestamp(view["at"])]
    assert list(pd.read_parquet("warehouse/readings")["sensor"]) == ["s"]
    monkeypatch.setattr(barnabas.spark, "session", lambda _: spark)
    exec(programs["send_orders.py"], {})
    keys = [each.key for each in records(broker, ["orders", "signups"], 4)]
    assert set(keys) == {None, b"7", b"eve"}
