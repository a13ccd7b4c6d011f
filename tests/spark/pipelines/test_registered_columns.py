"""Pipelines whose columns come from a schema registry."""

import io
import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import barnabas
import barnabas.spark
from barnabas.errors import InvalidArgument
from barnabas.formats.registered.wire_format import header
from barnabas.spark.decoding.registered_schemas import VARIABLE
from barnabas.spark.pipelines import (
    for_each_batch,
    from_generator,
    from_table,
    from_topic,
    pipeline,
    to_topic,
    write_topic,
)
from barnabas.spark.pipelines.definition.pipeline import Pipeline, PipelineError
from barnabas.spark.pipelines.definition.sql_file import read_sql
from barnabas.spark.testing import run_once, running
from tests.registry.registry_process import RegistryProcess, registries

ORDER = [{"name": "id", "type": "long"}, {"name": "amount", "type": "int"}]
LATER = [  # `amount` has a wider type, `country` is new, `note` replaces nothing
    {"name": "country", "type": "string", "default": "de"},
    {"name": "amount", "type": "long"},
    {"name": "id", "type": "long"},
]


@pytest.fixture(scope="module")
def registry(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    with registries(tmp_path_factory.mktemp("registry"), bootstrap) as make:
        yield make()


class Orders:
    """A topic, and what is written to it."""

    def __init__(self, topic: str, registry: RegistryProcess, producer: barnabas.Producer) -> None:
        self.topic = topic
        self.url = registry.url
        self._registry = registry
        self._producer = producer

    def register(self, fields: list[Any], subject: str | None = None) -> int:
        schema = {"type": "record", "name": "Order", "fields": fields}
        path = f"/subjects/{subject or self.topic + '-value'}/versions"
        reply = self._registry.call("POST", path, {"schema": json.dumps(schema)})
        assert reply.status == 200, reply
        found: Any = reply.body
        return int(found["id"])

    def write(self, number: int, fields: list[Any], *rows: dict[str, Any]) -> None:
        schema = fastavro.parse_schema({"type": "record", "name": "Order", "fields": fields})
        for row in rows:
            target = io.BytesIO()
            fastavro.schemaless_writer(target, schema, row)
            self.write_bytes(header(number) + target.getvalue())

    def write_bytes(self, value: bytes | None, key: bytes | None = None) -> None:
        self._producer.send(self.topic, value, key=key)
        self._producer.flush()


@pytest.fixture
def orders(
    make_topic: Callable[..., str], registry: RegistryProcess, producer: barnabas.Producer
) -> Orders:
    return Orders(make_topic(1), registry, producer)


class Run:
    """A pipeline that keeps what it has read, and its checkpoint."""

    def __init__(self, spark: SparkSession, bootstrap: str, folder: Path) -> None:
        self._spark, self._bootstrap, self._folder = spark, bootstrap, folder

    def rows(self, defined: Pipeline) -> None:
        run_once(
            defined, bootstrap_servers=self._bootstrap, checkpoints=self._folder, spark=self._spark
        )


@pytest.fixture
def run(spark: SparkSession, bootstrap: str, tmp_path: Path) -> Run:
    return Run(spark, bootstrap, tmp_path)


def collecting(name: str, found: list[Any], **arguments: Any) -> Pipeline:
    """A pipeline that appends its rows, as dicts without the record, to a list."""

    def collect(rows: DataFrame, _: int) -> None:
        found.extend(each.asDict(recursive=True) for each in rows.collect())

    @pipeline(name=name, sources={"orders": from_topic(**arguments)}, sink=for_each_batch(collect))
    def collected(orders: DataFrame) -> DataFrame:
        return orders.drop("record")

    return collected


def test_versions_dead_letters_and_new_fields(
    orders: Orders, run: Run, make_topic: Callable[..., str], bootstrap: str
) -> None:
    letters = make_topic(1)
    name = f"orders-{secrets.token_hex(4)}"
    arguments = {
        "topic": orders.topic,
        "schema": "registry",
        "registry": orders.url,
        "dead_letters": letters,
    }
    found: list[Any] = []
    first = orders.register(ORDER)
    orders.write(first, ORDER, {"id": 1, "amount": 10})
    run.rows(collecting(name, found, **arguments))
    assert found == [{"id": 1, "amount": 10}]

    # The pipeline keeps its columns; what they can't hold and what has no schema is a dead letter.
    second = orders.register([ORDER[0], ORDER[1], LATER[0]])
    with_country = [ORDER[0], ORDER[1], LATER[0]]
    orders.write(second, with_country, {"id": 2, "amount": 20, "country": "fr"})
    orders.write_bytes(header(987_654) + b"\2\2")
    orders.write_bytes(b"no Avro")
    orders.write_bytes(header(first) + b"\2")
    found.clear()
    run.rows(collecting(name, found, **arguments))
    assert found == [{"id": 2, "amount": 20}]
    with barnabas.Consumer(bootstrap, letters) as consumer:
        read: list[barnabas.Message] = []
        while len(read) < 3:
            read += consumer.poll(timeout_s=60)
    reasons = [(dict(each.headers)["dead-letter.reason"] or b"").decode() for each in read]
    assert reasons == [
        f"the registry at {orders.url} has no schema 987654",
        "the value does not begin with the id of a schema: b'no Avro'",
        f"written with schema {first}: it ends too early",
    ]

    # New fields when asked for; a field that was removed stays.
    third = orders.register([ORDER[0], LATER[0]])
    orders.write(third, [ORDER[0], LATER[0]], {"id": 3, "country": "it"})
    orders.write(first, ORDER, {"id": 4, "amount": 40})
    found.clear()
    run.rows(collecting(name, found, **arguments, evolve="add"))
    assert found == [
        {"id": 3, "amount": None, "country": "it"},
        {"id": 4, "amount": 40, "country": "de"},
    ]


def test_a_pipeline_under_test(orders: Orders, spark: SparkSession) -> None:
    first = orders.register(ORDER)
    defined = collecting("tested", [], topic=orders.topic, schema="registry", registry=orders.url)
    with running(defined, spark=spark) as run:
        run.feed("orders", {"id": 1, "amount": 10}, header(first) + b"\x04\x28")
        assert run.rows() == [{"id": 1, "amount": 10}, {"id": 2, "amount": 20}]


def test_in_sql_and_by_the_environment(
    orders: Orders, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, orders.url)
    number = orders.register(ORDER, "of-another-name")
    orders.write(number, ORDER, {"id": 1, "amount": 10}, {"id": 2, "amount": 20})
    file = tmp_path / f"large_{secrets.token_hex(4)}.sql"
    file.write_text(
        f"-- source orders: topic {orders.topic} schema=registry subject=of-another-name\n"
        f"-- sink: files {tmp_path}/out format=json\n"
        "SELECT id FROM orders WHERE amount > 15\n"
    )
    run.rows(read_sql(file))
    lines = [line for each in (tmp_path / "out").glob("*.json") for line in each.open()]
    assert [json.loads(each) for each in lines] == [{"id": 2}]


def test_tables(
    orders: Orders, run: Run, make_topic: Callable[..., str], producer: barnabas.Producer
) -> None:
    number = orders.register(ORDER)
    target = io.BytesIO()
    schema = {"type": "record", "name": "Order", "fields": ORDER}
    fastavro.schemaless_writer(target, fastavro.parse_schema(schema), {"id": 7, "amount": 70})
    orders.write_bytes(header(number) + target.getvalue(), key=b"a")
    clicks = make_topic(1)
    producer.send(clicks, b'{"id": 7}')
    producer.flush()
    found: list[Any] = []

    def collect(rows: DataFrame, _: int) -> None:
        found.extend(each.asDict() for each in rows.collect())

    @pipeline(
        name=f"clicks-{secrets.token_hex(4)}",
        sources={
            "clicks": from_topic(clicks, "id BIGINT"),
            "known": from_table(orders.topic, "registry", registry=orders.url, key="name"),
        },
        sink=for_each_batch(collect),
    )
    def joined(clicks: DataFrame, known: DataFrame) -> DataFrame:
        return clicks.join(known, "id").select("id", "name", "amount")

    run.rows(joined)
    assert found == [{"id": 7, "name": "a", "amount": 70}]


LIST = {"type": "array", "items": "string"}
TAGS = {"name": "tags", "type": LIST, "default": []}
TIME = {"type": "long", "logicalType": "timestamp-micros"}
ROWS = [Row(id=1, amount=None, tags=["a"]), Row(id=2, amount=5, tags=[])]
COLUMNS = "id BIGINT NOT NULL, amount INT, tags ARRAY<STRING>"


def values_of(topic: str, url: str, bootstrap: str, count: int) -> list[Any]:
    found: list[Any] = []
    with barnabas.Consumer(bootstrap, topic, value_format="avro", registry=url) as consumer:
        while len(found) < count:
            found += [each.value for each in consumer.poll(timeout_s=60)]
    return found


def test_rows_are_written_with_the_schema_of_their_columns(
    orders: Orders, spark: SparkSession, bootstrap: str
) -> None:
    rows = spark.createDataFrame(ROWS, COLUMNS)
    given: dict[str, Any] = {
        "bootstrap_servers": bootstrap,
        "format": "avro",
        "registry": orders.url,
    }
    with pytest.raises(InvalidArgument, match=f"no schema under subject {orders.topic}-value"):
        write_topic(rows, orders.topic, **given)
    write_topic(rows, orders.topic, key="id", register=True, **given)
    write_topic(rows.where("id = 2"), orders.topic, **given)  # with the latest version
    expected = [{"id": 1, "amount": None, "tags": ["a"]}, {"id": 2, "amount": 5, "tags": []}]
    found = values_of(orders.topic, orders.url, bootstrap, 3)
    assert sorted(found, key=lambda each: each["id"]) == [*expected, expected[1]]


def test_what_is_incompatible_fails_before_the_query_starts(orders: Orders, run: Run) -> None:
    orders.register(ORDER)

    def made(columns: str, **arguments: Any) -> Pipeline:
        @pipeline(
            name=f"made-{secrets.token_hex(4)}",
            sources={"rows": from_generator("id BIGINT sequence", rows_per_second=1)},
            sink=to_topic(orders.topic, format="avro", registry=orders.url, **arguments),
        )
        def rows(rows: DataFrame) -> DataFrame:
            return rows.selectExpr(*columns.split(","))

        return rows

    with pytest.raises(
        PipelineError, match=r"amount: is no column, and has no default \(version 1"
    ):
        run.rows(made("id"))
    with pytest.raises(PipelineError, match="amount: a column of type int64 can't be written as i"):
        run.rows(made("id,id AS amount"))
    with pytest.raises(PipelineError, match="refuses the schema of the rows"):
        run.rows(made("id,'a' AS amount", register=True))
    assert orders.register(ORDER)  # nothing was registered
    fine = made("id,CAST(id AS INT) AS amount")
    rows = from_topic(orders.topic, "registry", registry=orders.url)
    assert rows.values is not None
    assert rows.values.fields.names == ["id", "amount"]
    assert fine.sink.describe() == f"topic {orders.topic}"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"format": "avro"}, 'format="avro" needs registry='),
        ({"register": True}, 'register= needs format="avro"'),
        ({"format": "xml"}, "unknown format 'xml'"),
        ({"format": "avro", "registry": "http://x", "topic_per_row": True}, "topic_per_row"),
    ],
)
def test_arguments_of_the_sink(
    arguments: Any, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(InvalidArgument, match=problem):
        to_topic("orders", **arguments)


def test_plain_dataframes(orders: Orders, spark: SparkSession, bootstrap: str) -> None:
    first = orders.register(ORDER)
    with_country = [*ORDER, LATER[0]]
    second = orders.register(with_country)
    orders.write(first, ORDER, {"id": 1, "amount": 10})
    orders.write(second, with_country, {"id": 2, "amount": 20, "country": "fr"})
    orders.write_bytes(b"no Avro")
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": orders.topic,
        "startingOffsets": "earliest",
        "schema": "registry",
        "registry": orders.url,
        "undecodable": "skip",
    }
    found = spark.read.format("barnabas").options(**options)
    rows = [(1, 10, "de"), (2, 20, "fr")]
    assert sorted(map(tuple, found.load().collect())) == rows
    some = found.schema("id BIGINT, country STRING").load().where("id > 1")
    assert list(map(tuple, some.collect())) == [(2, "fr")]
    with pytest.raises(PySparkException, match="are not those of the registered schema"):
        found.schema("country STRING, id BIGINT").load().collect()
    stream = spark.readStream.format("barnabas").options(**options).load().writeStream
    name = f"rows_{secrets.token_hex(4)}"
    query = stream.format("memory").queryName(name).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    assert sorted(map(tuple, spark.table(name).collect())) == rows


