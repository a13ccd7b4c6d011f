"""What others wrote is a table, and counts as messages do."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import barnabas
from barnabas import TopicPartition, errors
from barnabas.records.columns import schema
from tests.api.tables.clients import (
    PARTITIONS,
    ROWS,
    TABLE,
    VALUES,
    Clients,
    MakeTopic,
    poll_tables,
    read_with_confluent,
    write_with_confluent,
)


def test_what_others_wrote_is_a_table(face: Clients, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    write_with_confluent(bootstrap, topic, ROWS)
    with face.consumer(topic) as consumer:
        table = poll_tables(consumer, len(ROWS))
    assert table.schema == schema.SCHEMA
    expected = read_with_confluent(bootstrap, topic, len(ROWS))
    for partition in range(PARTITIONS):
        found = [
            (
                row["key"],
                row["value"],
                [(header["key"], header["value"]) for header in row["headers"]] or None,
                int(row["timestamp"].timestamp() * 1000 + 0.5),
            )
            for row in table.to_pylist()
            if row["partition"] == partition
        ]
        assert found == expected[partition]
        offsets = [row["offset"] for row in table.to_pylist() if row["partition"] == partition]
        assert offsets == list(range(len(found)))
    assert set(table.column("topic").to_pylist()) == {topic}
    assert set(table.column("timestampType").to_pylist()) == {0}


def test_only_the_wanted_columns_come_in_the_wanted_order(
    face: Clients, bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=1)
    with face.producer() as producer:
        producer.send_table(TABLE, topic=topic)
    with face.consumer(topic) as consumer:
        table = poll_tables(consumer, len(ROWS), columns=["value", "offset"])
        assert table.column_names == ["value", "offset"]
        assert table.column("value").to_pylist() == VALUES
        empty = consumer.poll_table(timeout_s=0.05, columns="key")
        assert (empty.num_rows, empty.column_names) == (0, ["key"])
        with pytest.raises(errors.InvalidArgument, match="no such column: values"):
            consumer.poll_table(columns=["values"])


def test_what_was_read_can_be_sent(bootstrap: str, make_topic: MakeTopic) -> None:
    first, second = make_topic(), make_topic()
    with barnabas.Producer(bootstrap) as producer:
        producer.send_table(TABLE, topic=first)
    with barnabas.Consumer(bootstrap, first) as consumer:
        table = poll_tables(consumer, len(ROWS))
    with barnabas.Producer(bootstrap) as producer:
        producer.send_table(table.drop_columns("topic"), topic=second)  # to the same partitions
    assert read_with_confluent(bootstrap, first, len(ROWS)) == read_with_confluent(
        bootstrap, second, len(ROWS)
    )


def test_messages_and_tables_take_turns(face: Clients, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=1)
    place = TopicPartition(topic, 0)
    with face.producer() as producer:
        producer.send_table(TABLE, topic=topic)
    with face.consumer(topic, isolation="read_uncommitted") as consumer:
        first = [message.offset for message in consumer.poll(60, max_records=7)]
        assert consumer.position(place) == 7
        table = consumer.poll_table(10)
        assert (first, table.column("offset")[0].as_py()) == (list(range(7)), 7)
        assert consumer.position(place) == len(ROWS)
        consumer.seek(place, 490)
        assert consumer.poll_table(10).column("offset").to_pylist() == list(range(490, 500))
        consumer.seek(place, 498)
        assert [message.offset for message in consumer.poll(60)] == [498, 499]


def test_offsets_are_committed_as_for_messages(face: Clients, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=1)
    place = TopicPartition(topic, 0)
    with face.producer() as producer:
        producer.send_table(TABLE, topic=topic)
    with face.consumer(topic, group=topic, commit="manual") as consumer:
        poll_tables(consumer, len(ROWS))
        assert consumer.committed([place]) == {}
        consumer.commit()
        assert consumer.committed([place]) == {place: len(ROWS)}
    with face.producer() as producer:
        producer.send_table(TABLE.slice(0, 5), topic=topic)
    with pytest.raises(InterruptedError):
        _read_and_fail(face, topic)
    with face.consumer(topic, group=topic) as consumer:
        assert consumer.poll_table(10).column("offset").to_pylist() == list(range(500, 505))
        consumer.poll_table(0)  # it is done when the next one is asked for
        consumer.commit()
        assert consumer.committed([place]) == {place: 505}


def _read_and_fail(face: Clients, topic: str) -> None:
    with face.consumer(topic, group=topic) as consumer:
        assert consumer.poll_table(10).num_rows == 5
        raise InterruptedError("the table was not worked on")


def test_commit_done_is_for_messages(face: Clients, make_topic: MakeTopic) -> None:
    topic = make_topic()
    with (
        face.consumer(topic, group=topic, commit="done") as consumer,
        pytest.raises(errors.InvalidArgument, match="single messages"),
    ):
        consumer.poll_table()


def test_only_what_was_committed_is_read(face: Clients, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=1)
    with face.producer(transactional_id=topic) as producer:
        with face.transaction(producer):
            producer.send_table(pa.table({"value": ["a", "b"]}), topic=topic)
        with pytest.raises(InterruptedError):
            _roll_back(face, producer, pa.table({"value": ["never"]}), topic)
        with face.transaction(producer):
            producer.send_table(pa.table({"value": ["c"]}), topic=topic)
    with face.consumer(topic, isolation="read_committed") as consumer:
        table = poll_tables(consumer, 3)
    assert table.column("value").to_pylist() == [b"a", b"b", b"c"]
    assert table.column("offset").to_pylist() == [0, 1, 5]
    with face.consumer(topic, isolation="read_uncommitted") as consumer:
        table = poll_tables(consumer, 4)
    assert table.column("value").to_pylist() == [b"a", b"b", b"never", b"c"]


def _roll_back(face: Clients, producer: Any, table: pa.Table, topic: str) -> None:
    with face.transaction(producer):
        producer.send_table(table, topic=topic)
        raise InterruptedError("rolled back")


def test_a_time_of_the_broker_s_is_told(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=1, **{"message.timestamp.type": "LogAppendTime"})
    before = datetime.now(UTC)
    with barnabas.Producer(bootstrap) as producer:
        producer.send_table(TABLE, topic=topic)
    with barnabas.Consumer(bootstrap, topic) as consumer:
        table = poll_tables(consumer, len(ROWS))
    assert set(table.column("timestampType").to_pylist()) == {1}
    assert abs((table.column("timestamp")[0].as_py() - before).total_seconds()) < 30


def test_a_large_topic_comes_in_several_tables(
    face: Clients, make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.client.consumer.table_poll._ENOUGH_BYTES", 10_000)
    topic = make_topic(partitions=1)
    with face.producer(batch_bytes=4_000) as producer:
        producer.send_table(pa.table({"value": ["v" * 100] * 1_000}), topic=topic)
    with face.consumer(topic) as consumer:
        first = consumer.poll_table(10)
        assert 50 < first.num_rows < 200
        poll_tables(consumer, 1_000 - first.num_rows)
