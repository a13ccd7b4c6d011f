"""Members of the consumer protocol (KIP-848): what they share, are told, commit and refuse."""

import threading
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal
from uuid import uuid4

import pytest

import barnabas
from barnabas import Message, TopicPartition
from barnabas.errors import BrokerError, GroupNotEmpty, InvalidArgument, TransactionAborted
from tests.api.conftest import fill
from tests.api.test_consumer_groups import Member as AnyMember
from tests.api.test_consumer_groups import values
from tests.conftest import ELSEWHERE
from tests.support.wait import LIMIT_S, wait_until

SETTINGS = {
    "auto.create.topics.enable": False,
    "group.consumer.min.heartbeat.interval.ms": 500,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.session.timeout.ms": 3_000,
}
OPTIONS: dict[str, Any] = {"group_protocol": "consumer", "commit_interval_ms": 100}


@pytest.fixture(scope="module")
def protocol_servers() -> Iterator[str]:
    """One node whose groups notice soon what has changed."""
    if ELSEWHERE:
        yield ELSEWHERE
        return
    with barnabas.Cluster(settings=SETTINGS) as cluster:
        yield cluster.bootstrap_servers


@pytest.fixture
def servers(protocol_servers: str) -> str:
    return protocol_servers


def new_topic(servers: str, count: int, partitions: int = 1) -> str:
    name = f"t-{uuid4().hex[:10]}"
    with barnabas.Admin(servers) as admin:
        admin.create_topic(name, partitions=partitions)
    fill(servers, name, range(count), partitions)
    return name


class Member(AnyMember):
    """One that speaks the consumer protocol."""

    def __init__(self, servers: str, topic: str, *arguments: Any, **settings: Any) -> None:
        options = {**OPTIONS, "session_timeout_ms": None, **settings}
        super().__init__(servers, topic, *arguments, **options)


def test_only_what_moves_is_revoked_and_nothing_is_read_twice(servers: str) -> None:
    topic = new_topic(servers, 40, 4)
    with Member(servers, topic) as first:
        wait_until(lambda: len(first.messages) == 40)
        with Member(servers, topic) as second:
            wait_until(lambda: len(first.partitions) == len(second.partitions) == 2)
            fill(servers, topic, range(40, 80), 4)
            wait_until(lambda: len(first.messages) + len(second.messages) == 80)
            kept, gone = sorted(first.partitions), sorted(second.partitions)
        wait_until(lambda: first.partitions == {0, 1, 2, 3})
        fill(servers, topic, range(80, 100), 4)
        wait_until(lambda: len(first.messages) + len(second.messages) == 100)
    assert values([first, second]) == list(range(100))
    told = [each for each in first.event if each[1]]
    assert told[:2] == [("assigned", [0, 1, 2, 3]), ("revoked", gone)]
    assert sorted(n for what, each in told[2:-1] if what == "assigned" for n in each) == gone
    assert told[-1] == ("revoked", [0, 1, 2, 3])
    assert {n for _, each in second.event for n in each}.isdisjoint(kept)
    assert "lost" not in {what for what, _ in first.event + second.event}


def test_partitions_are_committed_before_they_go(servers: str) -> None:
    """By hand, in the callback: the next owner reads on after that."""
    topic = new_topic(servers, 20, 2)
    with (
        barnabas.Consumer(
            servers,
            topic,
            group=topic,
            commit="manual",
            on_revoked=lambda _partitions: first.commit(),
            **OPTIONS,
        ) as first,
    ):
        assert len(list(islice(first, 14))) == 14
        rest: list[Message] = []

        def shared() -> bool:
            rest.extend(first.poll(0.05))
            return len(second.partitions) == len(first.assignment) == 1

        with Member(servers, topic) as second:
            wait_until(shared)
            wait_until(lambda: shared() and len(second.messages) + len(rest) == 6)


def test_a_handler_that_does_not_return_does_not_hold_up_the_others(servers: str) -> None:
    topic = new_topic(servers, 2, 2)
    going_on = threading.Event()

    def handle(_message: Message) -> None:
        going_on.wait(LIMIT_S)

    with Member(servers, topic, handle, rebalance_timeout_ms=3_000) as slow:
        wait_until(lambda: slow.messages)
        with Member(servers, topic) as quick:
            wait_until(lambda: len(quick.partitions) == 1)
            assert not going_on.is_set()
            going_on.set()
            wait_until(lambda: ("lost", sorted(quick.partitions)) in slow.event)
            wait_until(lambda: set(values([slow, quick])) == {0, 1})


