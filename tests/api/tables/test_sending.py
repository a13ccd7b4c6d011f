"""What is sent as a table, other clients read, where they would have put it."""

import time
from typing import Any

import pyarrow as pa
import pytest

import barnabas
from barnabas import errors
from barnabas.records.compression import Compression
from tests.api.tables.clients import (
    NOW_MS,
    PARTITIONS,
    ROWS,
    TABLE,
    Clients,
    MakeTopic,
    all_of,
    poll_tables,
    read_with_confluent,
    write_with_confluent,
)


def test_others_read_what_was_sent_where_they_would_have_put_it(
    face: Clients, bootstrap: str, make_topic: MakeTopic
) -> None:
    ours, theirs = make_topic(), make_topic()
    with face.producer() as producer:
        assert producer.send_table(TABLE, topic=ours) == len(ROWS)
    write_with_confluent(bootstrap, theirs, ROWS)
    found = read_with_confluent(bootstrap, ours, len(ROWS))
    expected = read_with_confluent(bootstrap, theirs, len(ROWS))
    assert sorted(all_of(found), key=lambda row: row[3]) == ROWS
    for partition in range(PARTITIONS):
        keyed = [row for row in found[partition] if row[0] is not None]
        assert keyed == [row for row in expected[partition] if row[0] is not None]
        assert found[partition] == sorted(found[partition], key=lambda row: row[3])


