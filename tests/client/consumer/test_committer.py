"""The committer alone: when it commits, what it retries, and how it takes a fence."""

import asyncio
from typing import Any

import pytest

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.committer import Committer
from barnabas.client.consumer.completed_fetch import FetchState
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.partition_progress import NOTHING_COMMITTED, PartitionProgress
from barnabas.client.group.committed_offsets import GroupMembership
from barnabas.errors import BrokerError
from barnabas.records.message import Message
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests.client.fake_cluster import FakeCluster, FakeLog
from tests.client.virtual_time import now, run

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
MEMBERSHIP = GroupMembership("member-1", 7)
INTERVAL_MS = 5_000


class Group:
    """A committer for two partitions, and what its coordinator has stored."""

    def __init__(
        self, fake: FakeCluster, cluster: ClusterClient, interval_ms: int | None = INTERVAL_MS
    ) -> None:
        self.stored: dict[int, int] = {}
        self.fenced: list[GroupMembership] = []
        self.notified = 0
        self._fake = fake
        fake.handlers[OffsetCommitRequest] = self._commit
        fetcher = self.fetcher = Fetcher(cluster, self._notify)
        self.progress = {each: PartitionProgress(0) for each in (T0, T1)}
        fetcher.states = {each: FetchState(each, made) for each, made in self.progress.items()}
        mode = CommitMode.MANUAL if interval_ms is None else CommitMode.AUTO
        self.queue = DeliveryQueue(fetcher, mode)
        self.committer = Committer(
            cluster,
            "g",
            fetcher,
            self.queue,
            interval_ms,
            self.fenced.append,
            self._notify,
        )
        self.committer.membership = MEMBERSHIP

    def _notify(self) -> None:
        self.notified += 1

    def done(self, partition: TopicPartition, behind: int) -> None:
        self.progress[partition].deliver(behind, behind)
        self.progress[partition].finish(behind)

    def _commit(self, _node_id: int, request: OffsetCommitRequest) -> OffsetCommitResponse:
        errors = self._fake.errors[OffsetCommitRequest]
        code = errors.popleft() if errors else ErrorCode.NONE
        answers = []
        for each in request.topics[0].partitions:
            if not code:
                self.stored[each.partition_index] = each.committed_offset
            answers.append(OffsetCommitResponsePartition(each.partition_index, code))
        return OffsetCommitResponse(topics=[OffsetCommitResponseTopic("t", partitions=answers)])


def with_group(work: Any, **options: Any) -> None:
    async def main() -> None:
        fake = FakeCluster(p0=FakeLog(), p1=FakeLog())
        async with fake.client() as cluster:
            group = Group(fake, cluster, **options)
            running = asyncio.create_task(group.committer.run())
            await work(fake, group)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    run(main())


def test_it_commits_what_is_new_once_per_interval() -> None:
    async def work(fake: FakeCluster, group: Group) -> None:
        group.done(T0, 3)
        await asyncio.sleep(4.9)
        assert group.stored == {}
        await asyncio.sleep(0.2)
        assert group.stored == {0: 3}
        await asyncio.sleep(30)
        assert len(fake.times(OffsetCommitRequest)) == 1
        group.done(T1, 9)
        await asyncio.sleep(5.1)
        assert group.stored == {0: 3, 1: 9}
        assert len(fake.times(OffsetCommitRequest)) == 2

    with_group(work)


def test_the_message_at_work_on_is_not_committed() -> None:
    """Everything before it is: the application has asked for it, and so is done with those."""

    async def work(_: FakeCluster, group: Group) -> None:
        group.progress[T0].deliver(8, 8)
        group.queue.at_work_on = lambda progress: (  # type: ignore[method-assign]
            Message("t", 0, 5, 0, None, b"", ()) if progress is group.progress[T0] else None
        )
        await group.committer.commit()
        assert group.stored == {0: 5}

    with_group(work)


def test_a_coordinator_that_moved_is_looked_for_with_back_off() -> None:
    async def work(fake: FakeCluster, group: Group) -> None:
        fake.errors[OffsetCommitRequest].extend([ErrorCode.NOT_COORDINATOR] * 3)
        group.done(T0, 3)
        began = now()
        await group.committer.commit()
        assert group.stored == {0: 3}
        assert len(fake.times(FindCoordinatorRequest)) == 4
        gaps = [at - began for at in fake.times(OffsetCommitRequest)]
        assert gaps == pytest.approx([0, 0.05, 0.15, 0.35], abs=0.02)

    with_group(work)


