"""Tables: what is sent as one, other clients read, and the other way round."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Protocol, Self
from uuid import uuid4

import confluent_kafka
import pyarrow as pa
import pytest

import barnabas
import barnabas.aio
from barnabas import TopicPartition, errors
from barnabas.records.columns import schema
from barnabas.records.compression import Compression

PARTITIONS = 4
NOW_MS = 1_700_000_000_000

pytestmark = pytest.mark.timeout(60)


class Face(Protocol):
    """Either face, as blocking calls."""

    def producer(self, **settings: Any) -> Any: ...
    def consumer(self, *topics: str, **settings: Any) -> Any: ...


class _Blocking:
    """The client for asyncio, each of its calls waited for."""

    def __init__(self, loop: asyncio.AbstractEventLoop, client: Any) -> None:
        self._loop = loop
        self._client = client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not callable(found) or name == "position":
            return found

        def call(*args: Any, **named: Any) -> Any:
            return self._loop.run_until_complete(_awaited(found, args, named))

        return call

    def __enter__(self) -> Self:
        self._loop.run_until_complete(self._client.__aenter__())
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.run_until_complete(self._client.__aexit__(*error))


async def _awaited(call: Callable[..., Awaitable[Any]], args: Any, named: Any) -> Any:
    return await call(*args, **named)


class Sync:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def producer(self, **settings: Any) -> Any:
        return barnabas.Producer(self._bootstrap, **settings)

    def consumer(self, *topics: str, **settings: Any) -> Any:
        return barnabas.Consumer(self._bootstrap, topics, **settings)


class Aio:
    def __init__(self, bootstrap: str, loop: asyncio.AbstractEventLoop) -> None:
        self._bootstrap = bootstrap
        self._loop = loop

    def producer(self, **settings: Any) -> Any:
        return _Blocking(self._loop, barnabas.aio.Producer(self._bootstrap, **settings))

    def consumer(self, *topics: str, **settings: Any) -> Any:
        return _Blocking(self._loop, barnabas.aio.Consumer(self._bootstrap, topics, **settings))


@pytest.fixture(params=["sync", "aio"])
def face(request: pytest.FixtureRequest, bootstrap: str) -> Iterator[Face]:
    if request.param == "sync":
        yield Sync(bootstrap)
        return
    loop = asyncio.new_event_loop()
    yield Aio(bootstrap, loop)
    loop.close()


MakeTopic = Callable[..., str]


@pytest.fixture
def make_topic(bootstrap: str) -> MakeTopic:
    def make(partitions: int = PARTITIONS, **configs: str) -> str:
        name = f"tables-{uuid4().hex[:12]}"
        with barnabas.Admin(bootstrap) as admin:
            admin.create_topic(name, partitions=partitions, configs=configs)
        return name

    return make


def read_with_confluent(bootstrap: str, topic: str, count: int) -> dict[int, list[Any]]:
    """The records of each partition: key, value, headers, timestamp."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, p, 0) for p in range(PARTITIONS)])
    found: dict[int, list[Any]] = defaultdict(list)
    deadline = time.monotonic() + 30
    while count and time.monotonic() < deadline:
        for message in consumer.consume(count, 0.5):
            assert message.error() is None
            record = (message.key(), message.value(), message.headers(), message.timestamp()[1])
            found[message.partition()].append(record)
            count -= 1
    consumer.close()
    assert not count
    return found


def all_of(found: dict[int, list[Any]]) -> list[Any]:
    return [row for rows in found.values() for row in rows]


def write_with_confluent(bootstrap: str, topic: str, rows: list[Any]) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2"})
    for key, value, headers, timestamp in rows:
        producer.produce(topic, value, key, headers=headers, timestamp=timestamp)
    producer.flush(30)


def poll_tables(consumer: Any, count: int, **named: Any) -> pa.Table:
    """So many rows; more come only if they come at once."""
    tables: list[pa.Table] = []
    deadline = time.monotonic() + 30
    while sum(map(len, tables)) < count and time.monotonic() < deadline:
        tables.append(consumer.poll_table(**named))
    table = pa.concat_tables(tables)
    assert table.num_rows == count
    return table


KEYS = [None if i % 7 == 0 else b"key-%d" % (i % 40) for i in range(500)]
VALUES = [None if i % 11 == 0 else b"value %d" % i for i in range(500)]
HEADERS = [[("n", b"%d" % i), ("null", None)] if i % 3 == 0 else [] for i in range(500)]
TIMES = [NOW_MS + i for i in range(500)]
TABLE = pa.table(
    {
        "key": pa.array(KEYS, pa.binary()),
        "value": pa.array(VALUES, pa.binary()),
        "headers": pa.array(
            [[{"key": k, "value": v} for k, v in each] for each in HEADERS],
            pa.list_(schema.HEADER_TYPE),
        ),
        "timestamp": pa.array(TIMES, pa.timestamp("ms", tz="UTC")),
    }
)
ROWS = [
    (key, value, headers or None, timestamp)
    for key, value, headers, timestamp in zip(KEYS, VALUES, HEADERS, TIMES, strict=True)
]


# -- sending -----------------------------------------------------------------------------------


def test_others_read_what_was_sent_where_they_would_have_put_it(
    face: Face, bootstrap: str, make_topic: MakeTopic
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
    face: Face, bootstrap: str, make_topic: MakeTopic
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
    monkeypatch.setattr("barnabas.client.table_columns._BLOCK_BYTES", 5_000)
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
    face: Face, bootstrap: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=1)
    with face.producer(linger_ms=1_000) as producer:
        for i in range(0, 60, 3):
            producer.send(topic, b"%d" % i)
            producer.send_table(pa.table({"value": [f"{i + 1}", f"{i + 2}"]}), topic=topic)
    found = read_with_confluent(bootstrap, topic, 60)
    assert [row[1] for row in found[0]] == [b"%d" % i for i in range(60)]


