"""One subscription in several threads or tasks."""

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import islice
from typing import Any
from uuid import uuid4

import pytest

import barnabas
import barnabas.aio
from barnabas import Message, TopicPartition
from barnabas.errors import InvalidArgument, UndecodableRecord
from tests.api.conftest import Fill, fill
from tests.api.test_consumer_commits import committed, until_committed
from tests.support.wait import LIMIT_S, wait_until


class Workers:
    """A thread for each stream, and what each of them got."""

    def __init__(self, streams: list[Any], handle: Callable[[int, Message], None]) -> None:
        self.got: list[list[Message]] = [[] for _ in streams]
        self.errors: list[BaseException | None] = [None] * len(streams)
        self._handle = handle
        self._threads = [
            threading.Thread(target=self._run, args=each) for each in enumerate(streams)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, number: int, stream: Any) -> None:
        try:
            for message in stream:
                self.got[number].append(message)
                self._handle(number, message)
        except BaseException as error:  # noqa: BLE001 - for the test's thread
            self.errors[number] = error

    def until(self, count: int) -> None:
        def have_all() -> bool:
            assert not any(self.errors), self.errors
            return sum(map(len, self.got)) >= count

        wait_until(have_all, lambda: f"{list(map(len, self.got))} of {count} records")

    def join(self) -> None:
        for thread in self._threads:
            thread.join(LIMIT_S)
            assert not thread.is_alive()


def keyed(servers: str, broker: barnabas.Cluster, keys: int, count: int, partitions: int) -> str:
    topic = f"t-{uuid4().hex[:10]}"
    broker.create_topic(topic, partitions=partitions)
    with barnabas.Producer(servers) as producer:
        for n in range(count):
            producer.send(topic, b"%d" % n, b"%d" % (n % keys))
    return topic


def in_order(messages: list[Message]) -> bool:
    """Whether the messages of each key come in the order they were sent."""
    last: defaultdict[bytes, int] = defaultdict(lambda: -1)
    for message in messages:
        if int(message.value) <= last[message.key]:
            return False
        last[message.key] = int(message.value)
    return True


def busy(got: list[list[Message]]) -> set[int]:
    """The streams that got something: hashes differ from run to run, so it may not be all."""
    return {number for number, each in enumerate(got) if each}


def test_threads_share_by_key(servers: str, broker_of_groups: barnabas.Cluster) -> None:
    """More of them than partitions, and fast ones do not wait."""
    topic = keyed(servers, broker_of_groups, keys=40, count=1_000, partitions=2)
    with barnabas.Consumer(servers, topic, group=topic) as consumer:
        workers = Workers(consumer.streams(5), lambda _number, _message: time.sleep(0.0005))
        workers.until(1_000)
        until_handled(consumer, 1_000)
    workers.join()
    assert not any(workers.errors)
    assert busy(workers.got) == {hash(b"%d" % key) % 5 for key in range(40)}
    keys = [{message.key for message in got} for got in workers.got]
    assert sum(map(len, keys)) == 40  # so no key is in two of them
    assert all(in_order(got) for got in workers.got)
    assert sorted(int(m.value) for got in workers.got for m in got) == list(range(1_000))
    assert sum(committed(servers, topic, topic).values()) == 1_000


def until_handled(consumer: barnabas.Consumer, count: int) -> None:
    """Wait until all streams have come back for more."""

    def all_committed() -> bool:
        consumer.commit()
        return sum(consumer.committed().values()) == count

    wait_until(all_committed, lambda: f"committed: {consumer.committed()}")


def test_threads_share_by_partition(servers: str, topic_with: Fill) -> None:
    topic = topic_with(400, 4)
    with barnabas.Consumer(servers, topic) as consumer:
        workers = Workers(consumer.streams(2, by="partition"), lambda _number, _message: None)
        workers.until(400)
    workers.join()
    partitions = [{message.partition for message in got} for got in workers.got]
    assert [len(each) for each in partitions] == [2, 2]
    assert not partitions[0] & partitions[1]


def test_tasks_share(servers: str, broker_of_groups: barnabas.Cluster) -> None:
    topic = keyed(servers, broker_of_groups, keys=20, count=300, partitions=1)

    async def main() -> None:
        got: list[list[Message]] = [[] for _ in range(4)]
        everything = asyncio.Event()

        async def work(number: int, stream: Any) -> None:
            async for message in stream:
                got[number].append(message)
                await asyncio.sleep(0.001)
                if sum(map(len, got)) == 300:
                    everything.set()

        async with barnabas.aio.Consumer(servers, topic, group=topic) as consumer:
            tasks = [asyncio.create_task(work(*each)) for each in enumerate(consumer.streams(4))]
            await asyncio.wait_for(everything.wait(), 60)
        await asyncio.wait_for(asyncio.gather(*tasks), 60)  # closing has ended them
        assert busy(got) == {hash(b"%d" % key) % 4 for key in range(20)}
        assert all(in_order(each) for each in got)

    asyncio.run(main())