def test_what_is_done_while_a_commit_is_under_way_is_committed_by_the_next() -> None:
    async def work(fake: FakeCluster, group: Group) -> None:
        fake.delay_s[OffsetCommitRequest] = 1.0
        group.done(T0, 3)
        committing = asyncio.create_task(group.committer.commit())
        await asyncio.sleep(0.5)
        group.done(T0, 8)
        await committing
        assert group.stored == {0: 3}
        assert group.committer.committable_offsets() == {T0: 8}
        await group.committer.commit()
        assert group.stored == {0: 8}

    with_group(work)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
    ],
)
def test_a_fence_is_reported_and_never_retried(code: ErrorCode) -> None:
    async def work(fake: FakeCluster, group: Group) -> None:
        group.done(T0, 3)
        fake.errors[OffsetCommitRequest].extend([code] * 3)
        await group.committer.commit_quietly()
        assert group.fenced == [MEMBERSHIP]
        assert group.committer.failure is None
        with pytest.raises(BrokerError, match=code.name):
            await group.committer.commit()
        await group.committer.commit_at_end()
        assert len(fake.times(OffsetCommitRequest)) == 3
        assert now() < 1
        assert group.committer.committable_offsets() == {T0: 3}

    with_group(work)


def test_a_refusal_for_good_is_told_to_the_application() -> None:
    async def work(fake: FakeCluster, group: Group) -> None:
        fake.errors[OffsetCommitRequest].append(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        group.done(T0, 3)
        await asyncio.sleep(5.1)
        assert isinstance(group.committer.failure, BrokerError)
        assert group.notified == 1
        await asyncio.sleep(5)
        assert group.stored == {0: 3}

    with_group(work)


def test_what_a_transaction_takes_is_in_the_name_of_who_read_it() -> None:
    async def work(_: FakeCluster, group: Group) -> None:
        group.done(T0, 3)
        group.committer.before_rebalance()
        group.committer.membership = GroupMembership("member-1", 8)
        group.done(T1, 5)
        taken = group.committer.take()
        assert (taken.offsets, taken.membership) == ({T0: 3, T1: 5}, MEMBERSHIP)
        assert group.committer.take().offsets == {}
        group.done(T1, 6)
        group.committer.forget()
        assert group.committer.take().offsets == {}
        assert group.stored == {}

    with_group(work, interval_ms=None)


def start_at_the_end(group: Group) -> None:
    for state in group.fetcher.states.values():
        state.progress = group.progress[state.partition] = PartitionProgress(5, NOTHING_COMMITTED)


def test_a_start_that_nothing_was_read_from_is_for_the_next_generation_to_commit() -> None:
    """In the name of the old one it would be refused, for nothing."""

    async def work(_: FakeCluster, group: Group) -> None:
        start_at_the_end(group)
        group.progress[T1].skip_to(6)  # the marker of a transaction, which is not delivered
        group.committer.before_rebalance()
        following = group.committer.membership = GroupMembership("member-1", 8)
        taken = group.committer.take()
        assert (taken.offsets, taken.membership) == ({T0: 5, T1: 6}, following)

    with_group(work, interval_ms=None)


def test_a_start_that_was_read_from_is_for_the_member_that_read_it_to_commit() -> None:
    async def work(_: FakeCluster, group: Group) -> None:
        start_at_the_end(group)
        group.done(T1, 7)
        group.committer.before_rebalance()
        group.committer.membership = GroupMembership("member-1", 8)
        taken = group.committer.take()
        assert (taken.offsets, taken.membership) == ({T0: 5, T1: 7}, MEMBERSHIP)

    with_group(work, interval_ms=None)


def test_the_message_at_work_on_was_read_by_the_old_generation() -> None:
    async def work(_: FakeCluster, group: Group) -> None:
        start_at_the_end(group)
        group.queue.at_work_on = lambda progress: (  # type: ignore[method-assign]
            Message("t", 0, 5, 0, None, b"", ()) if progress is group.progress[T0] else None
        )
        group.committer.before_rebalance()
        group.committer.membership = GroupMembership("member-1", 8)
        taken = group.committer.take()
        assert (taken.offsets, taken.membership) == ({T0: 6, T1: 5}, MEMBERSHIP)

    with_group(work, interval_ms=None)


def test_the_last_commit_may_be_cut_short() -> None:
    async def work(fake: FakeCluster, group: Group) -> None:
        fake.delay_s[OffsetCommitRequest] = 60
        group.done(T0, 3)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2):
                await group.committer.commit_at_end()
        assert now() == pytest.approx(2, abs=0.1)
        assert group.committer.committable_offsets() == {T0: 3}

    with_group(work)
