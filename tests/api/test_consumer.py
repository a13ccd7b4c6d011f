"""Reading: message by message and in lists, from anywhere, and what can go wrong. Both faces."""

import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import Any

import pytest

import barnabas
from barnabas import Message, TopicPartition
from barnabas.errors import (
    BrokerUnreachable,
    ClientClosed,
    ConsumerBroken,
    DataLost,
    InvalidArgument,
    UndecodableRecord,
)
from tests.api.conftest import Fill, fill, until_begun
from tests.api.faces import Face
from tests.support.wait import LIMIT_S, wait_until

BEGIN = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)  # 1_700_000_000_000


def numbers(messages: Any) -> list[int]:
    return [int(message.value) for message in messages]


def read(consumer: Any, count: int) -> list[int]:
    return numbers(islice(consumer, count))


def test_messages_come_whole_and_in_order(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(3)
    with face.consumer(servers, topic) as consumer:
        first, *others = islice(consumer, 3)
    assert first == Message(topic, 0, 0, 1_700_000_000_000, b"k0", b"0", (("n", b"0"),))
    assert first.timestamp == BEGIN
    assert [(each.offset, each.value) for each in others] == [(1, b"1"), (2, b"2")]


def test_the_loop_waits_for_what_is_published_later(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic = topic_with(2)
    later = threading.Timer(0.3, fill, (servers, topic, range(2, 5)))
    with face.consumer(servers, topic, max_wait_ms=600_000) as consumer:
        messages = iter(consumer)
        assert numbers(islice(messages, 2)) == [0, 1]
        later.start()
        assert numbers(islice(messages, 3)) == [2, 3, 4]
    later.join()


def test_a_loop_goes_on_where_the_last_one_was_left(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic = topic_with(30)
    with face.consumer(servers, topic) as consumer:
        assert read(consumer, 4) == [0, 1, 2, 3]
        assert read(consumer, 3) == [4, 5, 6]
        assert numbers(consumer.poll(60, max_records=5)) == [7, 8, 9, 10, 11]
        assert consumer.position(TopicPartition(topic, 0)) == 12
        assert read(consumer, 2) == [12, 13]
        assert consumer.position(TopicPartition(topic, 0)) == 14
        assert numbers(consumer.poll(60)) == list(range(14, 30))


def test_poll_waits_only_if_there_is_nothing(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(25)
    with face.consumer(servers, topic) as consumer:
        lists = [consumer.poll(60, max_records=10) for _ in range(3)]
        assert [len(each) for each in lists] == [10, 10, 5]
        assert numbers(chain(*lists)) == list(range(25))
        began = time.monotonic()
        assert consumer.poll(0.2) == []
        assert time.monotonic() - began > 0.15
        assert consumer.poll(0) == []


def test_batches_are_never_empty(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(25)
    later = threading.Timer(0.2, fill, (servers, topic, range(25, 30)))
    with face.consumer(servers, topic) as consumer:
        batches = consumer.batches(max_records=20)
        assert numbers(next(batches)) == list(range(20))
        assert numbers(next(batches)) == list(range(20, 25))
        later.start()
        assert numbers(next(batches))[0] == 25
    later.join()


def test_all_partitions_are_read_each_in_order(face: Face, servers: str, topic_with: Fill) -> None:
    topics = [topic_with(40, 4), topic_with(10)]
    with face.consumer(servers, topics) as consumer:
        messages = list(islice(consumer, 50))
        assert len(consumer.assignment) == 5
    for partition in range(4):
        mine = [m for m in messages if (m.topic, m.partition) == (topics[0], partition)]
        assert numbers(mine) == list(range(partition, 40, 4))


def test_partitions_that_are_added_are_read_too(
    face: Face, servers: str, topic_with: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.client.consumer.all_partitions.METADATA_MAX_AGE_MS", 50)
    topic = topic_with(3)
    with face.consumer(servers, topic, start="latest") as consumer:
        until_begun(consumer, 1)
        with barnabas.Admin(servers) as admin:
            admin.add_partitions(topic, 3)
        fill(servers, topic, range(3), 3)
        assert sorted(read(consumer, 3)) == [0, 1, 2]
        assert len(consumer.assignment) == 3


def test_where_to_start(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(10)
    with face.consumer(servers, topic, start=BEGIN + timedelta(milliseconds=7)) as consumer:
        assert read(consumer, 3) == [7, 8, 9]
    with face.consumer(servers, topic, start="latest") as consumer:
        until_begun(consumer, 1)
        fill(servers, topic, range(10, 12))
        assert read(consumer, 2) == [10, 11]


def test_seeking(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(20, 2)
    even, odd = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with face.consumer(servers, topic) as consumer:
        assert len(read(consumer, 20)) == 20
        assert consumer.lag() == {even: 0, odd: 0}
        consumer.seek(even, 8)
        assert read(consumer, 2) == [16, 18]
        consumer.seek_to_beginning(odd)
        assert consumer.lag() == {even: 0, odd: 10}
        assert read(consumer, 3) == [1, 3, 5]
        consumer.seek_to_end()
        assert consumer.poll(0.2) == []
        assert consumer.lag() == {even: 0, odd: 0}
        consumer.seek_to_time(BEGIN + timedelta(milliseconds=17))
        assert sorted(read(consumer, 3)) == [17, 18, 19]
        consumer.seek_to_time(datetime.now(UTC) + timedelta(days=1), even)
        assert consumer.position(even) == 10
        consumer.seek_to_beginning()
        assert sorted(read(consumer, 20)) == list(range(20))


@pytest.mark.parametrize("group", [None, "readers"])
def test_seeking_before_anything_was_read(
    face: Face, servers: str, topic_with: Fill, group: str | None
) -> None:
    topic = topic_with(10, 2)
    event: list[int] = []
    settings = {"group": group and f"{group}-{topic}", "on_assigned": event.append}
    with face.consumer(servers, topic, **settings) as consumer:
        with pytest.raises(InvalidArgument, match="when it begins to read"):
            consumer.position(TopicPartition(topic, 0))
        assert set(consumer.lag().values()) == {5}
        consumer.seek_to_end(TopicPartition(topic, 1))
        assert read(consumer, 5) == [0, 2, 4, 6, 8]
        assert consumer.poll(0.2) == []
    assert len(event) == (1 if group else 0)


def test_seeking_in_the_middle_of_a_loop(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(20)
    partition = TopicPartition(topic, 0)
    seen = []
    with face.consumer(servers, topic) as consumer:
        for message in consumer:
            seen.append(int(message.value))
            if seen == [0, 1, 2]:
                consumer.seek(partition, 15)
                assert consumer.position(partition) == 15
            elif message.offset == 17 and len(seen) < 10:
                consumer.seek(partition, 1)
            elif len(seen) == 10:
                break
    assert seen == [0, 1, 2, 15, 16, 17, 1, 2, 3, 4]


def test_seeking_does_not_wait_for_a_long_poll(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(5)
    with face.consumer(servers, topic, max_wait_ms=600_000) as consumer:
        assert len(read(consumer, 5)) == 5
        time.sleep(0.1)  # now it waits for more
        consumer.seek_to_beginning()
        assert read(consumer, 5) == [0, 1, 2, 3, 4]


def test_pausing(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(20, 2)
    even, odd = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with face.consumer(servers, topic) as consumer:
        first = next(iter(consumer))
        paused = TopicPartition(topic, first.partition)
        consumer.pause(paused)
        others = [n for n in range(20) if n % 2 != first.partition]
        assert read(consumer, 10) == others
        assert consumer.poll(0.2) == []
        consumer.resume(paused)
        mine = [n for n in range(20) if n % 2 == first.partition]
        assert read(consumer, 9) == mine[1:]
        consumer.pause()
        fill(servers, topic, range(20, 22), 2)
        assert consumer.poll(0.3) == []
        consumer.resume()
        assert sorted(read(consumer, 2)) == [20, 21]
        assert (consumer.position(even), consumer.position(odd)) == (11, 11)


def test_partitions_assigned_by_hand(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(20, 2)
    even, odd = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with face.consumer(servers, group=f"g-{topic}") as consumer:
        consumer.assign({odd: 7})
        assert read(consumer, 3) == [15, 17, 19]
        consumer.assign({even: 9})
        assert read(consumer, 1) == [18]
        assert consumer.assignment == [even]
        consumer.commit({odd: 4})
        assert consumer.committed([even, odd]) == {odd: 4}
        with pytest.raises(InvalidArgument, match="not assigned"):
            consumer.seek(odd, 0)
        with pytest.raises(InvalidArgument, match="negative"):
            consumer.seek(even, -1)


def test_what_cannot_be_decoded_is_raised_until_it_is_passed_over(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic = topic_with(0)
    with barnabas.Producer(servers) as producer:
        for value in (b"1", b"2", b"{", None, b'"\xc3\xa9"'):
            producer.send(topic, value, b"key")
    settings = {"key_format": "str", "value_format": "json"}
    with face.consumer(servers, topic, group=f"g-{topic}", **settings) as consumer:
        assert [(m.key, m.value) for m in islice(consumer, 2)] == [("key", 1), ("key", 2)]
        for _ in range(2):
            with pytest.raises(UndecodableRecord, match=r"value .* at offset 2 .*seek past") as bad:
                consumer.poll(60)
        assert bad.value.message[:6] == (topic, 0, 2, bad.value.message.timestamp_ms, b"key", b"{")
        consumer.seek(TopicPartition(topic, 0), 3)
        assert [m.value for m in consumer.poll(60)] == [None, "é"]
    with face.consumer(servers, topic, group=f"g-{topic}") as consumer:
        assert consumer.poll(0.3) == []


def test_deleted_messages_are_missed(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(10)
    partition = TopicPartition(topic, 0)
    with barnabas.Admin(servers) as admin:
        admin.delete_records({partition: 6})
    with face.consumer(servers) as consumer:
        consumer.assign({partition: 3})
        for _ in range(2):
            with pytest.raises(DataLost, match=rf"{topic}-0 has no offset 3.*on_data_loss"):
                consumer.poll(60)
        consumer.seek_to_beginning()
        assert read(consumer, 4) == [6, 7, 8, 9]
    with face.consumer(servers, on_data_loss="earliest") as consumer:
        consumer.assign({partition: 3})
        assert read(consumer, 4) == [6, 7, 8, 9]
    with face.consumer(servers, on_data_loss="latest") as consumer:
        consumer.assign({partition: 3})
        assert consumer.poll(0.3) == []
        assert consumer.position(partition) == 10


def test_what_cannot_be_right_is_refused(face: Face, servers: str, topic_with: Fill) -> None:
    for wrong, complaint in [
        ({"start": "first"}, 'start is "earliest", "latest" or a datetime'),
        ({"start": datetime(2024, 1, 1)}, "no time zone"),  # noqa: DTZ001 - that is the point
        ({"commit": "never"}, "commit='never' is unknown: it is one of auto, done, manual"),
        ({"isolation": "none"}, "isolation"),
        ({"on_data_loss": "ignore"}, "on_data_loss"),
        ({"commit": "done"}, "commit='done' needs a group"),
        ({"commit": "manual"}, "commit='manual' needs a group"),
        ({"close_timeout_s": -1}, "close_timeout_s"),
        ({"value_format": "yaml"}, "value_format"),
        ({"group": "g", "assignors": ["best"]}, "unknown assignors"),
    ]:
        with pytest.raises(InvalidArgument, match=complaint):
            face.consumer(servers, "t", **wrong)
    for topics in (["t", 3], b"t", 3, None):
        with pytest.raises(TypeError, match="topics is a str"):
            face.consumer(servers, topics)
    with face.consumer(servers, topic_with(1)) as consumer:
        with pytest.raises(InvalidArgument, match='commit="done"'):
            consumer.done(next(iter(consumer)))
        with pytest.raises(InvalidArgument, match="without a group"):
            consumer.commit()
        with pytest.raises(InvalidArgument, match="assigned partitions"):
            consumer.assign({TopicPartition("t", 0): 0})
        for timeout_s in ("1", None):
            with pytest.raises(TypeError, match="timeout_s is a number"):
                consumer.poll(timeout_s)
            with pytest.raises(TypeError, match="timeout_s is a number"):
                consumer.poll_table(timeout_s)


def test_a_broker_that_is_not_there() -> None:
    with (
        barnabas.Consumer("127.0.0.1:1", "t") as consumer,
        pytest.raises(BrokerUnreachable, match=r"127\.0\.0\.1:1"),
    ):
        consumer.poll(60)


def test_who_is_told_nothing_to_read_says_so(face: Face, servers: str, topic_with: Fill) -> None:
    with face.consumer(servers) as consumer:
        with pytest.raises(InvalidArgument, match="give the consumer topics, or assign"):
            consumer.poll(1)
        consumer.assign({TopicPartition(topic_with(1), 0): 0})
        assert read(consumer, 1) == [0]


def test_a_closed_consumer_reads_nothing(face: Face, servers: str, topic_with: Fill) -> None:
    with face.consumer(servers, topic_with(5)) as consumer:
        assert len(read(consumer, 2)) == 2
    with pytest.raises(ClientClosed):
        consumer.poll(1)
    with pytest.raises(ClientClosed):
        read(consumer, 1)


def test_a_broken_consumer_says_so(
    face: Face, servers: str, topic_with: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("barnabas.client.consumer.broker_fetcher.fetch", broken)
    with face.consumer(servers, topic_with(1)) as consumer:
        for _ in range(2):
            with pytest.raises(ConsumerBroken, match="ZeroDivisionError: a mistake"):
                consumer.poll(60)


def test_closing_ends_the_loop_of_another_thread(servers: str, topic_with: Fill) -> None:
    topic = topic_with(3)
    seen: list[int] = []
    with barnabas.Consumer(servers, topic) as consumer:
        thread = threading.Thread(target=lambda: seen.extend(int(m.value) for m in consumer))
        thread.start()
        wait_until(lambda: len(seen) == 3, "not everything is read")
    thread.join(LIMIT_S)
    assert not thread.is_alive()
    assert seen == [0, 1, 2]


def test_only_committed_messages_unless_all_are_wanted(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic = topic_with(1)
    with barnabas.Producer(servers, transactional_id=f"id-{topic}") as producer:
        with producer.transaction():
            producer.send(topic, b"1")
        with suppress(KeyError), producer.transaction():
            producer.send(topic, b"2").result(LIMIT_S)
            raise KeyError
        with producer.transaction():
            producer.send(topic, b"3")
    with face.consumer(servers, topic) as consumer:
        assert read(consumer, 3) == [0, 1, 3]
        assert consumer.poll(0.2) == []
        assert consumer.lag() == {TopicPartition(topic, 0): 0}
    with face.consumer(servers, topic, isolation="read_uncommitted") as consumer:
        assert read(consumer, 4) == [0, 1, 2, 3]
