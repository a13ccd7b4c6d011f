"""A member of the consumer protocol with its rebalancer: what moves, what is told and committed."""

import asyncio
from typing import Any

import pytest

from barnabas.client.connect.background_tasks import BackgroundTasks
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.committer import Committer
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.incremental_rebalancer import IncrementalRebalancer
from barnabas.client.consumer.new_topics import NewTopics
from barnabas.client.consumer.poll_watch import PollWatch
from barnabas.client.consumer.rebalancer import PartitionChange
from barnabas.client.group.consumer_member import ConsumerMember
from barnabas.client.offsets.list_offsets import EARLIEST
from barnabas.errors import BrokerError, ClientClosed, ProtocolMismatch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from tests.client.consumer.test_committer import Group
from tests.client.fake_cluster import FakeCluster, FakeLog
from tests.client.fake_group import INTERVAL_MS, FakeConsumerGroup, committed
from tests.client.virtual_time import now, run

T0, T1, T2 = (TopicPartition("t", n) for n in range(3))
ASSIGNED, REVOKED, LOST = PartitionChange
REBALANCE_S = 60.0
OPEN_S = 100.0
"""Longer than a request is retried."""
BEAT_S = INTERVAL_MS / 1000


class Consumer:
    """A real member, rebalancer, fetcher, committer and queue, with a fake coordinator."""

    def __init__(
        self, fake: FakeCluster, cluster: ClusterClient, instance_id: str | None, *, manual: bool
    ) -> None:
        self.committed: dict[int, int] = {0: 4}
        self.tasks = BackgroundTasks(lambda: None)
        group = Group(fake, cluster)
        self.stored = group.stored
        self.fetcher = Fetcher(cluster, lambda: None)
        mode = CommitMode.MANUAL if manual else CommitMode.AUTO
        self.queue = DeliveryQueue(self.fetcher, mode)
        self.committer = Committer(
            cluster,
            "g",
            self.fetcher,
            self.queue,
            None if manual else 5_000,
            group.fenced.append,
            lambda: None,
        )
        fake.handlers[OffsetFetchRequest] = lambda _node, request: committed(
            request, self.committed
        )
        self.member = ConsumerMember(cluster, "g", ["t"], group_instance_id=instance_id)
        self.rebalancer = IncrementalRebalancer(
            cluster,
            self.member,
            self.fetcher,
            self.queue,
            self.committer,
            self.tasks,
            lambda: None,
            start=EARLIEST,
            topics=NewTopics(cluster, ["t"]),
        )

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

    async def settled(self) -> None:
        """As an application that waits for messages."""
        while self.rebalancer.is_busy:
            assert await self.rebalancer.wait_for_messages(self) is None
            await asyncio.sleep(0.01)
        self.queue.interrupted = False

    async def take(self, count: int) -> list[tuple[int, int]]:
        """Messages, as an application that polls: partitions and offsets."""
        taken: list[tuple[int, int]] = []
        while len(taken) < count:
            self.queue.settle()
            found = self.queue.take(count - len(taken))
            taken += [(each.partition, each.offset) for each in found]
            if not found:
                if await self.rebalancer.wait_for_messages(self) is not None:
                    self.rebalancer.event_handled()
                if not self.rebalancer.is_busy:
                    self.queue.interrupted = False
                await asyncio.sleep(0.01)
        return taken

    def done(self, partition: TopicPartition, behind: int) -> None:
        progress = self.fetcher.states[partition].progress
        progress.deliver(behind, behind)
        progress.finish(behind)


def with_member(
    work: Any, *wanted: TopicPartition, instance_id: str | None = None, manual: bool = False
) -> FakeConsumerGroup:
    groups = []

    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(0, 500), p1=FakeLog(2, 500), p2=FakeLog(0, 500))
        group = FakeConsumerGroup(fake, *wanted)
        groups.append(group)
        async with fake.client() as cluster:
            consumer = Consumer(fake, cluster, instance_id, manual=manual)
            await work(fake, group, consumer)
            await consumer.tasks.close()
            await consumer.fetcher.close()
            await consumer.member.leave()
            assert consumer.tasks.crash is None

    run(main())
    return groups[0]