@pytest.mark.parametrize("compression", [str(each) for each in Compression])
def test_every_compression(compression: str, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    with barnabas.Producer(bootstrap, compression=compression) as producer:
        producer.send_table(TABLE, topic=topic)
    found = read_with_confluent(bootstrap, topic, len(ROWS))
    assert sorted(all_of(found), key=lambda row: row[3]) == ROWS


def test_topic_and_partition_may_be_columns(
    face: Clients, bootstrap: str, make_topic: MakeTopic
) -> None:
    first, second = make_topic(), make_topic()
    table = pa.table(
        {
            "value": [f"{i}" for i in range(100)],
            "topic": pa.array([first if i % 3 else second for i in range(100)]).dictionary_encode(),
            "partition": pa.array([None if i % 5 == 0 else i % 4 for i in range(100)], pa.int64()),
        }
    )
    with face.producer() as producer:
        producer.send_table(table)
    for topic, numbers in ((first, [i for i in range(100) if i % 3]), (second, range(0, 100, 3))):
        found = read_with_confluent(bootstrap, topic, len(numbers))
        for partition in range(PARTITIONS):
            values = [int(row[1]) for row in found[partition]]
            assert [i for i in values if i % 5] == [
                i for i in numbers if i % 5 and i % 4 == partition
            ]
        assert sorted(int(row[1]) for row in all_of(found)) == list(numbers)


def test_the_argument_goes_before_the_column_topic(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    table = pa.table({"value": ["v"], "topic": ["there-is-no-such-topic"]})
    with barnabas.Producer(bootstrap) as producer:
        producer.send_table(table, topic=topic)
    assert sum(map(len, read_with_confluent(bootstrap, topic, 1).values())) == 1


def test_the_column_partition_belongs_to_the_column_topic(
    bootstrap: str, make_topic: MakeTopic
) -> None:
    many, one = make_topic(), make_topic(partitions=1)
    columns = {"key": [f"{i}" for i in range(50)], "partition": [3] * 50}
    elsewhere = pa.table({**columns, "topic": ["elsewhere"] * 50})
    with barnabas.Producer(bootstrap) as producer:
        producer.send_table(elsewhere, topic=one)
        producer.send_table(elsewhere, topic=many)
    assert len(read_with_confluent(bootstrap, one, 50)[0]) == 50
    assert len(read_with_confluent(bootstrap, many, 50)) == PARTITIONS
    chosen = make_topic()
    with barnabas.Producer(bootstrap) as producer:
        producer.send_table(pa.table(columns), topic=chosen)
    assert list(read_with_confluent(bootstrap, chosen, 50)) == [3]


def test_rows_without_a_key_are_spread_batch_by_batch(
    bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    with barnabas.Producer(bootstrap, batch_bytes=20_000) as producer:
        producer.send_table(pa.table({"value": ["v" * 100] * 2_000}), topic=topic)
    found = read_with_confluent(bootstrap, topic, 2_000)
    assert set(found) == set(range(PARTITIONS))
    assert all(300 < len(rows) < 700 for rows in found.values())


def test_order_is_kept_across_chunks_blocks_and_batches(
    bootstrap: str, make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.client.producer.table_columns._BLOCK_BYTES", 5_000)
    topic = make_topic(partitions=1)
    table = pa.concat_tables(
        [pa.table({"value": [f"{at + i}" for i in range(7)]}) for at in range(0, 2_100, 7)]
    )
    with barnabas.Producer(bootstrap, batch_bytes=2_000) as producer:
        for at in range(0, 2_100, 700):
            producer.send_table(table.slice(at, 700), topic=topic)
    with barnabas.Consumer(bootstrap, topic) as consumer:
        values = poll_tables(consumer, 2_100).column("value").to_pylist()
    assert values == [b"%d" % i for i in range(2_100)]


def test_tables_and_single_records_keep_their_order(
    face: Clients, bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=1)
    with face.producer(linger_ms=1_000) as producer:
        for i in range(0, 60, 3):
            producer.send(topic, b"%d" % i)
            producer.send_table(pa.table({"value": [f"{i + 1}", f"{i + 2}"]}), topic=topic)
    found = read_with_confluent(bootstrap, topic, 60)
    assert [row[1] for row in found[0]] == [b"%d" % i for i in range(60)]


def test_a_small_buffer_makes_it_wait_and_loses_nothing(
    face: Clients, bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    values = [b"%d" % i * 50 for i in range(3_000)]
    with face.producer(buffer_bytes=60_000, batch_bytes=20_000) as producer:
        producer.send_table(pa.table({"key": values, "value": values}), topic=topic)
    found = read_with_confluent(bootstrap, topic, len(values))
    assert sorted(row[1] for row in all_of(found)) == sorted(values)


def test_rows_without_a_time_get_the_present(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=1)
    times = pa.array([NOW_MS * 1_000_000 + 999_999, None], pa.timestamp("ns"))
    before = time.time_ns() // 1_000_000
    with barnabas.Producer(bootstrap) as producer:
        producer.send_table(pa.table({"value": ["a", "b"], "timestamp": times}), topic=topic)
    first, second = read_with_confluent(bootstrap, topic, 2)[0]
    assert first[3] == NOW_MS
    assert before <= second[3] <= time.time_ns() // 1_000_000


def test_a_partitioner_of_one_s_own_is_asked(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()

    def by_length(topic: str, key: bytes | None, value: bytes | None, partitions: int) -> int:
        return len(value or b"") % partitions

    table = pa.table({"key": ["k"] * 20, "value": ["v" * i for i in range(20)]})
    with barnabas.Producer(bootstrap, partitioner=by_length) as producer:
        producer.send_table(table, topic=topic)
    for partition, rows in read_with_confluent(bootstrap, topic, 20).items():
        assert {len(row[1]) % PARTITIONS for row in rows} == {partition}


def test_record_batches_and_frames_of_others_are_tables(
    face: Clients, bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=1)

    class Frame:
        """What data frames of other libraries have in common."""

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return pa.table({"value": ["c"]}).__arrow_c_stream__(requested_schema)

    with face.producer() as producer:
        producer.send_table(pa.table({"value": ["a"]}), topic=topic)
        producer.send_table(pa.record_batch({"value": ["b"]}), topic=topic)
        producer.send_table(Frame(), topic=topic)
        assert producer.send_table(pa.table({"value": pa.array([], pa.binary())}), topic=topic) == 0
    assert [row[1] for row in read_with_confluent(bootstrap, topic, 3)[0]] == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    ("columns", "error", "says"),
    [
        ({"values": ["v"]}, errors.InvalidArgument, "column values would not be sent"),
        ({"offset": [1]}, errors.InvalidArgument, "nothing to send"),
        ({"value": [1.5]}, TypeError, "column value is double"),
        ({"key": [[1]], "value": ["v"]}, TypeError, "column key is list"),
        ({"value": ["v"], "headers": ["h"]}, TypeError, "column headers is string"),
        ({"value": ["v"], "timestamp": ["now"]}, TypeError, "column timestamp is string"),
        ({"value": ["v"], "timestamp": [-1]}, errors.InvalidArgument, "before 1970"),
        ({"value": ["v"], "topic": [3]}, TypeError, "column topic is int64"),
        ({"value": ["v"], "partition": ["p"]}, TypeError, "column partition is string"),
        (
            {"value": ["v"], "partition": [PARTITIONS]},
            errors.InvalidArgument,
            f"column partition: partition {PARTITIONS}: .*counted from 0",
        ),
        ({"value": ["v"], "partition": [-1]}, errors.InvalidArgument, "counted from 0"),
        ({"value": ["v"], "partition": [2**40]}, errors.InvalidArgument, "counted from 0"),
        (
            {"value": ["v"], "headers": [[{"key": None, "value": b"x"}]]},
            ValueError,
            "column headers: a header, or the key of one, is null",
        ),
    ],
)
def test_what_can_t_be_sent_is_refused_by_name(
    face: Clients, make_topic: MakeTopic, columns: Any, error: Any, says: str
) -> None:
    topic = make_topic()
    with face.producer() as producer, pytest.raises(error, match=says):
        producer.send_table(pa.table(columns), topic=topic)


def test_a_topic_has_to_be_somewhere(face: Clients, make_topic: MakeTopic) -> None:
    with face.producer() as producer:
        with pytest.raises(errors.InvalidArgument, match="no topic"):
            producer.send_table(pa.table({"value": ["v"]}))
        with pytest.raises(errors.InvalidArgument, match="a row has no topic"):
            producer.send_table(pa.table({"value": ["v", "w"], "topic": [make_topic(), None]}))
        with pytest.raises(TypeError, match="not list"):
            producer.send_table([b"v"], topic="t")
        with pytest.raises(errors.InvalidArgument, match="2 columns value"):
            producer.send_table(
                pa.Table.from_arrays([pa.array(["v"])] * 2, names=["value", "value"]), topic="t"
            )


def test_what_a_broker_refuses_can_t_be_overlooked(face: Clients, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=1, **{"max.message.bytes": "1000"})
    with face.producer() as producer:
        producer.send_table(pa.table({"value": ["v" * 2_000, "small"]}), topic=topic)
        with pytest.raises(errors.DeliveryFailed, match="1 record"):
            producer.flush()
    with face.consumer(topic) as consumer:
        assert poll_tables(consumer, 1).column("value").to_pylist() == [b"small"]


def test_an_enormous_row_is_refused_at_once(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=1)
    with barnabas.Producer(bootstrap) as producer:
        producer._producer.max_request_bytes = 200_000
        with pytest.raises(errors.RecordTooLarge, match="150"):
            producer.send_table(pa.table({"value": ["v" * 150_000]}), topic=topic)


def test_a_closed_producer_sends_no_table(face: Clients, make_topic: MakeTopic) -> None:
    producer = face.producer()
    producer.close()
    with pytest.raises(errors.ClientClosed):
        producer.send_table(TABLE, topic=make_topic())