def test_what_a_stream_was_at_work_on_is_read_again(servers: str, topic_with: Fill) -> None:
    """One fails and three go on; nothing behind what failed is committed."""
    topic = topic_with(200)

    def handle(_number: int, message: Message) -> None:
        if message.offset == 50:
            raise KeyError("cannot be handled")

    settings = {"group": topic, "commit_interval_ms": 50}
    with barnabas.Consumer(servers, topic, **settings) as consumer:
        workers = Workers(consumer.streams(4), handle)
        until_committed(servers, topic, topic, {0: 50})
        time.sleep(0.2)
    workers.join()
    assert [type(error) for error in workers.errors if error] == [KeyError]
    assert committed(servers, topic, topic) == {0: 50}
    with barnabas.Consumer(servers, topic, group=topic) as consumer:
        assert consumer.poll(60)[0].offset == 50


def test_said_to_be_done_or_handed_out(servers: str, topic_with: Fill) -> None:
    topic = topic_with(10)
    with barnabas.Consumer(servers, topic, group=topic, commit="done") as consumer:
        stream, _ = consumer.streams(2, by="partition")
        messages = list(islice(stream, 6))
        for message in (messages[0], messages[1], messages[4]):
            consumer.done(message)
    assert committed(servers, topic, topic) == {0: 2}
    with barnabas.Consumer(servers, topic, group=topic, commit="manual") as consumer:
        stream, _ = consumer.streams(2, by="partition")
        assert [message.offset for message in islice(stream, 3)] == [2, 3, 4]
        consumer.commit()
        assert consumer.committed() == {TopicPartition(topic, 0): 5}


def test_a_slow_stream_is_waited_for_in_the_end(
    servers: str, topic_with: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.client.consumer.streams.ROOM", 10)
    topic = topic_with(2_000)
    go = threading.Event()

    def handle(number: int, _message: Message) -> None:
        if number == slow:
            go.wait(LIMIT_S)

    with barnabas.Consumer(servers, topic, partition_max_bytes=2_000, max_bytes=2_000) as consumer:
        streams = consumer.streams(3)
        slow = hash(b"k0") % 3
        workers = Workers(streams, handle)
        workers.until(1)
        waiting = 0
        while waiting < (waiting := sum(map(len, workers.got))):
            time.sleep(0.3)
        assert waiting < 1_900
        go.set()
        workers.until(2_000)
    workers.join()


def test_streams_take_part_in_a_rebalance(servers: str, topic_with: Fill) -> None:
    topic = topic_with(100, 4)
    event: list[str] = []
    settings: dict[str, Any] = {
        "group": topic,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
    }
    with barnabas.Consumer(
        servers,
        topic,
        on_assigned=lambda each: event.append(f"assigned {len(each)}"),
        on_revoked=lambda each: event.append(f"revoked {len(each)}"),
        on_lost=lambda each: event.append(f"lost {len(each)}"),
        **settings,
    ) as consumer:
        workers = Workers(consumer.streams(3), lambda _number, _message: time.sleep(0.002))
        workers.until(30)
        with barnabas.Consumer(servers, topic, **settings) as other:
            fresh = other.poll(0.1)
            while len(other.assignment) < 2:
                fresh += other.poll(0.1)
            fill(servers, topic, range(100, 140), 4)
            end = time.monotonic() + 60
            while {int(m.value) for got in (*workers.got, fresh) for m in got} != set(range(140)):
                assert time.monotonic() < end
                fresh += other.poll(0.1)
            assert event[:2] == ["assigned 4", "revoked 4"]
            assert event[2] == "assigned 2"
        seen = [int(m.value) for got in (*workers.got, fresh) for m in got]
        assert len(seen) == len(set(seen))  # it had time to finish, so nothing came twice
    workers.join()
    assert not any(workers.errors)


def test_what_a_stream_cannot_decode(servers: str, topic_with: Fill) -> None:
    topic = topic_with(3)
    with barnabas.Producer(servers) as producer:
        producer.send(topic, b"x")
    fill(servers, topic, range(4, 6))
    with barnabas.Consumer(servers, topic, group=topic, value_format="json") as consumer:
        (stream,) = consumer.streams(1)
        assert [message.value for message in islice(stream, 3)] == [0, 1, 2]
        for _ in range(2):
            with pytest.raises(UndecodableRecord, match="offset 3"):
                next(iter(stream))
        consumer.seek(TopicPartition(topic, 0), 4)
        assert [message.value for message in islice(stream, 2)] == [4, 5]
        next_one = threading.Thread(target=lambda: next(iter(stream), None))
        next_one.start()
        until_handled(consumer, 6)
    next_one.join(LIMIT_S)
    assert not next_one.is_alive()


def test_misuse_is_refused(servers: str, topic_with: Fill) -> None:
    with barnabas.Consumer(servers, topic_with(1)) as consumer:
        with pytest.raises(InvalidArgument, match="at least one"):
            consumer.streams(0)
        with pytest.raises(InvalidArgument, match="by='value'"):
            consumer.streams(2, by="value")  # type: ignore[arg-type]
        consumer.streams(2)
        with pytest.raises(InvalidArgument, match="streams"):
            consumer.poll(1)
        with pytest.raises(InvalidArgument, match="streams"):
            consumer.streams(2)
