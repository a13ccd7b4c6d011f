"""What a pipeline remembers can be read while it runs: counts, both sides of a join, variables."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from barnabas.cli.pipeline.state import plain
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import (
    PipelineError,
    PipelineRun,
    RunFolder,
    for_each_batch,
    from_topic,
    pipeline,
    read_state,
    state_tables,
)
from barnabas.spark.pipelines.operations import state_tables as tables_of_state
from barnabas.spark.pipelines.operations.state_tables import table_named
from barnabas.spark.pipelines.state_files.state_rows import read_state_rows
from barnabas.spark.pipelines.state_files.unreadable import UnreadableState
from barnabas.spark.testing import START, Record
from barnabas.spark.testing.fed_records import FedRecords

VIEWS = from_topic("views", "user STRING, page STRING, at TIMESTAMP", watermark="at 1 minute")
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


def take(batch: DataFrame, _number: int) -> None:
    batch.collect()


class Counter(StatefulProcessor):
    """A variable, and a timer that is far away."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.seen = handle.getValueState("seen", "views BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        self.seen.update((len(list(rows)),))
        self.handle.registerTimer(4_000_000_000_000)
        yield Row(user=key[0])


@pipeline(sources={"views": VIEWS}, sink=for_each_batch(take), output_mode="update")
def averages(views: DataFrame) -> DataFrame:
    return views.groupBy("page").agg(F.count("*"), F.avg(F.length("user")))


@pipeline(
    sources={"views": VIEWS},
    sink=for_each_batch(take),
    conf={"spark.sql.streaming.stateStore.providerClass": IN_MEMORY},
)
def in_memory(views: DataFrame) -> DataFrame:
    """Sessions, in Spark's own store."""
    window = F.session_window("at", "30 seconds")
    return views.groupBy("user", window).agg(F.count("*"), F.max("page"))


@pipeline(sources={"views": VIEWS, "others": VIEWS}, sink=for_each_batch(take))
def joined(views: DataFrame, others: DataFrame) -> DataFrame:
    pages = others.where("page = '/x'").select("page", F.col("at").alias("other"))
    return views.where("page = '/'").drop("record").join(pages, F.expr("at = other"))


@pipeline(sources={"views": VIEWS}, sink=for_each_batch(take), trigger="1 second")
def counted(views: DataFrame) -> DataFrame:
    users = views.groupBy("user")
    return users.transformWithState(Counter(), "user STRING", "append", "processingTime")


@pipeline(sources={"views": VIEWS}, sink=for_each_batch(take))
def forgetful(views: DataFrame) -> DataFrame:
    return views


@pipeline(
    sources={"views": VIEWS},
    sink=for_each_batch(take),
    conf={"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false"},
)
def of_many_types(views: DataFrame) -> DataFrame:
    """Sessions, whose keys have a prefix, in snapshots instead of changelogs."""
    number = F.length("user")
    numbers = [
        F.max(number.cast(each)).alias(each[:3])
        for each in ("tinyint", "smallint", "float", "decimal(9,2)", "decimal(30,5)", "boolean")
    ]
    return views.groupBy("user", F.session_window("at", "30 seconds")).agg(
        *numbers,
        F.max(F.struct("page", "at", F.col("at").cast("date"))),
        F.first(F.array("page", F.lit(None))).alias("list"),
        F.first(F.create_map("page", number)),
        F.first(F.lit(None).cast("string")),
        F.max(F.encode("page", "utf-8")),
        F.first(F.col("at").cast("timestamp_ntz")),
    )


def rows(found: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(each) for each in found.collect())


def check_reading_without_spark(spark: SparkSession, checkpoint: str, name: str | None) -> None:
    by_spark = read_state(spark, checkpoint, name)
    table = table_named(state_tables(None, checkpoint), checkpoint, name)
    found = read_state_rows(Path(checkpoint), table)
    assert found.columns == by_spark.columns
    wanted = sorted(([plain(each) for each in row] for row in by_spark.collect()), key=repr)
    assert wanted
    assert sorted(([plain(each) for each in row] for row in found.rows), key=repr) == wanted


