"""The rebalancer alone: what the application is told, and in which order with joins and commits."""

import asyncio
from typing import Any

import pytest

from barnabas.client.connect.background_tasks import BackgroundTasks
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.committer import Committer
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.eager_rebalancer import EagerRebalancer
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.new_topics import NewTopics
from barnabas.client.consumer.rebalancer import PartitionChange
from barnabas.client.group.committed_offsets import NO_MEMBER, GroupMembership
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST
from barnabas.errors import ClientClosed
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from tests.client.consumer.test_committer import Group
from tests.client.fake_cluster import FakeCluster, FakeLog
from tests.client.fake_group import committed
from tests.client.virtual_time import now, run

T0, T1, T2 = (TopicPartition("t", n) for n in range(3))
REBALANCE_S = 60.0
OPEN_S = 100.0
"""Longer than a request is retried."""


class FakeMember:
    """A member whose next assignments are given by the test."""

    group_id = "g"

    def __init__(self, *assignments: list[TopicPartition]) -> None:
        self.membership = NO_MEMBER
        self.rejoin_needed = asyncio.Event()
        self.rejoin_needed.set()
        self.joins: list[float] = []
        self._assignments = list(assignments)

    async def join(self) -> list[TopicPartition]:
        self.joins.append(now())
        await asyncio.sleep(0.1)
        self.rejoin_needed.clear()
        self.membership = GroupMembership("member-1", len(self.joins))
        return self._assignments.pop(0)

    def patience_s(self, share: float) -> float:
        return share * REBALANCE_S


class Consumer:
    """A rebalancer with a real fetcher, committer and delivery queue."""

    def __init__(
        self, fake: FakeCluster, cluster: ClusterClient, member: FakeMember, start: int
    ) -> None:
        self.member = member
        self.cluster = cluster
        self.committed: dict[int, int] = {0: 4}
        self.tasks = BackgroundTasks(lambda: None)
        group = Group(fake, cluster)
        self.stored = group.stored
        self.fetcher = Fetcher(cluster, lambda: None)
        self.queue = DeliveryQueue(self.fetcher, CommitMode.AUTO)
        self.committer = Committer(
            cluster, "g", self.fetcher, self.queue, 5_000, group.fenced.append, lambda: None
        )
        fake.handlers[OffsetFetchRequest] = lambda _node, request: committed(
            request, self.committed
        )
        self.rebalancer = EagerRebalancer(
            cluster,
            member,  # type: ignore[arg-type]
            self.fetcher,
            self.queue,
            self.committer,
            self.tasks,
            lambda: None,
            start=start,
            topics=NewTopics(cluster, ["t"]),
        )

    async def rewind(self) -> None:
        self.rebalancer.rewind()
        while self.rebalancer.is_busy:
            if await self.rebalancer.wait_for_messages(self) is not None:
                self.rebalancer.event_handled()
            await asyncio.sleep(0.01)

    def position(self, partition: TopicPartition) -> int:
        return self.fetcher.states[partition].progress.position

    async def event(self) -> tuple[PartitionChange, list[TopicPartition]]:
        """What the application is told next; it has not handled it yet."""
        while (event := await self.rebalancer.wait_for_messages(self)) is None:
            assert self.tasks.crash is None, self.tasks.crash
            await asyncio.sleep(0.01)
        return event.change, sorted(event.partitions)

    async def handled_event(self) -> tuple[PartitionChange, list[TopicPartition]]:
        event = await self.event()
        self.rebalancer.event_handled()
        return event

    def done(self, partition: TopicPartition, behind: int) -> None:
        progress = self.fetcher.states[partition].progress
        progress.deliver(behind, behind)
        progress.finish(behind)


def with_consumer(work: Any, *assignments: list[TopicPartition], start: int = EARLIEST) -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(), p1=FakeLog(2, 2), p2=FakeLog())
        fake.logs[T0].end = 100
        async with fake.client() as cluster:
            consumer = Consumer(fake, cluster, FakeMember(*assignments), start)
            await work(fake, consumer)
            await consumer.tasks.close()
            await consumer.fetcher.close()

    run(main())


ASSIGNED, REVOKED, LOST = PartitionChange


