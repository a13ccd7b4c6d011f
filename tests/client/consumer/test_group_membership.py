"""Groups on a real broker: sharing, rebalancing, committing, and being fenced."""

import asyncio
from collections.abc import Coroutine
from typing import Any
from uuid import uuid4

from barnabas.client.admin.groups import describe_group
from barnabas.client.admin.topics import create_partitions, create_topic
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.classic_member import ClassicMember
from barnabas.client.group.committed_offsets import commit_offsets, fetch_committed
from barnabas.client.producer.record_producer import RecordProducer
from tests.client.core_consumer import CoreConsumer
from tests.support.wait import wait_until_async


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, 120))


async def topic_with(cluster: ClusterClient, partitions: int, count: int) -> str:
    name = f"t-{uuid4().hex[:10]}"
    await create_topic(cluster, name, partitions=partitions)
    async with RecordProducer(cluster) as producer:
        for i in range(count):
            await producer.send(name, b"%d" % i, partition=i % partitions)
    assert producer.count.delivered == count
    return name


class Member:
    """Reads in a task of its own until it is told to stop."""

    def __init__(self, cluster: ClusterClient, group: str, topic: str) -> None:
        self.source = CoreConsumer(cluster, [topic], group_id=group, session_timeout_ms=45_000)
        self.source.member._heartbeat_interval_ms = 100
        self.values: list[int] = []
        self._stopping = asyncio.Event()
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async with self.source:
            while not self._stopping.is_set():
                self.values += [int(message.value) for message in await self.source.poll(50)]

    @property
    def partitions(self) -> set[int]:
        return {each.partition for each in self.source.positions}

    async def stop(self) -> None:
        self._stopping.set()
        await self._task


def test_who_gives_up_joining_leaves_at_once(bootstrap: str) -> None:
    """Not when the member that the group waits for has joined again."""

    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic = await topic_with(cluster, 1, 1)
            group = f"g-{topic}"
            slow = ClassicMember(cluster, group, [topic], rebalance_timeout_ms=60_000)
            await slow.join()
            joining = ClassicMember(cluster, group, [topic])
            task = asyncio.create_task(joining.join())

            async def members() -> int:
                return len((await describe_group(cluster, group)).members)

            async def both_are_members() -> bool:
                return await members() == 2

            await wait_until_async(both_are_members)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await joining.leave()
            assert await members() == 1
            await slow.leave()

    run(main())


def test_members_share_partitions_as_they_come_and_go(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic = await topic_with(cluster, 4, 400)
            group = f"g-{topic}"
            first = Member(cluster, group, topic)
            await wait_until_async(lambda: len(first.values) == 400)
            assert first.partitions == {0, 1, 2, 3}
            second = Member(cluster, group, topic)
            await wait_until_async(lambda: len(first.partitions) == len(second.partitions) == 2)
            assert not first.partitions & second.partitions
            described = await describe_group(cluster, group)
            assert (described.state, described.assignor) == ("Stable", "range")
            assert len(described.members) == 2
            assert sorted(each for member in described.members for each in member.partitions) == [
                (topic, index) for index in range(4)
            ]
            await first.stop()
            await wait_until_async(lambda: second.partitions == {0, 1, 2, 3})
            await second.stop()
            assert sorted(first.values) == list(range(400))
            assert second.values == []
            committed = await fetch_committed(cluster, group)
            assert committed == {TopicPartition(topic, index): 100 for index in range(4)}

    run(main())


def test_reading_goes_on_where_the_group_has_committed(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic = await topic_with(cluster, 1, 10)
            group = f"g-{topic}"
            await commit_offsets(cluster, group, {TopicPartition(topic, 0): 7})
            member = Member(cluster, group, topic)
            await wait_until_async(lambda: len(member.values) == 3)
            await member.stop()
            assert member.values == [7, 8, 9]
            assert await fetch_committed(cluster, group) == {(topic, 0): 10}

    run(main())


def test_a_member_the_group_has_forgotten_comes_back_as_a_new_one(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic = await topic_with(cluster, 2, 20)
            group = f"g-{topic}"
            member = Member(cluster, group, topic)
            await wait_until_async(lambda: len(member.values) == 20)
            forgotten = member.source.member._member_id
            impostor = ClassicMember(cluster, group, [topic])
            impostor._member_id = forgotten
            await impostor.leave()
            await wait_until_async(lambda: member.source.member._member_id not in ("", forgotten))
            await wait_until_async(lambda: member.partitions == {0, 1})
            await member.stop()

    run(main())


def test_the_leader_notices_new_partitions(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic = await topic_with(cluster, 1, 1)
            member = Member(cluster, f"g-{topic}", topic)
            member.source.member._metadata_max_age_ms = 50
            await wait_until_async(lambda: member.partitions == {0})
            await create_partitions(cluster, topic, 3)
            await wait_until_async(lambda: member.partitions == {0, 1, 2})
            await member.stop()

    run(main())


def test_what_is_rolled_back_while_the_group_rebalances_is_read_again(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic = await topic_with(cluster, 1, 10)
            group = f"g-{topic}"
            async with CoreConsumer(
                cluster, [topic], group_id=group, commit_interval_ms=None
            ) as consumer:
                assert len(await consumer.poll(60_000)) == 10
                member = consumer.member
                join, joined, go_on = member.join, asyncio.Event(), asyncio.Event()

                async def join_slowly() -> list[TopicPartition]:
                    partitions = await join()
                    joined.set()
                    await go_on.wait()
                    return partitions

                member.join = join_slowly  # type: ignore[method-assign]
                member.rejoin_needed.set()
                polling = asyncio.create_task(consumer.poll(5_000))
                await joined.wait()
                consumer.rewind()
                go_on.set()
                assert [message.offset for message in await polling] == list(range(10))

    run(main())


def test_a_poll_that_is_cancelled_while_partitions_go_is_no_obstacle(bootstrap: str) -> None:
    async def main() -> None:
        async with ClusterClient(bootstrap) as cluster:
            topic = await topic_with(cluster, 1, 1)
            consumer = CoreConsumer(cluster, [topic], group_id=f"g-{topic}")
            async with consumer:
                assert len(await consumer.poll(60_000)) == 1
                committing = asyncio.Event()

                async def hang() -> None:
                    committing.set()
                    await asyncio.sleep(60)

                committer = consumer.needs_group()
                commit, committer.commit_quietly = committer.commit_quietly, hang  # type: ignore[method-assign]
                consumer.member.rejoin_needed.set()
                polling = asyncio.create_task(consumer.poll(5_000))
                await committing.wait()
                polling.cancel()
                committer.commit_quietly = commit  # type: ignore[method-assign]
                generation = committer.membership.generation_id
                async with asyncio.timeout(60):
                    while committer.membership.generation_id == generation:
                        await consumer.poll(50)

    run(main())
