"""Traces of OpenTelemetry through pipelines: from the records that are read to those written."""

import json
import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import barnabas
from barnabas.errors import InvalidArgument
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines import from_topic, pipeline, to_memory, to_topic
from barnabas.spark.pipelines.environment import BrokerRecords, Environment
from barnabas.spark.pipelines.sinks.sink import Sink
from barnabas.spark.pipelines.traces.trace_column import is_trace_column
from barnabas.spark.testing import run_once

NOWHERE = ClusterAddress("localhost:1")
SCHEMA = "id BIGINT, amount DOUBLE, tags ARRAY<STRING>"
Query = Callable[[DataFrame], DataFrame]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The spans of this process; other tests have no SDK loaded, as most users don't."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    for name in [each for each in sys.modules if each.startswith("opentelemetry.sdk")]:
        del sys.modules[name]


def test_what_is_made_of_a_traced_record_belongs_to_its_trace(
    spark: SparkSession, bootstrap: str, tmp_path: Path, spans: Any
) -> None:
    name = secrets.token_hex(4)
    orders, invoices, totals = f"orders-{name}", f"invoices-{name}", f"totals-{name}"
    with barnabas.Admin(bootstrap) as admin:
        for each in (orders, invoices, totals):
            admin.create_topic(each)
    wanted = {}
    with barnabas.Producer(bootstrap) as producer:
        for number in range(3):
            with trace.get_tracer("shop").start_as_current_span("order") as span:
                wanted[number] = span.get_span_context().trace_id
                value = json.dumps({"id": number, "amount": 10}).encode()
                producer.send(orders, value, headers=[("tenant", b"ada")])
        producer.send(orders, b'{"id": 3, "amount": 10}')

    source = from_topic(orders, SCHEMA, traces=True)

    @pipeline(sources={"orders": source}, sink=to_topic(invoices, key="id"))
    def bill(orders: DataFrame) -> DataFrame:
        return orders.where("amount > 0").selectExpr("id", "amount * 1.2 AS total")

    @pipeline(sources={"orders": source}, sink=to_topic(totals), output_mode="complete")
    def total(orders: DataFrame) -> DataFrame:
        return orders.groupBy().agg(F.sum("amount").alias("total"))

    run_once(bill, total, bootstrap_servers=bootstrap, checkpoints=tmp_path, spark=spark)

    found = {}
    with barnabas.Consumer(bootstrap, [invoices, totals]) as consumer:
        while len(found) < 5:
            for message in consumer.poll(60):
                said = json.loads(message.value)
                assert said.keys() <= {"id", "total"}
                found[said.get("id", "sum")] = dict(message.headers)
    assert {number: trace_id(found.pop(number)["traceparent"]) for number in wanted} == wanted
    assert found == {3: {}, "sum": {}}

    batches = {each.name: each for each in spans.get_finished_spans() if each.name != "order"}
    assert batches.keys() == {"batch bill", "batch total"}
    for each in batches.values():
        links = {link.context.trace_id for link in each.links}
        assert links
        assert links <= set(wanted.values())
        assert each.attributes["messaging.batch.message_count"] == 4
        assert each.parent is None
        assert each.start_time < each.end_time


def trace_id(traceparent: bytes | None) -> int:
    return int((traceparent or b"").split(b"-")[1], 16)


def in_sql(orders: DataFrame) -> DataFrame:
    orders.createOrReplaceTempView("orders_of_a_test")
    return orders.sparkSession.sql(
        "SELECT id, amount * 2 AS double FROM (SELECT * FROM orders_of_a_test WHERE id > 5) AS o"
    )


@pytest.mark.parametrize(
    ("query", "is_carried"),
    [
        (lambda orders: orders.select("id"), True),
        (lambda orders: orders.selectExpr("id + 1 AS n").where("n > 2").select("n"), True),
        (lambda orders: orders.select("id", F.explode("tags")), True),
        (lambda orders: orders.withColumn("at", F.current_timestamp()).drop("amount"), True),
        (lambda orders: orders.select("id", "amount").dropDuplicates(["id"]), True),
        (in_sql, True),
        (lambda orders: orders.groupBy("id").count(), False),
        (
            lambda orders: orders.groupBy("id").agg(
                F.first("trace_headers").alias("trace_headers")
            ),
            True,
        ),
        (lambda orders: orders.select("id").union(orders.select("id")), False),
        (lambda orders: orders.select("id").mapInArrow(lambda rows: rows, "id BIGINT"), False),
    ],
)
def test_rows_that_come_of_one_record_have_its_trace(
    spark: SparkSession, query: Query, is_carried: bool
) -> None:
    columns = result(spark, query, to_topic("results")).columns
    assert ("trace_headers" in columns) is is_carried
    expected = [each for each in result(spark, query, to_memory()).columns if each in columns]
    assert columns[: len(expected)] == expected


def test_only_columns_that_are_used_are_read(spark: SparkSession) -> None:
    from barnabas.spark.pipelines.used_columns import used_columns

    rows = result(spark, lambda orders: orders.select("id"), to_topic("results"))
    (use,) = used_columns(rows).values()
    assert use.paths == (("id",), ("record:headers",))


def test_a_column_of_the_same_name_is_an_error(spark: SparkSession) -> None:
    source = from_topic("orders", "trace_headers STRING", traces=True)
    with pytest.raises(InvalidArgument, match="adds a column trace_headers"):
        source.load(Environment(spark, BrokerRecords(NOWHERE), NOWHERE))


@pytest.mark.usefixtures("spark")  # a column needs a session
def test_a_column_of_the_user_is_not_taken_for_the_trace() -> None:
    from pyspark.sql.types import StructType

    for own in ("ARRAY<STRING>", "ARRAY<STRUCT<key: STRING, value: STRING>>", "STRING"):
        assert not is_trace_column(StructType.fromDDL(f"trace_headers {own}")[0])
    ours = "trace_headers ARRAY<STRUCT<key: STRING NOT NULL, value: BINARY>>"
    assert is_trace_column(StructType.fromDDL(ours)[0])


def result(spark: SparkSession, query: Query, sink: Sink) -> DataFrame:
    @pipeline(sources={"orders": from_topic("orders", SCHEMA, traces=True)}, sink=sink)
    def defined(orders: DataFrame) -> DataFrame:
        return query(orders)

    return defined.rows(Environment(spark, BrokerRecords(NOWHERE), NOWHERE))