def test_reading_starts_at_the_committed_offsets_and_elsewhere_at_the_start() -> None:
    async def work(_: FakeCluster, consumer: Consumer) -> None:
        assert await consumer.handled_event() == (ASSIGNED, [T0, T1])
        positions = {n: each.progress.position for n, each in consumer.fetcher.states.items()}
        assert positions == {T0: 4, T1: 2}
        assert not consumer.rebalancer.is_busy

    with_consumer(work, [T0, T1])


def test_nothing_is_delivered_before_the_application_knows_its_partitions() -> None:
    async def work(_: FakeCluster, consumer: Consumer) -> None:
        assert await consumer.rebalancer.wait_for_messages(consumer) is None
        await asyncio.sleep(1)  # it has joined and fetched while the application was elsewhere
        assert consumer.fetcher.buffer
        assert consumer.queue.take(None) == []
        assert await consumer.handled_event() == (ASSIGNED, [T0])
        consumer.queue.interrupted = False
        assert consumer.queue.take(1)[0].offset == 4

    with_consumer(work, [T0])


def test_what_is_done_is_committed_and_told_before_the_group_is_joined_again() -> None:
    async def work(_: FakeCluster, consumer: Consumer) -> None:
        await consumer.handled_event()
        consumer.done(T0, 9)
        consumer.member.rejoin_needed.set()
        await asyncio.sleep(0.01)
        assert consumer.queue.interrupted
        assert await consumer.event() == (REVOKED, [T0, T1])
        assert consumer.stored == {0: 9}
        await asyncio.sleep(5)  # the application's callback takes its time
        assert len(consumer.member.joins) == 1
        consumer.rebalancer.event_handled()
        assert await consumer.handled_event() == (ASSIGNED, [T1, T2])
        assert list(consumer.fetcher.states) == [T1, T2]

    with_consumer(work, [T0, T1], [T1, T2])


def test_a_partition_that_is_kept_goes_on_where_it_stands() -> None:
    async def work(fake: FakeCluster, consumer: Consumer) -> None:
        await consumer.handled_event()
        kept = consumer.fetcher.states[T0].progress
        kept.deliver(50, 50)  # delivered, and not done
        consumer.member.rejoin_needed.set()
        assert await consumer.handled_event() == (REVOKED, [T0])
        assert await consumer.handled_event() == (ASSIGNED, [T0])
        assert consumer.fetcher.states[T0].progress is kept
        assert kept.position == 50
        assert not kept.revoked
        assert len(fake.times(OffsetFetchRequest)) == 1

    with_consumer(work, [T0], [T0])


def test_a_commit_that_the_rebalance_refuses_does_not_keep_it_from_going_on() -> None:
    async def work(fake: FakeCluster, consumer: Consumer) -> None:
        await consumer.handled_event()
        consumer.done(T0, 9)
        fake.errors[OffsetCommitRequest].append(ErrorCode.REBALANCE_IN_PROGRESS)
        consumer.member.rejoin_needed.set()
        assert await consumer.handled_event() == (REVOKED, [T0])
        assert consumer.stored == {}
        assert await consumer.handled_event() == (ASSIGNED, [T0])
        assert consumer.committer.membership.generation_id == 2
        await consumer.committer.commit()
        assert consumer.stored == {0: 9}

    with_consumer(work, [T0], [T0])


def test_an_application_that_does_not_come_is_not_waited_for_until_it_is_thrown_out() -> None:
    async def work(_: FakeCluster, consumer: Consumer) -> None:
        await consumer.handled_event()
        began = now()
        consumer.member.rejoin_needed.set()
        await asyncio.sleep(REBALANCE_S)
        first, second = consumer.member.joins
        assert first < began
        assert began + 0.5 * REBALANCE_S < second < began + REBALANCE_S
        assert await consumer.handled_event() == (LOST, [T0])
        assert await consumer.handled_event() == (ASSIGNED, [T1])

    with_consumer(work, [T0], [T1])


