"""Which columns readers make is what Spark's plan uses, and no more."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import barnabas
from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines import from_topic, pipeline, to_memory, to_topic
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.environment import BrokerRecords, Environment
from barnabas.spark.pipelines.used_columns import used_columns
from barnabas.spark.testing import run_once

SCHEMA = """kind STRING NOT NULL, at TIMESTAMP,
    bid STRUCT<price: BIGINT, item: STRUCT<name: STRING, tags: ARRAY<STRING>>>"""
NOWHERE = ClusterAddress("localhost:1")
Query = Callable[[DataFrame], DataFrame]


def over(query: Query, **arguments: Any) -> Pipeline:
    source = from_topic("events", SCHEMA, skip_undecodable=True, **arguments)

    def transform(events: DataFrame) -> DataFrame:
        return query(events)

    return pipeline(sources={"events": source}, sink=to_memory())(transform)


def used(spark: SparkSession, query: Query, **arguments: Any) -> list[str]:
    """Paths that are used, each with dots."""
    environment = Environment(spark, BrokerRecords(NOWHERE), NOWHERE)
    (found,) = used_columns(over(query, **arguments).rows(environment)).values()
    assert found.paths is not None
    return [".".join(path) for path in found.paths]


def kept(spark: SparkSession, query: Query) -> list[list[str]] | None:
    """Groups of comparisons that a reader checks."""
    environment = Environment(spark, BrokerRecords(NOWHERE), NOWHERE)
    (found,) = used_columns(over(query).rows(environment)).values()
    if found.condition is None:
        return None
    return [
        [
            " ".join(
                [
                    ".".join(each.path),
                    *([] if each.modulus is None else [f"% {each.modulus}"]),
                    each.operator,
                    *map(repr, each.values),
                ]
            )
            for each in group
        ]
        for group in found.condition
    ]


def in_sql(events: DataFrame) -> DataFrame:
    events.createOrReplaceTempView("events_of_a_test")
    return events.sparkSession.sql(
        "SELECT kind, sum(bid.price) FROM events_of_a_test WHERE bid.item.name <> '' GROUP BY kind"
    )


def joined(events: DataFrame) -> DataFrame:
    one, other = events.select("kind", "at"), events.select("kind", "bid.price")
    return one.union(other.select("kind", F.timestamp_seconds("price")))


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        (lambda events: events.select("bid.price"), ["bid.price"]),
        (lambda events: events.select("bid.item"), ["bid.item"]),
        (lambda events: events.where("bid.price > 5").select("kind"), ["bid.price", "kind"]),
        (lambda events: events.select("record.timestamp"), ["record:timestamp"]),
        (lambda events: events.groupBy().count(), []),
        (
            lambda events: (
                events.withWatermark("at", "1 minute")
                .groupBy(F.window("at", "1 minute"))
                .agg(F.max("bid.price"))
            ),
            ["at", "bid.price"],
        ),
        (lambda events: events, ["at", "bid", "kind", "record:key", "record:timestamp"]),
        (in_sql, ["bid.item.name", "bid.price", "kind"]),
        (joined, ["at", "bid.price", "kind"]),
    ],
)
def test_what_a_query_uses(spark: SparkSession, query: Query, paths: list[str]) -> None:
    assert used(spark, query) == paths


def test_what_is_not_understood_uses_all(spark: SparkSession) -> None:
    environment = Environment(spark, BrokerRecords(NOWHERE), NOWHERE)
    everything = over(lambda events: events.dropDuplicates()).rows(environment)
    for use in used_columns(everything).values():
        assert use.paths is None or {path[0] for path in use.paths} >= {"kind", "at", "bid"}


@pytest.mark.parametrize(
    ("query", "condition"),
    [
        (lambda events: events.where("kind = 'bid'"), [["kind = 'bid'"]]),
        (
            lambda events: events.where("5 < bid.price AND length(kind) > 2"),
            [["bid.price > 5", "kind is not null"]],
        ),
        (lambda events: events.where("bid.price % 7 = 0"), [["bid.price % 7 = 0"]]),
        (lambda events: events.where("kind IN ('a', 'b')"), [["kind in 'a' 'b'"]]),
        (
            lambda events: events.where("kind = 'a' OR bid.price <= 3"),
            [["bid.price <= 3"], ["kind = 'a'"]],
        ),
        (lambda events: events.where("bid IS NOT NULL"), [["bid is not null"]]),
        (
            lambda events: events.where("kind = 'a'").unionAll(events.where("kind = 'b'")),
            [["kind = 'a'"], ["kind = 'b'"]],
        ),
        (lambda events: events.where("kind = 'a'").unionAll(events), None),
        (lambda events: events.where("kind = 'a' OR length(kind) > 2"), None),
        (lambda events: events.where("kind > 'a'"), [["kind is not null"]]),
        (lambda events: events.where("at > '2026-01-01'"), [["at is not null"]]),
        (lambda events: events.where("bid.price % 0 = 0"), [["bid.price is not null"]]),
        (lambda events: events.where("NOT kind = 'a'"), [["kind is not null"]]),
        (lambda events: events.where("record.timestamp > '2026-01-01'"), None),
        (lambda events: events.select("bid.price"), None),
        (
            lambda events: events.withWatermark("at", "1 minute").where(
                "at IS NOT NULL AND kind = 'a'"
            ),
            [["kind = 'a'"]],
        ),
    ],
)
def test_which_rows_a_query_uses(
    spark: SparkSession, query: Query, condition: list[list[str]] | None
) -> None:
    assert kept(spark, query) == condition


def test_a_lean_pipeline_gives_the_same_rows(
    spark: SparkSession,
    bootstrap: str,
    make_topic: Callable[..., str],
    producer: barnabas.Producer,
    tmp_path: Path,
) -> None:
    """Also columns that are not used are checked."""
    topic, result, letters = make_topic(), make_topic(1), make_topic(1)
    bid = {"price": 7, "item": {"name": "hat", "tags": ["a"]}}
    values = [
        {"kind": "bid", "at": "2026-01-01T00:00:00Z", "bid": bid},
        {"kind": "other"},
        {"kind": "bid", "at": "yesterday", "bid": bid},
        {"at": "2026-01-01T00:00:00Z", "bid": bid},
    ]
    for value in values:
        producer.send(topic, json.dumps(value).encode())
    producer.flush()

    @pipeline(
        sources={"events": from_topic(topic, SCHEMA, dead_letters=letters)},
        sink=to_topic(result),
        name="lean",
    )
    def lean(events: DataFrame) -> DataFrame:
        return events.select("bid.item.name")

    run_once(lean, bootstrap_servers=bootstrap, checkpoints=tmp_path, spark=spark)

    def records(name: str) -> list[Row]:
        read = spark.read.format("barnabas").option("kafka.bootstrap.servers", bootstrap)
        return read.option("subscribe", name).option("includeHeaders", "true").load().collect()

    rows = records(result)
    assert sorted(json.loads(row.value)["name"] or "" for row in rows if row.value) == ["", "hat"]
    dead = records(letters)
    reasons = [bytes(header.value) for row in dead for header in row.headers][4::5]
    assert sorted(reasons) == [b"at is not TIMESTAMP: yesterday", b"kind is missing"]
