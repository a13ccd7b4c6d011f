"""Pipelines with a real Spark: on fed rows with a clock that stands still, and on a broker."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

import barnabas
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import (
    PipelineError,
    PipelineRun,
    RunFolder,
    for_each_batch,
    from_files,
    from_topic,
    load,
    pipeline,
    read_table,
    read_topic,
    read_undecodable,
    to_memory,
    to_parquet,
    to_topic,
)
from barnabas.spark.testing import START, Record, running
from tests.support.all_records import all_records

AVRO = json.dumps(
    {
        "type": "record",
        "name": "click",
        "fields": [
            {"name": "page", "type": "string"},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        ],
    }
)


def minute(number: int, second: int = 0) -> datetime:
    return START + timedelta(minutes=number, seconds=second)


VIEWS_PER_MINUTE = """
-- source views: topic page-views schema="page STRING NOT NULL, at TIMESTAMP"
--     watermark="at 1 minute" dead_letters=bad-views
-- source pages: table pages schema="title STRING" key=page
-- sink: topic views-per-minute key=page
SELECT pages.title, window.start AS minute, count(*) AS views
FROM views JOIN pages ON views.page = pages.page
GROUP BY pages.title, window(at, '1 minute')
"""


def test_windows_tables_late_rows_and_dead_letters(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "views_per_minute.sql").write_text(VIEWS_PER_MINUTE)
    with running(load(tmp_path)["views_per_minute"], spark=spark) as run:
        run.feed("pages", {"page": "/", "title": "Old"}, {"page": "/x", "title": "X"})
        run.feed("pages", {"page": "/", "title": "Home"}, Record(None, key="/x"))
        run.feed(
            "views",
            {"page": "/", "at": minute(0, 10)},
            {"page": "/", "at": minute(0, 50)},
            {"page": "/x", "at": minute(0, 50)},  # deleted: joins with nothing
            b'{"page": "/"',
            {"at": minute(0, 20)},
            Record(b'{"page": "\xff"}', key="k", headers=[("trace", b"1")]),
        )
        assert run.rows() == []
        run.feed("views", {"page": "/", "at": minute(5)})
        run.feed("views", {"page": "/", "at": minute(0, 55)})  # too late
        assert run.new_rows() == [{"title": "Home", "minute": START, "views": 2}]
        assert run.new_rows() == []

        bad = run.dead_letters()
        assert [each["value"] for each in bad][::2] == [b'{"page": "/"', b'{"page": "\xff"}']
        reasons = [each["headers"]["dead-letter.reason"].decode() for each in bad]
        assert reasons == [
            'the value is not a JSON object: {"page": "/"',
            "page is missing",
            "the value is not UTF-8",
        ]
        assert bad[2]["key"] == b"k"
        assert bad[2]["headers"]["trace"] == b"1"
        assert bad[2]["headers"]["dead-letter.offset"] == b"5"


def test_where_a_function_for_each_row_has_failed_is_said(spark: SparkSession) -> None:
    @F.udf("double")
    def ratio(clicks: int) -> float:
        return 1 / clicks

    @pipeline(sources={"clicks": from_topic("c", "clicks INT")}, sink=to_topic("ratios"))
    def ratios(clicks: DataFrame) -> DataFrame:
        return clicks.select(ratio("clicks").alias("ratio"))

    place = rf"^{__file__}:{ratio.func.__code__.co_firstlineno + 2}: ZeroDivisionError: division"
    with running(ratios, spark=spark) as run, pytest.raises(PipelineError, match=place):
        run.feed("clicks", {"clicks": 0})


class Silence(StatefulProcessor):
    """Tells of users from whom nothing has come for a minute."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle

    def handleInputRows(self, key, rows, timerValues) -> Iterator[Row]:
        for timer in list(self.handle.listTimers()):
            self.handle.deleteTimer(timer)
        self.handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + 60_000)
        return iter(())

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo) -> Iterator[Row]:
        yield Row(user=key[0])


