"""`df.write` and `df.writeStream`: what is in topics is what was in the rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import barnabas
from tests.support.broker import BrokerProcess
from tests.support.wait import LIMIT_S

Read = Callable[..., DataFrame]


def rows_of(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((each.key, each.value, each.partition) for each in frame.collect())


def test_rows_become_records(
    spark: SparkSession, bootstrap: str, make_topic: Callable[..., str], read: Read
) -> None:
    first, second = make_topic(), make_topic()
    frame = spark.range(2_000).selectExpr(
        "CASE WHEN id % 3 > 0 THEN CAST(id AS STRING) END AS key",
        "CASE WHEN id % 5 > 0 THEN CAST(concat('v', id) AS BINARY) END AS value",
        f"if(id % 2 = 0, '{first}', '{second}') AS topic",
        "CASE WHEN id % 7 = 0 THEN 2 END AS partition",
        "array(struct('n' AS key, CAST(CAST(id AS STRING) AS BINARY) AS value)) AS headers",
        "id AS ignored",
    )
    writing = frame.write.format("barnabas").option("kafka.bootstrap.servers", bootstrap)
    writing.mode("append").save()
    found = read(subscribe=f"{first},{second}", includeHeaders="true").collect()
    assert len(found) == 2_000
    for each in found:
        ((name, number),) = each.headers
        id_ = int(number)
        assert name == "n"
        assert each.key == (str(id_).encode() if id_ % 3 else None)
        assert each.value == (f"v{id_}".encode() if id_ % 5 else None)
        assert each.topic == (first if id_ % 2 == 0 else second)
        if id_ % 7 == 0:
            assert each.partition == 2


def test_keys_go_where_other_clients_send_them(
    spark: SparkSession, bootstrap: str, topic: str, producer: barnabas.Producer, read: Read
) -> None:
    for number in range(100):
        producer.send(topic, b"ours", key=b"%d" % number)
    producer.flush()
    frame = spark.range(100).selectExpr("CAST(id AS STRING) AS key", "'theirs' AS value")
    options = {"kafka.bootstrap.servers": bootstrap, "topic": topic}
    frame.write.format("barnabas").options(**options).mode("append").save()
    found = rows_of(read(subscribe=topic))
    ours = [(key, at) for key, value, at in found if value == b"ours"]
    assert ours == [(key, at) for key, value, at in found if value == b"theirs"]


def test_the_option_replaces_the_column_topic_and_nothing_else(
    spark: SparkSession, bootstrap: str, topic: str, read: Read
) -> None:
    frame = spark.range(20).selectExpr(
        "CAST(id AS STRING) AS key", "'v' AS value", "'elsewhere' AS topic", "2 AS partition"
    )
    options = {"kafka.bootstrap.servers": bootstrap, "topic": topic}
    frame.write.format("barnabas").options(**options).mode("append").save()
    assert {at for _, _, at in rows_of(read(subscribe=topic))} == {2}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["'a' AS value", "CAST(NULL AS STRING) AS topic"], "a row has no topic"),
        (["'a' AS value"], "no topic: set the option topic"),
        (["'a' AS value", "9 AS partition", "'TOPIC' AS topic"], "partition 9"),
        (["repeat('a', 3000000) AS value", "'TOPIC' AS topic"], r"max\.message\.bytes"),
    ],
)
def test_what_can_not_be_written_fails(
    spark: SparkSession, bootstrap: str, topic: str, columns: list[str], said: str
) -> None:
    frame = spark.range(1).selectExpr(*(each.replace("TOPIC", topic) for each in columns))
    writing = frame.write.format("barnabas").option("kafka.bootstrap.servers", bootstrap)
    with pytest.raises(PySparkException, match=said):
        writing.mode("append").save()


def test_a_stream_is_written_and_goes_on_where_it_was(
    spark: SparkSession,
    bootstrap: str,
    make_topic: Callable[..., str],
    producer: barnabas.Producer,
    read: Read,
    tmp_path: Path,
) -> None:
    source, target = make_topic(), make_topic()

    def run() -> None:
        query = (
            spark.readStream.format("barnabas")
            .options(**{"kafka.bootstrap.servers": bootstrap, "startingOffsets": "earliest"})
            .options(subscribe=source, maxOffsetsPerTrigger="40")
            .load()
            .writeStream.format("barnabas")
            .options(**{"kafka.bootstrap.servers": bootstrap, "kafka.compression.type": "lz4"})
            .options(topic=target, checkpointLocation=str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(60)

    for numbers in (range(100), range(100, 150)):
        for number in numbers:
            producer.send(source, b"%d" % number, key=b"k%d" % number)
        producer.flush()
        run()
    values = sorted(int(each.value) for each in read(subscribe=target).collect())
    assert values == list(range(150))


def test_a_stream_that_is_not_allowed_to_wait_says_what_to_do(
    spark: SparkSession,
    bootstrap: str,
    topic: str,
    producer: barnabas.Producer,
    tmp_path: Path,
) -> None:
    producer.send(topic, b"a")
    producer.flush()
    settings = {"transaction.two.phase.commit.enable": "false"}
    with BrokerProcess(tmp_path / "node", settings) as strict:
        query = (
            spark.readStream.format("barnabas")
            .options(**{"kafka.bootstrap.servers": bootstrap, "startingOffsets": "earliest"})
            .option("subscribe", topic)
            .load()
            .writeStream.format("barnabas")
            .option("kafka.bootstrap.servers", strict.bootstrap)
            .option("deliveryGuarantee", "exactly-once")
            .options(topic=topic, checkpointLocation=str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        with pytest.raises(StreamingQueryException, match=r"two\.phase\.commit\.enable=true"):
            query.awaitTermination(LIMIT_S)
