"""What is committed, when, and what a crash leads to: reading again, never passing over."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress
from itertools import islice
from random import Random
from typing import Any

import pytest

import barnabas
from barnabas import Message, TopicPartition
from barnabas.errors import InvalidArgument
from tests.api.conftest import Fill, fill, until_begun
from tests.api.faces import Face
from tests.support.wait import LIMIT_S, wait_until


def committed(servers: str, group: str, topic: str) -> dict[int, int]:
    with barnabas.Consumer(servers, group=group) as consumer:
        partitions = [TopicPartition(topic, each) for each in range(4)]
        return {each.partition: n for each, n in consumer.committed(partitions).items()}


def until_committed(servers: str, group: str, topic: str, offsets: dict[int, int]) -> None:
    wait_until(
        lambda: committed(servers, group, topic) == offsets,
        lambda: f"committed: {committed(servers, group, topic)}, expected: {offsets}",
    )


def test_a_message_is_done_when_the_next_one_is_asked_for(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic = topic_with(10)
    with face.consumer(servers, topic, group=topic, commit_interval_ms=50) as consumer:
        messages = iter(consumer)
        list(islice(messages, 4))
        until_committed(servers, topic, topic, {0: 3})
        next(messages)
        until_committed(servers, topic, topic, {0: 4})
        time.sleep(0.15)
        assert committed(servers, topic, topic) == {0: 4}
    assert committed(servers, topic, topic) == {0: 5}


def test_a_message_whose_handler_raised_is_read_again(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic = topic_with(10)

    def work(consumer: Any) -> None:
        for message in consumer:
            if message.offset == 6:
                raise KeyError("the handler's")

    with pytest.raises(KeyError), face.consumer(servers, topic, group=topic) as consumer:
        work(consumer)
    assert committed(servers, topic, topic) == {0: 6}
    with face.consumer(servers, topic, group=topic) as consumer:
        assert [message.offset for message in consumer.poll(60)] == [6, 7, 8, 9]
    assert committed(servers, topic, topic) == {0: 10}


def test_what_another_thread_is_at_work_on_when_the_block_ends_is_read_again(
    servers: str, topic_with: Fill
) -> None:
    topic = topic_with(5)
    at_work, go_on = threading.Event(), threading.Event()

    def work() -> None:
        for message in consumer:
            seen.append(message.offset)
            if message.offset == 3:
                at_work.set()
                go_on.wait(LIMIT_S)

    seen: list[int] = []

    with barnabas.Consumer(servers, topic, group=topic) as consumer:
        thread = threading.Thread(target=work)
        thread.start()
        assert at_work.wait(LIMIT_S)
    go_on.set()
    thread.join(LIMIT_S)
    assert not thread.is_alive()
    assert seen == [0, 1, 2, 3]
    assert committed(servers, topic, topic) == {0: 3}


def test_a_list_is_done_when_the_next_one_is_asked_for(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic = topic_with(20, 2)

    def work(consumer: Any) -> None:
        first = consumer.poll(60, max_records=7)
        second = consumer.poll(60, max_records=8)
        assert len(first) + len(second) == 15
        expected.update(offsets_behind(first))
        raise KeyError

    expected: dict[int, int] = {}
    with pytest.raises(KeyError), face.consumer(servers, topic, group=topic) as consumer:
        work(consumer)
    assert committed(servers, topic, topic) == expected


def offsets_behind(messages: list[Message]) -> dict[int, int]:
    return {each.partition: each.offset + 1 for each in messages}


def test_the_smallest_offset_that_is_not_done(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(10)
    settings = {"group": topic, "commit": "done", "commit_interval_ms": 50}
    with face.consumer(servers, topic, **settings) as consumer:
        messages = list(islice(consumer, 8))
        for offset in (0, 1, 3, 4, 7):
            consumer.done(messages[offset])
        until_committed(servers, topic, topic, {0: 2})
        consumer.done(messages[2])
        until_committed(servers, topic, topic, {0: 5})
        consumer.done(messages[6])
        consumer.commit()
        assert consumer.committed() == {TopicPartition(topic, 0): 5}
    assert committed(servers, topic, topic) == {0: 5}
    with face.consumer(servers, topic, group=topic) as consumer:
        assert [message.offset for message in consumer.poll(60)] == [5, 6, 7, 8, 9]


def test_a_seek_forwards_forgets_nothing_that_is_not_done(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic = topic_with(10)
    partition = TopicPartition(topic, 0)
    with face.consumer(servers, topic, group=topic, commit="done") as consumer:
        first, second, third = islice(consumer, 3)
        consumer.seek(partition, 7)
        others = list(islice(consumer, 3))
        assert [each.offset for each in others] == [7, 8, 9]
        for message in (first, third, *others):
            consumer.done(message)
        consumer.commit()
        assert consumer.committed() == {partition: 1}
        consumer.done(second)
        consumer.commit()
        assert consumer.committed() == {partition: 10}


def test_by_hand_all_that_was_handed_out(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(20)
    partition = TopicPartition(topic, 0)
    with face.consumer(servers, topic, group=topic, commit="manual") as consumer:
        messages = iter(consumer)
        list(islice(messages, 3))
        consumer.commit()
        assert consumer.committed() == {partition: 3}
        consumer.poll(60, max_records=4)
        consumer.commit()
        assert consumer.committed([partition]) == {partition: 7}
        consumer.commit({partition: 2})
        assert consumer.committed() == {partition: 2}
        next(messages)
    assert committed(servers, topic, topic) == {0: 2}


@pytest.mark.parametrize("mode", ["auto", "done", "manual"])
def test_who_starts_at_the_end_misses_nothing_that_comes_while_it_is_gone(
    face: Face, servers: str, topic_with: Fill, mode: str
) -> None:
    """A partition without new messages is committed too, where the consumer stood in it."""
    topic = topic_with(3, partitions=2)
    options = {"group": topic, "start": "latest", "commit": mode}
    with face.consumer(servers, topic, **options) as consumer:
        until_begun(consumer, 2)
        if mode == "manual":
            consumer.commit()
    assert committed(servers, topic, topic) == {0: 2, 1: 1}
    fill(servers, topic, range(3, 6), partitions=2)
    with face.consumer(servers, topic, **options) as consumer:
        messages = consumer.poll(60)
        while len(messages) < 3:
            messages += consumer.poll(60)
    assert sorted(int(message.value) for message in messages) == [3, 4, 5]


def test_a_transaction_takes_the_offsets_along(servers: str, topic_with: Fill) -> None:
    source, sink = topic_with(30, 2), topic_with(0)
    failed = 0
    with (
        barnabas.Consumer(servers, source, group=source, commit="manual") as consumer,
        barnabas.Producer(servers, transactional_id=source) as producer,
    ):
        done = 0
        while done < 30:
            try:
                with producer.transaction(consumer):
                    messages = consumer.poll(60, max_records=10)
                    for message in messages:
                        producer.send(sink, message.value)
                    if failed < 2:
                        failed += 1
                        raise KeyError
                done += len(messages)
            except KeyError:
                pass
    assert committed(servers, source, source) == {0: 15, 1: 15}
    with barnabas.Consumer(servers, sink) as consumer:
        copied = [int(message.value) for message in islice(consumer, 30)]
        assert sorted(copied) == list(range(30))
        assert consumer.poll(0.2) == []


def test_what_was_rolled_back_after_a_start_at_the_end_is_read_again(
    servers: str, topic_with: Fill
) -> None:
    source, sink = topic_with(3), topic_with(0)
    options: Any = {"group": source, "start": "latest", "commit": "manual"}
    with (
        barnabas.Consumer(servers, source, **options) as consumer,
        barnabas.Producer(servers, transactional_id=source) as producer,
    ):
        until_begun(consumer, 1)
        fill(servers, source, range(3, 6))
        for _ in range(2):
            with suppress(KeyError), producer.transaction(consumer):
                assert [int(each.value) for each in consumer.poll(60)] == [3, 4, 5]
                producer.send(sink, b"never")
                raise KeyError
        with producer.transaction(consumer):
            assert [int(each.value) for each in consumer.poll(60)] == [3, 4, 5]
    assert committed(servers, source, source) == {0: 6}


def test_a_rebalance_before_anything_was_read_aborts_no_transaction(
    servers: str, topic_with: Fill
) -> None:
    source, sink = topic_with(2, partitions=2), topic_with(0)
    options: Any = {"group": source, "start": "latest", "commit": "manual"}
    stop = threading.Event()

    def second_member() -> None:
        with barnabas.Consumer(servers, source, **options) as second:
            while not stop.is_set():
                second.poll(0.05)

    with (
        barnabas.Consumer(servers, source, **options) as consumer,
        barnabas.Producer(servers, transactional_id=source) as producer,
    ):
        until_begun(consumer, 2)
        thread = threading.Thread(target=second_member)
        thread.start()
        try:
            wait_until(lambda: consumer.poll(0.05) == [] and len(consumer.assignment) == 1)
            fill(servers, source, range(2, 6), partitions=2)
            with producer.transaction(consumer):
                messages = consumer.poll(60)
                producer.send(sink, messages[0].value)
        finally:
            stop.set()
            thread.join()
        (partition,) = {message.partition for message in messages}
        assert committed(servers, source, source) == {partition: messages[-1].offset + 1}


def test_a_transaction_needs_a_consumer_that_does_not_commit_itself(
    servers: str, topic_with: Fill
) -> None:
    topic = topic_with(0)
    with (
        barnabas.Consumer(servers, topic, group=topic) as consumer,
        barnabas.Producer(servers, transactional_id=topic) as producer,
        pytest.raises(InvalidArgument, match='commit="manual"'),
    ):
        producer.transaction(consumer)


WORKER = textwrap.dedent("""
    import os, sys, time
    from concurrent.futures import ThreadPoolExecutor
    from random import Random
    import barnabas

    servers, topic, seed = sys.argv[1:]
    random = Random(int(seed))

    def handle(message, pause_s):
        time.sleep(pause_s)
        os.write(1, b"%d %d\\n" % (message.partition, message.offset))
        consumer.done(message)

    consumer = barnabas.Consumer(
        servers, topic, group=topic, commit="done", commit_interval_ms=20, session_timeout_ms=200
    )
    with ThreadPoolExecutor(8) as pool:
        for message in consumer:
            pool.submit(handle, message, random.random() / 50)
            time.sleep(0.0005)
