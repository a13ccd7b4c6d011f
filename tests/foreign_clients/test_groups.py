"""Consumer groups: members share the partitions as they come, go and die."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.foreign_clients.conftest import NewTopic
from tests.foreign_clients.face import Client
from tests.foreign_clients.members import Member, wait_for_shares
from tests.support.wait import wait_until

PARTITIONS = 6
ROOT = Path(__file__).parents[2]

Join = Callable[..., Member]


@pytest.fixture
def topic(new_topic: NewTopic) -> str:
    return new_topic(PARTITIONS)


@pytest.fixture
def join(client: Client, bootstrap: str, topic: str) -> Iterator[Join]:
    """Starts members of the group that has the topic's name."""
    with ExitStack() as stack:

        def start(*, commits: bool = False, **options: object) -> Member:
            def open_consumer() -> object:
                return client.consumer(bootstrap, topic, **options)

            return stack.enter_context(Member(open_consumer, topic, commits=commits))

        yield start


def produce(client: Client, bootstrap: str, topic: str, count: int) -> None:
    with client.producer(bootstrap) as producer:
        for i in range(count):
            producer.send(topic, b"%d" % i, partition=i % PARTITIONS)
        assert all(outcome.error is None for outcome in producer.flush())


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_members_come_and_go(join: Join, strategy: str) -> None:
    first = join(strategy=strategy)
    wait_for_shares([first], [6])
    second = join(strategy=strategy)
    wait_for_shares([first, second], [3, 3])
    third = join(strategy=strategy)
    wait_for_shares([first, second, third], [2, 2, 2])
    third.leave()
    wait_for_shares([first, second], [3, 3])


def test_a_group_reads_everything_once(
    client: Client, bootstrap: str, topic: str, join: Join
) -> None:
    """Each record reaches one member, before and after the group grows."""
    first = join(commits=True)
    wait_for_shares([first], [6])
    produce(client, bootstrap, topic, 600)
    wait_until(lambda: len(first.records) >= 600, "not everything was read")
    second = join(commits=True)
    wait_for_shares([first, second], [3, 3])
    produce(client, bootstrap, topic, 600)
    both = [first, second]
    wait_until(lambda: sum(len(m.records) for m in both) >= 1200, "not everything was read")
    seen = [(r.partition, r.offset) for member in both for r in member.records]
    assert sorted(seen) == [(p, o) for p in range(PARTITIONS) for o in range(200)]
    for partition in range(PARTITIONS):
        for member in both:
            offsets = [r.offset for r in member.records if r.partition == partition]
            assert offsets == sorted(offsets)


def test_committed_offsets_are_where_the_next_member_goes_on(
    client: Client, bootstrap: str, topic: str
) -> None:
    produce(client, bootstrap, topic, 50 * PARTITIONS)
    with client.consumer(bootstrap, topic) as consumer:
        consumer.subscribe([topic])
        consumer.read(50 * PARTITIONS)
        assert consumer.committed(topic, 0) is None
        consumer.commit(topic, dict.fromkeys(range(1, PARTITIONS), 50))
        consumer.commit(topic, {0: 30})
        assert consumer.committed(topic, 0) == 30
        assert consumer.committed(topic, 1) == 50
    with client.consumer(bootstrap, topic) as consumer:
        consumer.subscribe([topic])
        records = consumer.read(20)
        assert [(r.partition, r.offset) for r in records] == [(0, o) for o in range(30, 50)]


def test_a_member_killed_loses_its_partitions(
    client: Client, bootstrap: str, topic: str, join: Join
) -> None:
    survivor = join()
    wait_for_shares([survivor], [6])
    command = [sys.executable, "-m", "tests.foreign_clients.member", client.name, bootstrap, topic]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as victim:
        try:
            wait_for_shares([survivor], [3])
            assert victim.stdout is not None
            assert victim.stdout.readline().split() == ["assigned", "3"]
        finally:
            os.kill(victim.pid, signal.SIGKILL)
    wait_for_shares([survivor], [6])


def test_a_static_member_comes_back_without_a_rebalance(join: Join) -> None:
    stays = join(instance_id="one", session_timeout_ms=120_000)
    leaves = join(instance_id="two", session_timeout_ms=120_000)
    wait_for_shares([stays, leaves], [3, 3])
    before, share = stays.share, leaves.share
    leaves.leave()
    time.sleep(1)
    assert stays.share == before
    back = join(instance_id="two", session_timeout_ms=120_000)
    wait_for_shares([stays, back], [3, 3])
    assert (stays.share, back.share) == (before, share)
