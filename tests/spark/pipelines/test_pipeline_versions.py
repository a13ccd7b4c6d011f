"""Changed code alongside the old, and dead letters sent back, with a real broker."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import barnabas
from barnabas.spark.pipelines import (
    Pipeline,
    PipelineRun,
    RunFolder,
    as_version,
    from_topic,
    make_topics,
    pipeline,
    replay_dead_letters,
    to_topic,
)
from barnabas.spark.pipelines.operations.reset import reset_pipelines
from tests.support.wait import LIMIT_S


def values(bootstrap: str, topic: str, count: int) -> list[bytes | None]:
    with barnabas.Consumer(bootstrap, topic) as consumer:
        found: list[bytes | None] = []
        while len(found) < count:
            found += [each.value for each in consumer.poll(timeout_s=LIMIT_S)]
        return sorted(found, key=str)


def written(run: PipelineRun, rows: int) -> Callable[[], bool]:
    return lambda: run.queries[0].progress.rows_out == rows


def words(source: str, target: str, bad: str, schema: str) -> Pipeline:
    sources = {"words": from_topic(source, schema, dead_letters=bad)}

    # Transactions of which the brokers need not know that Spark may take its time.
    sink = to_topic(target, exactly_once=True, kafka__transaction__timeout__ms=60_000)

    @pipeline(sources=sources, sink=sink)
    def words(words: DataFrame) -> DataFrame:
        return words.select(F.upper("word").alias("word"))

    return replace(words, name=f"words-of-{source}")


def test_a_new_version_runs_alongside_the_old_one_and_takes_over(
    spark: SparkSession,
    bootstrap: str,
    admin: barnabas.Admin,
    producer: barnabas.Producer,
    make_topic: Callable[..., str],
    tmp_path: Path,
) -> None:
    source, target = make_topic(2, "lines"), make_topic(2, "words")
    folder = RunFolder(tmp_path)
    old = words(source, target, f"{target}-bad", "word STRING NOT NULL")
    changed = replace(old, transform=lambda words: words.select(F.lower("word").alias("word")))
    admin.set_configs({"retention.ms": 7_200_000}, topic=target)
    assert make_topics([changed], "v2", bootstrap) == [f"{target}-v2"], "there are no bad ones"
    assert make_topics([changed], "v2", bootstrap) == []
    assert len(admin.describe_topic(f"{target}-v2").partitions) == 2
    assert admin.configs(topic=f"{target}-v2")["retention.ms"].value == "7200000"
    (new,) = as_version([changed], "v2")
    for number in range(10):
        producer.send(source, b'{"word": "Word %d"}' % number)
    producer.flush()
    with PipelineRun(spark, [old], bootstrap, folder, max_restarts=0) as first:
        first.wait(written(first, 10))
        with PipelineRun(spark, [new], bootstrap, folder, max_restarts=0) as second:
            second.wait(written(second, 10))
            producer.send(source, b'{"word": "More"}')
            producer.flush()
            for run in (first, second):
                run.wait(written(run, 11))
            # How one sees that it has caught up.
            assert second.queries[0].status(0)["lag"] == 0
            assert folder.is_running(old.name)
            ends = admin.offsets(source).keys()
            second.wait(lambda: admin.describe_group(new.name).offsets.keys() == ends)
            second.wait(lambda: admin.describe_group(new.name).lag == 0)
            # Readers switch, and the old one goes.
            first.stop()
            reset_pipelines(folder, [old], tables=False)
            producer.send(source, b'{"word": "Most"}')
            producer.flush()
            second.wait(written(second, 12))
    numbers = range(10)
    assert values(bootstrap, target, 11) == [b'{"word":"MORE"}'] + [
        b'{"word":"WORD %d"}' % each for each in numbers
    ]
    assert values(bootstrap, f"{target}-v2", 12) == [b'{"word":"more"}', b'{"word":"most"}'] + [
        b'{"word":"word %d"}' % each for each in numbers
    ]
    assert folder.has_checkpoint(new.name)
    assert folder.names() == [new.name]


def test_dead_letters_are_sent_back_once_and_taken_by_what_was_mended(
    spark: SparkSession,
    bootstrap: str,
    producer: barnabas.Producer,
    make_topic: Callable[..., str],
    tmp_path: Path,
) -> None:
    source, target, bad = make_topic(1, "lines"), make_topic(1, "words"), make_topic(2, "bad")
    strict = words(source, target, bad, "word STRING NOT NULL")
    lenient = words(source, target, bad, "word STRING")
    folder = RunFolder(tmp_path)

    def run(which: Pipeline) -> None:
        with PipelineRun(spark, [which], bootstrap, folder, once=True, max_restarts=0) as running:
            running.wait()

    producer.send(source, b'{"word": "a"}')
    producer.send(source, b"{}", key=b"k", headers=[("trace", b"1")])
    producer.send(source, b"nonsense")
    producer.flush()
    run(strict)
    assert values(bootstrap, bad, 2) == [b"nonsense", b"{}"]
    assert replay_dead_letters(lenient, bootstrap) == Counter({(bad, source): 2})
    assert replay_dead_letters(lenient, bootstrap) == Counter(), "each is sent back once"
    with barnabas.Consumer(bootstrap, source) as consumer:
        found: list[barnabas.Message] = []
        while len(found) < 5:
            found += consumer.poll(timeout_s=LIMIT_S)
    back = {each.value: (each.key, tuple(each.headers)) for each in found[3:]}
    assert back == {b"{}": (b"k", (("trace", b"1"),)), b"nonsense": (None, ())}, "as it first was"
    run(lenient)
    assert values(bootstrap, target, 2) == [b'{"word":"A"}', b'{"word":null}']
    assert values(bootstrap, bad, 3) == [b"nonsense", b"nonsense", b"{}"], "still undecodable"