def test_state_is_read_while_pipelines_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, folder = FedRecords(tmp_path / "topics", START), RunFolder(tmp_path / "runs")
    views = [("ada", "/"), ("bob", "/x"), ("ada", "/x")]
    values = [{"user": user, "page": page, "at": START.isoformat()} for user, page in views]
    records.add_records("views", [Record(json.dumps(each).encode()) for each in values])
    pipelines = [averages, in_memory, joined, counted, of_many_types, forgetful]
    with PipelineRun(spark, pipelines, "", folder, records=records, max_restarts=0) as run:
        run.wait(lambda: all(each.progress.batches > 0 for each in run.queries))

        checkpoint = folder.checkpoint_of("averages")
        assert [each.name for each in state_tables(spark, checkpoint)] == ["groups"]
        found = read_state(spark, checkpoint)
        assert found.columns == ["page", "count", "sum", "value_count"], "those of an average too"
        assert rows(found) == [("/", 1, 3.0, 1), ("/x", 2, 6.0, 2)]

        checkpoint = folder.checkpoint_of("joined")
        assert [each.name for each in state_tables(spark, checkpoint)] == ["left", "right"]
        assert read_state(spark, checkpoint, "left").columns == ["user", "page", "at"]
        assert [each.page for each in read_state(spark, checkpoint, "right").collect()] == [
            "/x"
        ] * 2
        with pytest.raises(InvalidArgument, match="name a state; use left, right"):
            read_state(spark, checkpoint)
        with pytest.raises(InvalidArgument, match="unknown state 'up'; use left, right"):
            read_state(spark, checkpoint, "up")

        checkpoint = folder.checkpoint_of("counted")
        assert rows(read_state(spark, checkpoint, "seen")) == [("ada", 2), ("bob", 1)]
        timers = read_state(spark, checkpoint, "timers").select("user", F.unix_millis("expires"))
        assert rows(timers) == [("ada", 4_000_000_000_000), ("bob", 4_000_000_000_000)]

        assert state_tables(spark, folder.checkpoint_of("forgetful")) == []
        with pytest.raises(PipelineError, match="no state in"):
            read_state(spark, folder.checkpoint_of("forgetful"))
        run.poll()
        assert {each.state for each in run.queries} == {"running"}, "undisturbed"

    for name, table in [("averages", None), ("joined", "left"), ("joined", "right")]:
        check_reading_without_spark(spark, folder.checkpoint_of(name), table)
    check_reading_without_spark(spark, folder.checkpoint_of("of_many_types"), None)
    check_reading_without_spark(spark, folder.checkpoint_of("in_memory"), None)
    assert list((tmp_path / "runs/in_memory/checkpoint/state").rglob("*.delta"))
    assert list((tmp_path / "runs/of_many_types/checkpoint/state").rglob("*.sst")), "snapshots"
    counter = folder.checkpoint_of("counted")
    with pytest.raises(UnreadableState, match="transformWithState"):
        read_state_rows(Path(counter), state_tables(None, counter)[0])

    for each in pipelines:
        checkpoint = folder.checkpoint_of(each.name)
        without_spark = state_tables(None, checkpoint)
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(tables_of_state, "local_path", lambda _: None)
            assert without_spark == state_tables(spark, checkpoint), "what Spark says of it"

    checkpointed = tmp_path / "runs" / "averages" / "checkpoint"
    conf = json.loads((checkpointed / "offsets" / "0").read_text().splitlines()[1])["conf"]
    assert conf["spark.sql.streaming.stateStore.providerClass"] == ROCKSDB
    assert list((checkpointed / "state" / "0").glob("*/*.changelog")), "what has changed, no more"