def test_timers_go_by_the_clock_of_the_test(spark: SparkSession) -> None:
    @pipeline(sources={"clicks": from_topic("clicks", key="user")}, sink=to_topic("silent"))
    def silent(clicks: DataFrame) -> DataFrame:
        users = clicks.select("user").groupBy("user")
        return users.transformWithState(Silence(), "user STRING", "append", "processingTime")

    with running(silent, spark=spark) as run:
        run.feed("clicks", Record(b"", key="ada"))
        run.advance(seconds=59)
        assert run.rows() == []
        run.advance(seconds=2)
        assert run.rows() == [{"user": "ada"}]


def test_avro_files_and_the_time_of_day(spark: SparkSession) -> None:
    @pipeline(
        sources={
            "clicks": from_topic("clicks", AVRO, format="avro", dead_letters="bad", record=()),
            "old": from_files("clicks/", "page STRING, at TIMESTAMP"),
        },
        sink=to_topic("all"),
    )
    def all_clicks(clicks: DataFrame, old: DataFrame) -> DataFrame:
        return clicks.unionByName(old).withColumn("seen", F.current_timestamp())

    with running(all_clicks, spark=spark) as run:
        run.feed("clicks", {"page": "/", "at": minute(1)}, b"\x02", b"")
        run.advance(minutes=3)
        run.feed("old", {"page": "/old", "at": minute(2)})
        assert run.rows() == [
            {"page": "/", "at": minute(1), "seen": minute(0)},
            {"page": "/old", "at": minute(2), "seen": minute(3)},
        ]
        reasons = [each["headers"]["dead-letter.reason"] for each in run.dead_letters()]
        assert len(reasons) == 2
        assert all(b"it ends too early" in each for each in reasons)


def test_what_can_not_be_decoded_and_has_nowhere_to_go_is_an_error(spark: SparkSession) -> None:
    @pipeline(sources={"views": from_topic("views", "page STRING")}, sink=to_memory())
    def pages(views: DataFrame) -> DataFrame:
        return views

    with (
        running(pages, spark=spark) as run,
        pytest.raises(PipelineError, match=r"^the record views:0@1 can.t be decoded: .* nonsense$"),
    ):
        run.feed("views", {"page": "/"}, b"nonsense")


@pytest.fixture
def lower(tmp_path: Path, topic: str, make_topic: Callable[..., str]) -> "Lower":
    return Lower(topic, make_topic(1), make_topic(1), str(tmp_path / "table"))


class Lower:
    """Two pipelines on a topic: one writes to another topic, one to a table."""

    def __init__(self, source: str, target: str, bad: str, table: str) -> None:
        words = from_topic(source, "word STRING NOT NULL", key="id", dead_letters=bad)
        self.source, self.target, self.bad, self.table = source, target, bad, table

        @pipeline(sources={"words": words}, sink=to_topic(target, key="id"))
        def lower(words: DataFrame) -> DataFrame:
            return words.select("id", F.lower("word").alias("word"))

        @pipeline(
            sources={"words": from_topic(target, "word STRING", record="offset")},
            sink=to_parquet(table, partition_by="first"),
        )
        def stored(words: DataFrame) -> DataFrame:
            return words.select("word", F.substring("word", 1, 1).alias("first"))

        self.pipelines = [lower, stored]