def test_streams_read_on_what_stays(servers: str) -> None:
    topic = new_topic(servers, 40, 4)
    read: list[Message] = []
    with barnabas.Consumer(servers, topic, group=topic, **OPTIONS) as consumer:

        def work(stream: Any) -> None:
            read.extend(stream)

        threads = [threading.Thread(target=work, args=(each,)) for each in consumer.streams(3)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(read) == 40)
        with Member(servers, topic) as other:
            wait_until(lambda: len(other.partitions) == len(consumer.assignment) == 2)
            fill(servers, topic, range(40, 80), 4)
            wait_until(lambda: len(read) + len(other.messages) == 80)
        wait_until(lambda: len(consumer.assignment) == 4)
        consumer.close()
        for thread in threads:
            thread.join()
    assert sorted(int(each.value) for each in [*read, *other.messages]) == list(range(80))


def test_a_static_member_keeps_its_partitions_over_a_restart(servers: str) -> None:
    topic = new_topic(servers, 8, 4)
    with Member(servers, topic) as other:
        with Member(servers, topic, instance_id="one") as static:
            wait_until(lambda: len(static.partitions) == len(other.partitions) == 2)
            had, others = static.partitions, other.partitions
        with Member(servers, topic, instance_id="one") as again:
            wait_until(lambda: again.partitions == had)
            assert other.partitions == others


def test_an_instance_id_that_is_in_use_is_refused_for_both_in_turn(servers: str) -> None:
    topic = new_topic(servers, 1)
    with (
        Member(servers, topic, instance_id="one") as first,
        barnabas.Consumer(
            servers, topic, group=topic, instance_id="one", rebalance_timeout_ms=1_000, **OPTIONS
        ) as second,
    ):
        wait_until(lambda: first.messages)
        with pytest.raises(BrokerError, match="unique instance_id"):
            second.poll(60)


def test_an_assignor_that_the_brokers_lack_is_named(servers: str) -> None:
    topic = new_topic(servers, 1)
    with (
        barnabas.Consumer(
            servers, topic, group=topic, group_remote_assignor="tarot", **OPTIONS
        ) as consumer,
        pytest.raises(BrokerError, match=r"'tarot'.*uniform"),
    ):
        consumer.poll(60)
    with Member(servers, topic, group_remote_assignor="range") as member:
        wait_until(lambda: member.messages)
        with barnabas.Admin(servers) as admin:
            assert admin.describe_group(topic).assignor == "range"


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"group_protocol": "new"}, "classic, consumer"),
        ({"group_protocol": "consumer", "session_timeout_ms": 9_000}, "setting of the brokers"),
        ({"group_protocol": "consumer", "assignors": ["range"]}, "group_remote_assignor"),
        ({"group_protocol": "classic", "group_remote_assignor": "range"}, "with assignors"),
        ({"group_protocol": "classic", "max_poll_interval_ms": 1}, "stays"),
        ({"group_protocol": "classic", "pattern": "t("}, "unterminated"),
        ({"group_protocol": "consumer", "pattern": ""}, "matches all topics"),
    ],
)
def test_options_of_the_other_protocol_are_refused(options: dict[str, Any], fix: str) -> None:
    with pytest.raises(InvalidArgument, match=fix):
        barnabas.Consumer("localhost:1", "t", group="g", **options)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_pattern_matches_also_later_topics(
    servers: str, protocol: Literal["classic", "consumer"]
) -> None:
    group = f"t-{uuid4().hex[:10]}"
    with barnabas.Admin(servers) as admin:
        admin.create_topic(f"{group}-a")
        admin.create_topic(f"x-{group}")
    fill(servers, f"{group}-a", range(3), 1)
    with barnabas.Consumer(
        servers, pattern=f"{group}-.*", group=group, group_protocol=protocol
    ) as consumer:
        found: list[Message] = []
        wait_until(lambda: found.extend(consumer.poll(1)) or len(found) == 3)
        with barnabas.Admin(servers) as admin:
            (member,) = admin.describe_group(group).members
            assert protocol == "classic" or member.topic_regex == f"{group}-.*"
            admin.create_topic(f"{group}-b")
        fill(servers, f"{group}-b", range(3, 5), 1)
        wait_until(lambda: found.extend(consumer.poll(1)) or len(found) == 5)
    assert {message.topic for message in found} == {f"{group}-a", f"{group}-b"}


def test_a_pattern_that_is_not_of_re2_is_named(servers: str) -> None:
    with (
        barnabas.Consumer(servers, pattern="t-(?=x)", group="lookers", **OPTIONS) as consumer,
        pytest.raises(BrokerError, match=r"t-\(\?=x\).*RE2"),
    ):
        consumer.poll(60)