def test_a_rewind_reads_again_from_the_committed_offset() -> None:
    async def work(fake: FakeCluster, consumer: Consumer) -> None:
        await consumer.handled_event()
        consumer.fetcher.states[T0].progress.deliver(50, 50)
        consumer.rebalancer.rewind()
        assert consumer.queue.interrupted
        while consumer.rebalancer.is_busy:
            assert await consumer.rebalancer.wait_for_messages(consumer) is None
            await asyncio.sleep(0.01)
        assert consumer.fetcher.states[T0].progress.position == 4
        assert len(consumer.member.joins) == 1
        assert fake.times(FetchRequest)

    with_consumer(work, [T0])


@pytest.mark.parametrize("start", [LATEST, 12345])
def test_a_rewind_where_nothing_is_committed_goes_back_to_the_start(start: int) -> None:
    """Not to what is the end by now: what was rolled back lies before it."""

    async def work(fake: FakeCluster, consumer: Consumer) -> None:
        await consumer.handled_event()
        fake.logs[T1].end = 9
        consumer.done(T1, 9)
        await consumer.rewind()
        assert consumer.position(T1) == 2
        assert consumer.committer.committable_offsets() == ({T1: 2} if start == LATEST else {})
        consumer.committed[1] = 7
        await consumer.rewind()
        assert consumer.position(T1) == 7

    with_consumer(work, [T1], start=start)


def test_a_member_that_was_replaced_still_knows_where_it_started() -> None:
    """It joins again and starts at the end of then, before the old transaction is refused."""

    async def work(fake: FakeCluster, consumer: Consumer) -> None:
        await consumer.handled_event()
        fake.logs[T1].end = 9
        consumer.done(T1, 9)
        consumer.committer.membership = GroupMembership("member-0", 1)  # no longer in the group
        consumer.member.rejoin_needed.set()
        assert await consumer.handled_event() == (REVOKED, [T1])
        assert await consumer.handled_event() == (ASSIGNED, [T1])
        assert consumer.position(T1) == 9
        await consumer.rewind()
        assert consumer.position(T1) == 2

    with_consumer(work, [T1], [T1], start=LATEST)


def test_the_start_of_a_topic_is_not_that_of_the_next_topic_of_its_name() -> None:
    async def work(fake: FakeCluster, consumer: Consumer) -> None:
        fake.topic_id = bytes(15) + b"1"
        await consumer.handled_event()
        fake.logs[T1].end = 9
        fake.topic_id = bytes(15) + b"2"
        await consumer.cluster.refresh(["t"])
        await consumer.rewind()
        assert consumer.position(T1) == 9
        fake.logs[T1].end = 20
        await consumer.rewind()
        assert consumer.position(T1) == 9

    with_consumer(work, [T1], start=LATEST)


def test_a_start_at_the_beginning_of_the_log_is_looked_up_again() -> None:
    """Retention may have deleted the first records: that is no loss of data."""

    async def work(fake: FakeCluster, consumer: Consumer) -> None:
        await consumer.handled_event()
        assert consumer.position(T1) == 2
        fake.logs[T1].first, fake.logs[T1].end = 4, 9
        await consumer.rewind()
        assert consumer.position(T1) == 4

    with_consumer(work, [T1])


def test_a_transaction_that_another_member_left_open_is_waited_for_as_long_as_it_takes() -> None:
    async def work(fake: FakeCluster, consumer: Consumer) -> None:
        def answer(_node: int, request: OffsetFetchRequest) -> OffsetFetchResponse:
            is_open = now() < OPEN_S
            code = ErrorCode.UNSTABLE_OFFSET_COMMIT if is_open else ErrorCode.NONE
            return committed(request, consumer.committed, code)

        fake.handlers[OffsetFetchRequest] = answer
        assert await consumer.handled_event() == (ASSIGNED, [T0, T1])
        assert OPEN_S < now() < OPEN_S + 10

    with_consumer(work, [T0, T1])


def test_who_waits_for_the_first_assignment_hears_that_it_is_closed() -> None:
    async def work(fake: FakeCluster, consumer: Consumer) -> None:
        fake.handlers[OffsetFetchRequest] = lambda _node, request: committed(
            request, {}, ErrorCode.UNSTABLE_OFFSET_COMMIT
        )
        waiting = asyncio.ensure_future(consumer.rebalancer.join_first())
        await asyncio.sleep(1)
        await consumer.tasks.close()
        with pytest.raises(ClientClosed):
            await asyncio.wait_for(waiting, 1)

    with_consumer(work, [T0])