def test_a_small_buffer_makes_it_wait_and_loses_nothing(
    face: Face, bootstrap: str, make_topic: MakeTopic
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
    face: Face, bootstrap: str, make_topic: MakeTopic
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
        ({"value": ["v"], "partition": [PARTITIONS]}, errors.InvalidArgument, "counted from 0"),
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
    face: Face, make_topic: MakeTopic, columns: Any, error: Any, says: str
) -> None:
    topic = make_topic()
    with face.producer() as producer, pytest.raises(error, match=says):
        producer.send_table(pa.table(columns), topic=topic)


def test_a_topic_has_to_be_somewhere(face: Face, make_topic: MakeTopic) -> None:
    with face.producer() as producer:
        with pytest.raises(errors.InvalidArgument, match="which topic"):
            producer.send_table(pa.table({"value": ["v"]}))
        with pytest.raises(errors.InvalidArgument, match="a row has none"):
            producer.send_table(pa.table({"value": ["v", "w"], "topic": [make_topic(), None]}))
        with pytest.raises(TypeError, match="not list"):
            producer.send_table([b"v"], topic="t")
        with pytest.raises(errors.InvalidArgument, match="2 columns value"):
            producer.send_table(
                pa.Table.from_arrays([pa.array(["v"])] * 2, names=["value", "value"]), topic="t"
            )


def test_what_a_broker_refuses_can_t_be_overlooked(face: Face, make_topic: MakeTopic) -> None:
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


def test_a_closed_producer_sends_no_table(face: Face, make_topic: MakeTopic) -> None:
    producer = face.producer()
    producer.close()
    with pytest.raises(errors.ClientClosed):
        producer.send_table(TABLE, topic=make_topic())


# -- reading -----------------------------------------------------------------------------------


def test_what_others_wrote_is_a_table(face: Face, bootstrap: str, make_topic: MakeTopic) -> None:
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
    face: Face, bootstrap: str, make_topic: MakeTopic
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
        producer.send_table(table, topic=second)
    assert read_with_confluent(bootstrap, first, len(ROWS)) == read_with_confluent(
        bootstrap, second, len(ROWS)
    )


def test_messages_and_tables_take_turns(face: Face, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=1)
    place = TopicPartition(topic, 0)
    with face.producer() as producer:
        producer.send_table(TABLE, topic=topic)
    with face.consumer(topic, isolation="read_uncommitted") as consumer:
        first = [message.offset for message in consumer.poll(10, max_records=7)]
        assert consumer.position(place) == 7
        table = consumer.poll_table(10)
        assert (first, table.column("offset")[0].as_py()) == (list(range(7)), 7)
        assert consumer.position(place) == len(ROWS)
        consumer.seek(place, 490)
        assert consumer.poll_table(10).column("offset").to_pylist() == list(range(490, 500))
        consumer.seek(place, 498)
        assert [message.offset for message in consumer.poll(10)] == [498, 499]


def test_offsets_are_committed_as_for_messages(face: Face, make_topic: MakeTopic) -> None:
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


def _read_and_fail(face: Face, topic: str) -> None:
    with face.consumer(topic, group=topic) as consumer:
        assert consumer.poll_table(10).num_rows == 5
        raise InterruptedError("the table was not worked on")


def test_commit_done_is_for_messages(face: Face, make_topic: MakeTopic) -> None:
    topic = make_topic()
    with (
        face.consumer(topic, group=topic, commit="done") as consumer,
        pytest.raises(errors.InvalidArgument, match="single messages"),
    ):
        consumer.poll_table()


def test_only_what_was_committed_is_read(face: Face, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=1)
    with face.producer(transactional_id=topic) as producer:
        _send_in_transaction(face, producer, pa.table({"value": ["a", "b"]}), topic)
        with pytest.raises(InterruptedError):
            _send_in_transaction(face, producer, pa.table({"value": ["never"]}), topic, abort=True)
        _send_in_transaction(face, producer, pa.table({"value": ["c"]}), topic)
    with face.consumer(topic, isolation="read_committed") as consumer:
        table = poll_tables(consumer, 3)
    assert table.column("value").to_pylist() == [b"a", b"b", b"c"]
    assert table.column("offset").to_pylist() == [0, 1, 5]
    with face.consumer(topic, isolation="read_uncommitted") as consumer:
        table = poll_tables(consumer, 4)
    assert table.column("value").to_pylist() == [b"a", b"b", b"never", b"c"]


def _send_in_transaction(
    face: Face, producer: Any, table: pa.Table, topic: str, *, abort: bool = False
) -> None:
    if isinstance(face, Aio):

        async def send() -> None:
            async with producer._client.transaction():
                await producer._client.send_table(table, topic=topic)
                if abort:
                    raise InterruptedError("rolled back")

        face._loop.run_until_complete(send())
        return
    with producer.transaction():
        producer.send_table(table, topic=topic)
        if abort:
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
    face: Face, make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.client.table_polling._ENOUGH_BYTES", 10_000)
    topic = make_topic(partitions=1)
    with face.producer(batch_bytes=4_000) as producer:
        producer.send_table(pa.table({"value": ["v" * 100] * 1_000}), topic=topic)
    with face.consumer(topic) as consumer:
        first = consumer.poll_table(10)
        assert 50 < first.num_rows < 200
        poll_tables(consumer, 1_000 - first.num_rows)