def test_a_pattern_needs_a_group() -> None:
    with pytest.raises(InvalidArgument, match="needs a group"):
        barnabas.Consumer("localhost:1", pattern="t.*", group_protocol="consumer")


def test_an_application_that_asks_for_nothing_leaves_and_comes_back(servers: str) -> None:
    topic = new_topic(servers, 4, 2)
    with barnabas.Consumer(
        servers, topic, group=topic, max_poll_interval_ms=1_000, **OPTIONS
    ) as consumer:
        wait_until(lambda: consumer.poll(1))
        with Member(servers, topic) as other:
            wait_until(lambda: other.partitions == {0, 1})
        fill(servers, topic, range(4, 8), 2)
        wait_until(lambda: consumer.poll(1))


def test_a_group_is_described_reset_and_deleted(servers: str) -> None:
    topic = new_topic(servers, 10, 2)
    first = TopicPartition(topic, 0)
    with barnabas.Admin(servers) as admin:
        with Member(servers, topic, client_id="me") as member:
            wait_until(lambda: len(member.messages) == 10)
            wait_until(lambda: list(admin.group_offsets(topic).values()) == [5, 5])
            described = admin.describe_group(topic)
            assert (described.group_type, described.state) == ("consumer", "Stable")
            assert described.epoch == described.assignment_epoch
            (only,) = described.members
            assert (only.member_id, only.client_id, only.topics) == (member.id, "me", [topic])
            assert only.epoch == described.epoch
            assert only.partitions == only.target == [first, TopicPartition(topic, 1)]
            assert described.offsets[first].member_id == member.id
            assert admin.groups("consumer")[topic].state == "Stable"
            assert topic not in admin.groups("classic")
            with pytest.raises(GroupNotEmpty):
                admin.set_group_offsets(topic, "earliest")
            with pytest.raises(GroupNotEmpty):
                admin.delete_group(topic)
        assert admin.describe_group(topic).state == "Empty"
        admin.set_group_offsets(topic, {first: 3})
        assert admin.describe_group(topic).lag == 2
        admin.delete_group(topic)
        assert topic not in admin.groups()


def test_members_of_both_protocols_share_a_group(servers: str) -> None:
    topic = new_topic(servers, 40, 4)
    classic = {"group_protocol": "classic", "session_timeout_ms": 10_000}
    with AnyMember(servers, topic, **classic) as old:
        wait_until(lambda: len(old.messages) == 40)
        with Member(servers, topic) as new:
            wait_until(lambda: len(old.partitions) == len(new.partitions) == 2)
            fill(servers, topic, range(40, 80), 4)
            wait_until(lambda: len(old.messages) + len(new.messages) >= 80)
            with barnabas.Admin(servers) as admin:
                described = admin.describe_group(topic)
            assert sorted(each.protocol for each in described.members) == ["classic", "consumer"]
    assert set(values([old, new])) == set(range(80))


def test_transactions_take_effect_once_while_members_come_and_go(servers: str) -> None:
    source, sink = new_topic(servers, 0, 4), new_topic(servers, 0, 1)
    count = 400
    over = threading.Event()
    failures: list[BaseException] = []

    def transform(name: str, until: threading.Event) -> None:
        try:
            with (
                barnabas.Consumer(
                    servers, source, group=source, commit="manual", **OPTIONS
                ) as consumer,
                barnabas.Producer(servers, transactional_id=f"{source}-{name}") as producer,
            ):
                while not until.is_set():
                    messages = consumer.poll(0.1, max_records=5)
                    try:
                        with producer.transaction(consumer):
                            for each in messages:
                                producer.send(sink, each.value)
                            time.sleep(0.02)
                    except TransactionAborted as error:
                        if not error.retriable:
                            raise
        except BaseException as error:  # noqa: BLE001 - shown by the test's thread
            failures.append(error)

    leaving = threading.Event()
    workers = [threading.Thread(target=transform, args=("a", over))]
    workers[0].start()
    for number in range(0, count, 50):
        fill(servers, source, range(number, number + 50), 4)
        if number == 100:
            workers.append(threading.Thread(target=transform, args=("b", leaving)))
            workers.append(threading.Thread(target=transform, args=("c", over)))
            for each in workers[1:]:
                each.start()
        if number == 300:
            leaving.set()
        time.sleep(0.3)
    read: list[int] = []
    with barnabas.Consumer(servers, sink) as consumer:

        def is_done() -> bool:
            read.extend(int(each.value) for each in consumer.poll(0.1))
            return len(set(read)) == count or bool(failures)

        wait_until(is_done)
        over.set()
        for each in workers:
            each.join()
        read.extend(int(each.value) for each in consumer.poll(1))
    assert not failures
    assert sorted(read) == list(range(count))