def test_functions_of_columns(orders: Orders, spark: SparkSession) -> None:
    subject = f"{orders.topic}-value"
    orders.register([{"name": "id", "type": "long"}, {"name": "at", "type": TIME}, TAGS])
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        rows = spark.sql(
            "SELECT * FROM VALUES (1, TIMESTAMP_MICROS(5000000), array('a')),"
            " (2, TIMESTAMP_MICROS(-1), array()) AS rows(id, at, tags)"
        )
        encode = barnabas.spark.to_avro(F.struct("id", "at", "tags"), subject, registry=orders.url)
        encoded = rows.select(encode.alias("value"))
        more = encoded.union(spark.createDataFrame([(bytearray(b"no"),), (None,)], "value BINARY"))
        decoded = barnabas.spark.from_avro(
            "value", subject, registry=orders.url, undecodable="null"
        ).alias("row")
        of_row = ["row.id", "unix_micros(row.at)", "row.tags"]
        found = more.select(decoded).selectExpr(*of_row).collect()
        nothing = (None, None, None)
        assert list(map(tuple, found)) == [(1, 5000000, ["a"]), (2, -1, []), nothing, nothing]
        with pytest.raises(PySparkException, match="id of a schema: b'no'"):
            more.select(barnabas.spark.from_avro("value", subject, registry=orders.url)).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")


def test_a_subject_that_does_not_exist_is_an_error_at_the_start(orders: Orders, run: Run) -> None:
    defined = collecting("nothing", [], topic=orders.topic, schema="registry", registry=orders.url)
    with pytest.raises(PipelineError, match=f"schema of source orders: .*{orders.topic}-value"):
        run.rows(defined)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"schema": "registry"}, "needs registry="),
        ({"schema": "id INT", "registry": "http://x"}, 'registry= needs schema="registry"'),
        ({"schema": "id INT", "evolve": "add"}, 'evolve= needs schema="registry"'),
        ({"schema": "registry", "registry": "x"}, "write http"),
        ({"schema": "registry", "registry": "http://x", "evolve": "all"}, 'use "add"'),
        ({"schema": "registry", "registry": "http://x", "pattern": True}, "several topics"),
        ({"schema": "registry", "registry": "http://x", "format": "protobuf"}, "format"),
    ],
)
def test_arguments_that_do_not_fit(
    arguments: Any, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(InvalidArgument, match=problem):
        from_topic("orders", **arguments)
