"""Members of a group: sharing, callbacks, slow handlers, and being thrown out."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Self

import pytest

import barnabas
import barnabas.aio
from barnabas import Message, TopicPartition
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.group.classic_member import ClassicMember
from barnabas.errors import BrokerError
from tests.api.conftest import Fill, fill, until_begun
from tests.api.faces import Face
from tests.support.wait import LIMIT_S, wait_until

QUICK = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, "commit_interval_ms": 100}
SHORT_SESSION = {**QUICK, "session_timeout_ms": 1_500}
SHORT_REBALANCE = {**QUICK, "rebalance_timeout_ms": 1_500}


class Member:
    """A consumer in a thread of its own, and what it was told."""

    def __init__(
        self,
        servers: str,
        topic: str,
        handle: Callable[[Message], None] = lambda _message: None,
        **settings: Any,
    ) -> None:
        self.messages: list[Message] = []
        self.event: list[tuple[str, list[int]]] = []
        self.error: BaseException | None = None
        self.consumer = barnabas.Consumer(
            servers,
            topic,
            **{"group": topic, **QUICK, **settings},
            on_assigned=self._note("assigned"),
            on_revoked=self._note("revoked"),
            on_lost=self._note("lost"),
        )
        self._handle = handle
        self._thread = threading.Thread(target=self._run)

    def _note(self, what: str) -> Callable[[list[TopicPartition]], None]:
        return lambda each: self.event.append((what, sorted(one.partition for one in each)))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.consumer.close()
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive()
        assert self.error is None, self.error

    def _run(self) -> None:
        try:
            for message in self.consumer:
                self.messages.append(message)
                self._handle(message)
        except BaseException as error:  # noqa: BLE001 - shown by the test's thread
            self.error = error

    @property
    def partitions(self) -> set[int]:
        return {each.partition for each in self.consumer.assignment}

    @property
    def id(self) -> str:
        return self.consumer._core.rebalancer.member.membership.member_id  # type: ignore[union-attr]

    @property
    def values(self) -> list[int]:
        return [int(each.value) for each in self.messages]


def values(members: Iterable[Member]) -> list[int]:
    return sorted(value for each in members for value in each.values)


def test_members_share_the_partitions_and_nothing_is_read_twice(
    servers: str, topic_with: Fill
) -> None:
    topic = topic_with(40, 4)
    with Member(servers, topic) as first:
        wait_until(lambda: len(first.messages) == 40)
        with Member(servers, topic) as second:
            wait_until(lambda: len(first.partitions) == len(second.partitions) == 2)
            fill(servers, topic, range(40, 80), 4)
            wait_until(lambda: len(first.messages) + len(second.messages) == 80)
        wait_until(lambda: first.partitions == {0, 1, 2, 3})
        fill(servers, topic, range(80, 100), 4)
        wait_until(lambda: len(first.messages) + len(second.messages) == 100)
        time.sleep(0.2)
    assert values([first, second]) == list(range(100))
    assert first.event[:2] == [("assigned", [0, 1, 2, 3]), ("revoked", [0, 1, 2, 3])]
    assert first.event[2][0] == "assigned"
    assert len(first.event[2][1]) == 2
    assert first.event[-2:] == [("assigned", [0, 1, 2, 3]), ("revoked", [0, 1, 2, 3])]
    assert [what for what, _ in second.event] == ["assigned", "revoked"]


def test_partitions_are_committed_before_they_go(servers: str, topic_with: Fill) -> None:
    """By hand, in the callback: the next owner reads on after that."""
    topic = topic_with(20, 2)
    with (
        barnabas.Consumer(
            servers,
            topic,
            group=topic,
            commit="manual",
            on_revoked=lambda _partitions: first.commit(),
            **QUICK,
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
            time.sleep(0.1)
            assert shared()
            assert len(second.messages) + len(rest) == 6


def test_a_handler_slower_than_the_session_stays(servers: str, topic_with: Fill) -> None:
    topic = topic_with(2)

    def handle(message: Message) -> None:
        if message.offset == 0:
            time.sleep(2.0)

    with Member(servers, topic, handle, **SHORT_SESSION) as member:
        wait_until(lambda: len(member.messages) == 1)
        born = member.id
        wait_until(lambda: len(member.messages) == 2)
        assert member.id == born
    assert member.values == [0, 1]
    assert [what for what, _ in member.event] == ["assigned", "revoked"]


def test_a_rebalance_waits_for_the_handler(servers: str, topic_with: Fill) -> None:
    """It ends in time, so its message is committed before the partition goes."""
    topic = topic_with(2, 2)
    with Member(servers, topic, lambda _message: time.sleep(0.8)) as slow:
        wait_until(lambda: slow.messages)
        with Member(servers, topic) as other:
            wait_until(lambda: len(slow.partitions) == len(other.partitions) == 1)
            wait_until(lambda: len(slow.messages) + len(other.messages) == 2)
            time.sleep(0.2)
    assert values([slow, other]) == [0, 1]
    assert "lost" not in [what for what, _ in slow.event]


def test_a_handler_slower_than_the_rebalance_stays(servers: str, topic_with: Fill) -> None:
    topic = topic_with(2, 2)
    finished = threading.Event()

    def handle(_message: Message) -> None:
        finished.wait(LIMIT_S)

    with Member(servers, topic, handle, **SHORT_REBALANCE) as slow:
        wait_until(lambda: slow.messages)
        at_work_on = slow.messages[0].partition
        born = slow.id
        with Member(servers, topic) as other:
            wait_until(lambda: len(other.partitions) == 1)
            assert slow.id == born
            assert len(slow.messages) == 1  # and it is still at it
            got = other.partitions
            wait_until(lambda: slow.partitions == {0, 1} - got)
            finished.set()
            wait_until(lambda: {*slow.values, *other.values} == {0, 1})
            fill(servers, topic, range(2, 22), 2)
            wait_until(lambda: {*slow.values, *other.values} == set(range(22)))
            assert slow.id == born
    lost = [partitions for what, partitions in slow.event if what == "lost"]
    assert lost == [sorted(got)]
    # What it was at work on is read again only by who got the partition meanwhile.
    again = [0] if at_work_on == 0 else [1]
    assert values([slow, other]) == sorted([*range(22), *(again if at_work_on in got else [])])


def test_what_is_done_after_a_rebalance_without_the_application_counts(
    servers: str, topic_with: Fill
) -> None:
    """All messages are in the hands of handlers when the group takes one partition away."""
    topic = topic_with(10, 2)
    settings: dict[str, Any] = {"group": topic, "commit": "done", **SHORT_REBALANCE}
    with barnabas.Consumer(servers, topic, **settings) as consumer:
        messages = list(islice(consumer, 10))
        with Member(servers, topic) as other:
            wait_until(lambda: len(consumer.assignment) == 1)
            (kept,) = consumer.assignment
            for message in messages:
                consumer.done(message)
            wait_until(lambda: consumer.committed([kept]) == {kept: 5})
            wait_until(lambda: len(other.messages) == 5)
            assert {message.partition for message in other.messages} == {1 - kept.partition}
            assert consumer.poll(0.2) == []


def test_a_blocking_handler_in_asyncio_stays(servers: str, topic_with: Fill) -> None:
    topic = topic_with(2)

    async def main() -> None:
        event: list[str] = []

        async def assigned(_partitions: list[TopicPartition]) -> None:
            await asyncio.sleep(0)
            event.append("assigned")

        async with barnabas.aio.Consumer(
            servers,
            topic,
            group=topic,
            on_assigned=assigned,
            on_lost=lambda _partitions: event.append("lost"),
            on_revoked=lambda _partitions: event.append("revoked"),
            **SHORT_SESSION,
        ) as consumer:
            seen = []
            async for message in consumer:
                seen.append(message.offset)
                if len(seen) == 2:
                    break
                time.sleep(2.0)  # the whole program stands still
            assert seen == [0, 1]
            assert event == ["assigned"]
        assert event == ["assigned", "revoked"]

    asyncio.run(main())


def test_who_was_thrown_out_is_told_and_comes_back(servers: str, topic_with: Fill) -> None:
    topic = topic_with(4, 2)
    with Member(servers, topic) as member:
        wait_until(lambda: len(member.messages) == 4)
        wait_until(lambda: sum(member.consumer.committed().values()) == 4)
        born = member.id
        throw_out(servers, topic, born)
        wait_until(lambda: member.id not in ("", born))
        fill(servers, topic, range(4, 8), 2)
        wait_until(lambda: len(member.messages) == 8)
    assert member.event[:3] == [("assigned", [0, 1]), ("lost", [0, 1]), ("assigned", [0, 1])]
    assert sorted(member.values) == list(range(8))


def throw_out(servers: str, group: str, member_id: str) -> None:
    """As seen from the group: the member leaves."""

    async def leave() -> None:
        async with ClusterClient(servers) as cluster:
            impostor = ClassicMember(cluster, group, [])
            impostor._member_id = member_id
            await impostor.leave()

    asyncio.run(leave())


def test_a_static_member_comes_back_without_a_rebalance(servers: str, topic_with: Fill) -> None:
    topic = topic_with(20, 2)
    settings = {"group": topic, "session_timeout_ms": 30_000, "instance_id": "one"}
    with barnabas.Consumer(servers, topic, **settings) as consumer:
        assert len(list(islice(consumer, 20))) == 20
        generation = consumer._core.needs_group().membership.generation_id
    with barnabas.Consumer(servers, topic, **settings) as consumer:
        until_begun(consumer, 2)
        assert consumer._core.needs_group().membership.generation_id == generation
        with barnabas.Consumer(servers, topic, **settings) as successor:
            until_begun(successor, 2)
            with pytest.raises(BrokerError, match="FENCED_INSTANCE_ID"):
                consumer.poll(60)


def test_who_is_no_member_hears_that_it_cannot_commit(servers: str, topic_with: Fill) -> None:
    topic = topic_with(3)
    with Member(servers, topic) as member:
        wait_until(lambda: member.messages)
        with barnabas.Consumer(servers, group=topic, commit_interval_ms=50) as consumer:
            consumer.assign({TopicPartition(topic, 0): 0})
            assert len(consumer.poll(60)) == 3
            with pytest.raises(BrokerError, match="UNKNOWN_MEMBER_ID"):
                consumer.poll(60)
            consumer.assign({})


def test_what_the_coordinator_refuses_is_explained(
    face: Face, servers: str, topic_with: Fill
) -> None:
    topic = topic_with(3)
    with (
        face.consumer(servers, topic, group=topic, session_timeout_ms=50) as consumer,
        pytest.raises(BrokerError, match=r"group\.min\.session\.timeout\.ms"),
    ):
        consumer.poll(60)


def test_a_callback_that_raises_is_heard(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(3)

    def complain(_partitions: list[TopicPartition]) -> None:
        raise KeyError("not me")

    with face.consumer(servers, topic, group=topic, on_assigned=complain) as consumer:
        with pytest.raises(KeyError, match="not me"):
            consumer.poll(60)
        assert len(consumer.poll(60)) == 3


def test_seeking_when_partitions_come(face: Face, servers: str, topic_with: Fill) -> None:
    topic = topic_with(10)
    if type(face).__name__ == "Blocking":

        def assigned(partitions: list[TopicPartition]) -> None:
            consumer.seek(partitions[0], 7)
    else:

        async def assigned(partitions: list[TopicPartition]) -> None:  # type: ignore[misc]
            await consumer._client.seek(partitions[0], 7)

    with face.consumer(servers, topic, group=topic, on_assigned=assigned) as consumer:
        assert [message.offset for message in consumer.poll(60)] == [7, 8, 9]