def values(bootstrap: str, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    return [(each.key, each.value) for each in all_records(bootstrap, topic)]


def test_from_topic_to_topic_and_table(
    spark: SparkSession,
    bootstrap: str,
    producer: barnabas.Producer,
    lower: Lower,
    tmp_path: Path,
) -> None:
    """A run, and another one that goes on where the first one ended."""
    folder = RunFolder(tmp_path / "runs")
    expected: list[tuple[bytes, bytes]] = []
    for start in (0, 10):
        for number in range(start, start + 10):
            producer.send(lower.source, b'{"word": "W%d"}' % number, key=b"%d" % number)
            expected.append((b"%d" % number, b'{"id":"%d","word":"w%d"}' % (number, number)))
        producer.send(lower.source, b"bad %d" % start, key=b"k")
        producer.flush()
        with PipelineRun(spark, lower.pipelines[:1], bootstrap, folder, once=True) as run:
            run.wait()
            assert run.queries[0].progress.rows_out == 10
            assert run.queries[0].progress.dead_letters == 1 + start / 10
    with PipelineRun(spark, lower.pipelines[1:], bootstrap, folder, once=True) as run:
        run.wait()
    assert sorted(values(bootstrap, lower.target)) == sorted(expected)
    assert values(bootstrap, lower.bad) == [(b"k", b"bad 0"), (b"k", b"bad 10")]
    table = spark.read.parquet(lower.table).where("first = 'w'")
    assert sorted(row.word for row in table.collect()) == sorted(f"w{n}" for n in range(20))

    status = folder.status_of("lower")
    assert (status["state"], status["lag"], status["rows_in"]) == ("done", 0, 10)
    assert status["dead_letters"] == 2, "of all runs"
    with barnabas.Admin(bootstrap) as admin:
        group = admin.describe_group("lower")
    assert (len(group.offsets), group.lag) == (3, 0)

    words = {"schema": "word STRING", "bootstrap_servers": bootstrap, "key": "id"}
    table = read_table(spark, lower.target, **words).where("id = '7'")
    assert [row.word for row in table.collect()] == ["w7"]
    assert read_topic(spark, lower.source, record=(), **words).columns == ["id", "word"]
    bad = read_undecodable(spark, lower.source, **words)
    assert (bad.isStreaming, bad.columns) == (True, ["key", "value", "headers"])

    folder.reset("stored")
    with pytest.raises(InvalidArgument, match="--tables"):
        PipelineRun(spark, lower.pipelines[1:], bootstrap, folder).start()


def test_one_that_fails_is_started_again_from_where_it_was(
    spark: SparkSession, bootstrap: str, producer: barnabas.Producer, topic: str, tmp_path: Path
) -> None:
    seen: list[tuple[int, list[bytes]]] = []

    def take(batch: DataFrame, number: int) -> None:
        rows = [bytes(row.value) for row in batch.collect()]
        seen.append((number, rows))
        if len(seen) == 2:
            raise ValueError("the database is away")

    @pipeline(sources={"words": from_topic(topic)}, sink=for_each_batch(take), output_mode="update")
    def words(words: DataFrame) -> DataFrame:
        return words

    def send(text: bytes) -> None:
        producer.send(topic, text)
        producer.flush()

    send(b"one")
    with PipelineRun(spark, [words], bootstrap, RunFolder(tmp_path)) as run:
        run.wait(lambda: run.queries[0].progress.batches == 1)
        send(b"two")
        run.wait(lambda: run.queries[0].state == "waiting")
        line = take.__code__.co_firstlineno + 4
        assert run.queries[0].error == f"{__file__}:{line}: ValueError: the database is away"
        run.wait(lambda: run.queries[0].progress.batches == 2)
        assert run.queries[0].state == "running"
        assert run.queries[0].restarts == 1
    assert seen == [(0, [b"one"]), (1, [b"two"]), (1, [b"two"])]
    assert run.queries[0].state == "stopped"
    assert not RunFolder(tmp_path).is_running("words")


def test_what_spark_refuses_is_not_tried_again(
    spark: SparkSession, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    @pipeline(sources={"words": from_topic(topic, "word STRING")}, sink=to_topic(topic))
    def counted(words: DataFrame) -> DataFrame:
        return words.groupBy("word").count()  # without a watermark, append never has anything

    @pipeline(sources={"words": from_topic(topic, "word STRING")}, sink=to_topic(topic))
    def misspelt(words: DataFrame) -> DataFrame:
        return words.select("wrod")

    with (
        PipelineRun(spark, [counted], bootstrap, RunFolder(tmp_path)) as run,
        pytest.raises(PipelineError, match=r"counted: .*STREAMING_OUTPUT_MODE"),
    ):
        run.wait()
    with pytest.raises(PipelineError, match=r"pipeline misspelt: .*wrod"):
        PipelineRun(spark, [counted, misspelt], bootstrap, RunFolder(tmp_path)).start()
    assert not RunFolder(tmp_path).is_running("counted")
    assert RunFolder(tmp_path).status_of("counted")["state"] == "failed", "told by the first run"
    assert RunFolder(tmp_path).status_of("misspelt") == {}