def test_a_member_joins_reads_and_leaves() -> None:
    async def work(_: FakeCluster, group: FakeConsumerGroup, consumer: Consumer) -> None:
        assert await consumer.handled_event() == (ASSIGNED, [T0, T1])
        await consumer.settled()
        positions = {n: each.progress.position for n, each in consumer.fetcher.states.items()}
        assert positions == {T0: 4, T1: 2}
        first = group.heartbeats[0][1]
        assert (first.member_epoch, first.topic_partitions) == (0, [])
        assert first.subscribed_topic_names == ["t"]
        assert consumer.committer.membership == consumer.member.membership
        assert consumer.member.membership.generation_id == 1
        await asyncio.sleep(4 * BEAT_S)
        assert group.owned == [[], [0, 1]]

    group = with_member(work, T0, T1)
    times = [at for at, _ in group.heartbeats]
    assert times[-2] - times[-3] == pytest.approx(BEAT_S, abs=0.1)
    last = group.heartbeats[-2][1]
    assert (last.subscribed_topic_names, last.topic_partitions) == (None, None)
    assert group.heartbeats[-1][1].member_epoch == -1


def test_rebalances_that_only_take_partitions_count_too() -> None:
    async def work(_: FakeCluster, group: FakeConsumerGroup, consumer: Consumer) -> None:
        await consumer.handled_event()
        await consumer.settled()
        assert consumer.rebalancer.count == 1
        group.want(T1)
        assert await consumer.handled_event() == (REVOKED, [T0])
        await consumer.settled()
        assert consumer.rebalancer.count == 2

    with_member(work, T0, T1)


def test_a_static_member_leaves_for_a_moment() -> None:
    async def work(_: FakeCluster, _group: FakeConsumerGroup, consumer: Consumer) -> None:
        await consumer.handled_event()

    group = with_member(work, T0, instance_id="i")
    assert group.heartbeats[-1][1].member_epoch == -2
    assert {request.instance_id for _, request in group.heartbeats} == {"i"}


def test_only_partitions_that_move_stop() -> None:
    async def work(fake: FakeCluster, group: FakeConsumerGroup, consumer: Consumer) -> None:
        await consumer.handled_event()
        await consumer.settled()
        kept = consumer.fetcher.states[T1]
        consumer.done(T0, 9)
        group.want(T1)
        assert await consumer.event() == (REVOKED, [T0])
        assert consumer.stored == {0: 9}
        assert group.owned[-1] == [0, 1]
        await asyncio.sleep(2)  # the application's callback takes its time
        assert group.owned[-1] == [0, 1]
        consumer.rebalancer.event_handled()
        await consumer.settled()
        await asyncio.sleep(0.1)
        assert group.owned[-1] == [1]
        assert consumer.fetcher.states == {T1: kept}
        assert not kept.progress.revoked
        group.want(T1, T2)
        assert await consumer.handled_event() == (ASSIGNED, [T2])
        await asyncio.sleep(0.1)
        assert group.owned[-1] == [1, 2]
        assert consumer.fetcher.states[T1] is kept
        assert consumer.committer.membership.generation_id == 3

    with_member(work, T0, T1)


def test_no_message_is_lost_or_doubled_while_other_partitions_move() -> None:
    async def work(_: FakeCluster, group: FakeConsumerGroup, consumer: Consumer) -> None:
        taken = await consumer.take(7)
        group.want(T1)
        await asyncio.sleep(2 * BEAT_S)
        assert consumer.queue.interrupted
        taken += await consumer.take(100)
        group.want(T1, T2)
        await asyncio.sleep(2 * BEAT_S)
        taken += await consumer.take(100)
        for partition, first in ((1, 2), (2, 0)):
            offsets = [offset for each, offset in taken if each == partition]
            assert offsets == list(range(first, first + len(offsets)))
        assert {partition for partition, _ in taken} >= {1, 2}

    with_member(work, T0, T1)


def test_a_fenced_member_has_lost_everything_and_joins_again() -> None:
    async def work(fake: FakeCluster, group: FakeConsumerGroup, consumer: Consumer) -> None:
        await consumer.handled_event()
        member_id = consumer.member.membership.member_id
        progress = consumer.fetcher.states[T0].progress
        fake.errors[ConsumerGroupHeartbeatRequest].append(ErrorCode.FENCED_MEMBER_EPOCH)
        group.want(T0, T1)
        assert await consumer.handled_event() == (LOST, [T0])
        assert progress.revoked
        assert await consumer.handled_event() == (ASSIGNED, [T0, T1])
        assert consumer.member.membership.member_id == member_id
        assert [each.member_epoch for _, each in group.heartbeats].count(0) == 2
        await asyncio.sleep(0.1)
        assert group.owned[-2:] == [[], [0, 1]]

    with_member(work, T0)