""")


def test_a_crash_leads_to_reading_again_and_never_to_passing_over(
    servers: str, topic_with: Fill
) -> None:
    """Handlers end in any order; the process is killed in the middle, several times."""
    topic = topic_with(600, 2)
    random = Random(7)
    handled: list[tuple[int, int]] = []
    everything = {(partition, offset) for partition in range(2) for offset in range(300)}
    for seed in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, servers, topic, str(seed)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        wanted = random.randint(100, 250)
        for line in process.stdout:
            partition, offset = line.split()
            handled.append((int(partition), int(offset)))
            wanted -= 1
            if not wanted or set(handled) == everything:
                break
        os.kill(process.pid, signal.SIGKILL)
        handled += [(int(p), int(o)) for p, o in map(str.split, process.stdout)]
        process.stdout.close()
        process.wait()
        if set(handled) == everything:
            break
        for partition, offset in committed(servers, topic, topic).items():
            assert {(partition, each) for each in range(offset)} <= set(handled)
    assert set(handled) == everything
    assert seed >= 1


def test_done_may_be_said_by_any_thread(servers: str, topic_with: Fill) -> None:
    topic = topic_with(2_000, 2)
    with barnabas.Consumer(servers, topic, group=topic, commit="done") as consumer:
        messages = list(islice(consumer, 2_000))
        Random(1).shuffle(messages)

        def finish(part: list[Message]) -> None:
            for message in part:
                consumer.done(message)

        threads = [threading.Thread(target=finish, args=(messages[n::4],)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert committed(servers, topic, topic) == {0: 1_000, 1: 1_000}
