"""A stream joined with a table: each micro-batch has current rows, and fetches what is new."""

import json
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import barnabas
from barnabas.spark.pipelines import (
    PipelineRun,
    RunFolder,
    from_table,
    from_topic,
    pipeline,
    to_topic,
)


def test_a_table_that_changes_between_micro_batches(
    spark: SparkSession, bootstrap: str, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    orders, users, named = (make_topic(1, each) for each in ("orders", "users", "named"))

    @pipeline(
        sources={
            "orders": from_topic(orders, "user STRING, number INT", maxOffsetsPerTrigger=1),
            "users": from_table(users, "name STRING", key="user"),
        },
        sink=to_topic(named),
    )
    def with_names(orders: DataFrame, users: DataFrame) -> DataFrame:
        return orders.join(users, "user").select("number", "name")

    folder = RunFolder(tmp_path)
    with barnabas.Producer(bootstrap, key_format="str", value_format="json") as producer:
        for number in range(50):
            producer.send(users, {"name": f"name {number}"}, key=f"user {number}")
        producer.send(orders, {"user": "user 1", "number": 1})
        producer.flush()
        names: list[object] = []
        with (
            PipelineRun(spark, [with_names], bootstrap, folder) as run,
            barnabas.Consumer(bootstrap, named, value_format="json") as consumer,
        ):
            run.wait(lambda: bool(names) or _poll(consumer, names))
            producer.send(users, {"name": "renamed"}, key="user 1")
            producer.send(users, None, key="user 2")
            producer.flush()
            producer.send(orders, {"user": "user 1", "number": 2})
            run.wait(lambda: len(names) > 1 or _poll(consumer, names))
    assert names == [{"number": 1, "name": "name 1"}, {"number": 2, "name": "renamed"}]
    kept = sorted(each.name for each in (tmp_path / "with_names" / "tables").rglob("*.arrow"))
    ranges = [[int(part) for part in each.removesuffix(".arrow").split("-")] for each in kept]
    assert ranges == [[0, 50], [50, 52]], json.dumps(kept)


def _poll(consumer: barnabas.Consumer, names: list[object]) -> bool:
    before = len(names)
    names += [message.value for message in consumer.poll(0.1)]
    return len(names) > before