def test_an_application_that_does_not_come_is_not_waited_for_until_it_is_removed() -> None:
    async def work(_: FakeCluster, group: FakeConsumerGroup, consumer: Consumer) -> None:
        await consumer.handled_event()
        await consumer.settled()
        began = now()
        group.want(T1)
        await asyncio.sleep(REBALANCE_S)
        released = next(at for at, each in group.heartbeats if at > began and each.topic_partitions)
        assert began + 0.5 * REBALANCE_S < released < began + REBALANCE_S
        assert await consumer.handled_event() == (LOST, [T0])
        assert list(consumer.fetcher.states) == [T1]

    with_member(work, T0, T1)


def test_who_is_interrupted_during_the_last_commit_is_told_that_partitions_go_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work(_: FakeCluster, group: FakeConsumerGroup, consumer: Consumer) -> None:
        await consumer.handled_event()
        await consumer.settled()
        with monkeypatch.context() as patch:
            patch.setattr(consumer.committer, "commit_quietly", lambda: asyncio.sleep(30))
            group.want(T1)
            interrupted = asyncio.ensure_future(consumer.event())
            await asyncio.sleep(3 * BEAT_S)
            interrupted.cancel()
        assert await consumer.handled_event() == (REVOKED, [T0])

    with_member(work, T0, T1)


