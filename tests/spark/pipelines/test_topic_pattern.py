"""Topics by a pattern: those that there are, and those that come later."""

import secrets
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import barnabas
from barnabas.spark.pipelines import Pipeline, PipelineRun, RunFolder, for_each_batch, from_topic
from barnabas.sync.admin import Admin


def test_topics_that_match_are_read_also_those_that_come_later(
    spark: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    name = f"shop-{secrets.token_hex(4)}"
    found: list[tuple[str, str]] = []

    @for_each_batch
    def kept(rows: DataFrame, number: int) -> None:
        found.extend(
            (row["topic"].removeprefix(name), bytes(row["value"]).decode())
            for row in rows.collect()
        )

    source = from_topic(rf"{name}-\w{{2}}", record="", pattern=True)
    defined = Pipeline("all", lambda rows: rows, {"rows": source}, kept)

    def run(*topics: str) -> list[tuple[str, str]]:
        found.clear()
        with Admin(bootstrap) as admin, barnabas.Producer(bootstrap) as producer:
            for each in topics:
                admin.create_topic(f"{name}{each}", exist_ok=True)
                producer.send(f"{name}{each}", b"hello")
        folder = RunFolder(tmp_path)
        with PipelineRun(spark, [defined], bootstrap, folder, once=True, max_restarts=0) as each:
            each.wait()
        return sorted(found)

    assert run("-eu", "-us", "-asia") == [("-eu", "hello"), ("-us", "hello")]
    assert run("-us", "-jp") == [("-jp", "hello"), ("-us", "hello")]
    assert run() == []