def test_what_is_given_up_during_the_last_commit_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may take longer than the member may wait for the application."""

    async def work(_: FakeCluster, group: FakeConsumerGroup, consumer: Consumer) -> None:
        await consumer.handled_event()
        await consumer.settled()
        pauses = iter([0.9 * REBALANCE_S, 0.0])
        monkeypatch.setattr(
            consumer.committer, "commit_quietly", lambda: asyncio.sleep(next(pauses))
        )
        group.want(T1)
        assert await consumer.handled_event() == (LOST, [T0])

    with_member(work, T0, T1)


def test_what_the_application_has_not_heard_of_is_known_as_such() -> None:
    async def work(_: FakeCluster, _group: FakeConsumerGroup, consumer: Consumer) -> None:
        await consumer.rebalancer.join_first()
        assert (set(consumer.fetcher.states), consumer.rebalancer.untold) == ({T0, T1}, {T0, T1})
        await consumer.handled_event()
        assert consumer.rebalancer.untold == set()

    with_member(work, T0, T1)


def test_a_commit_with_an_old_epoch_waits_for_the_next_one() -> None:
    async def work(fake: FakeCluster, group: FakeConsumerGroup, consumer: Consumer) -> None:
        await consumer.handled_event()
        await consumer.settled()
        consumer.done(T0, 9)
        group.want(T0)
        fake.errors[OffsetCommitRequest].append(ErrorCode.STALE_MEMBER_EPOCH)
        await consumer.committer.commit()
        assert consumer.stored == {0: 9}
        assert consumer.committer.membership.generation_id == 2

    with_member(work, T0)


def test_what_a_transaction_reads_of_a_partition_that_goes_stays_with_the_old_epoch() -> None:
    async def work(_: FakeCluster, group: FakeConsumerGroup, consumer: Consumer) -> None:
        await consumer.handled_event()
        await consumer.settled()
        consumer.done(T0, 9)
        group.want(T1)
        assert await consumer.handled_event() == (REVOKED, [T0])
        await consumer.settled()
        await asyncio.sleep(0.1)
        taken = consumer.committer.take()
        assert taken.offsets == {T0: 9}
        assert taken.membership.generation_id < consumer.member.membership.generation_id

    with_member(work, T0, T1, manual=True)


def test_a_rewind_reads_again_from_the_committed_offset() -> None:
    async def work(_: FakeCluster, _group: FakeConsumerGroup, consumer: Consumer) -> None:
        await consumer.handled_event()
        await consumer.settled()
        consumer.fetcher.states[T0].progress.deliver(50, 50)
        consumer.rebalancer.rewind()
        assert consumer.queue.interrupted
        await consumer.settled()
        assert consumer.fetcher.states[T0].progress.position == 4

    with_member(work, T0)


def test_a_member_whose_application_does_not_come_steps_aside_until_it_does() -> None:
    async def work(_: FakeCluster, group: FakeConsumerGroup, consumer: Consumer) -> None:
        await consumer.handled_event()
        await consumer.settled()
        watch = PollWatch(consumer.queue, lambda: False, 10_000, now)
        silence = asyncio.ensure_future(watch.silence())
        for _ in range(5):
            consumer.queue.settle()  # the application asks for messages
            await asyncio.sleep(5)
        assert not silence.done()
        await asyncio.wait_for(silence, 11)
        consumer.done(T0, 9)
        assert await consumer.rebalancer.step_aside()
        assert not await consumer.rebalancer.step_aside()
        assert group.heartbeats[-1][1].member_epoch == -1
        assert consumer.stored == {0: 9}
        before = len(group.heartbeats)
        await asyncio.sleep(20)
        assert len(group.heartbeats) == before
        assert await consumer.handled_event() == (LOST, [T0])
        assert await consumer.handled_event() == (ASSIGNED, [T0])

    with_member(work, T0)


def test_a_coordinator_that_moves_is_found_again() -> None:
    async def work(fake: FakeCluster, group: FakeConsumerGroup, consumer: Consumer) -> None:
        await consumer.handled_event()
        await asyncio.sleep(4 * BEAT_S)
        fake.errors[ConsumerGroupHeartbeatRequest] += [
            ErrorCode.NOT_COORDINATOR,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ]
        await asyncio.sleep(2 * BEAT_S)
        assert list(consumer.fetcher.states) == [T0]
        repeated = group.heartbeats[-1][1]
        assert repeated.member_epoch == 1
        full = [each for _, each in group.heartbeats if each.subscribed_topic_names]
        assert full[-1].topic_partitions

    with_member(work, T0)


def test_brokers_without_the_protocol_are_said_to_be_so() -> None:
    async def work(fake: FakeCluster, group: FakeConsumerGroup, consumer: Consumer) -> None:
        del fake.handlers[ConsumerGroupHeartbeatRequest]
        with pytest.raises(ProtocolMismatch, match='group_protocol="classic"'):
            await consumer.rebalancer.join_first()
        fake.handlers[ConsumerGroupHeartbeatRequest] = group._heartbeat
        fake.errors[ConsumerGroupHeartbeatRequest].append(ErrorCode.UNSUPPORTED_VERSION)
        with pytest.raises(ProtocolMismatch, match=r"group\.version"):
            await consumer.rebalancer.join_first()
        await consumer.rebalancer.join_first()
        assert await consumer.handled_event() == (ASSIGNED, [T0])

    with_member(work, T0)


def test_an_instance_id_in_use_is_waited_for_and_then_an_error() -> None:
    async def work(fake: FakeCluster, _: FakeConsumerGroup, consumer: Consumer) -> None:
        errors = fake.errors[ConsumerGroupHeartbeatRequest]
        errors += [ErrorCode.UNRELEASED_INSTANCE_ID] * 3
        await consumer.rebalancer.join_first()
        errors += [ErrorCode.FENCED_INSTANCE_ID]
        assert await consumer.handled_event() == (ASSIGNED, [T0])
        with pytest.raises(BrokerError, match="FENCED_INSTANCE_ID"):
            await consumer.event()
        assert not consumer.fetcher.states

    with_member(work, T0, instance_id="i")


def test_a_transaction_that_another_member_left_open_is_waited_for_as_long_as_it_takes() -> None:
    async def work(fake: FakeCluster, _group: FakeConsumerGroup, consumer: Consumer) -> None:
        def answer(_node: int, request: OffsetFetchRequest) -> OffsetFetchResponse:
            is_open = now() < OPEN_S
            code = ErrorCode.UNSTABLE_OFFSET_COMMIT if is_open else ErrorCode.NONE
            return committed(request, consumer.committed, code)

        fake.handlers[OffsetFetchRequest] = answer
        assert await consumer.handled_event() == (ASSIGNED, [T0, T1])
        assert OPEN_S < now() < OPEN_S + 10

    with_member(work, T0, T1)


def test_who_waits_for_the_first_assignment_hears_that_it_is_closed() -> None:
    async def work(fake: FakeCluster, _group: FakeConsumerGroup, consumer: Consumer) -> None:
        fake.handlers[OffsetFetchRequest] = lambda _node, request: committed(
            request, {}, ErrorCode.UNSTABLE_OFFSET_COMMIT
        )
        waiting = asyncio.ensure_future(consumer.rebalancer.join_first())
        await asyncio.sleep(1)
        await consumer.tasks.close()
        with pytest.raises(ClientClosed):
            await asyncio.wait_for(waiting, 1)

    with_member(work, T0)
