"""A hundred members and a thousand partitions: members of the consumer protocol that read nothing.

They release what goes and take what comes, as a consumer does, all in one event loop.
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import barnabas
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.consumer_member import Assignment, ConsumerMember
from tests.conftest import ELSEWHERE
from tests.support.wait import wait_until_async

MEMBERS = 100
PARTITIONS = 1_000
TOPIC = "many"
SETTINGS = {
    "group.consumer.min.heartbeat.interval.ms": 1_000,
    "group.consumer.heartbeat.interval.ms": 1_000,
    "group.consumer.max.size": MEMBERS,
}


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with ExitStack() as stack:
        address = ELSEWHERE
        if not address:
            cluster = stack.enter_context(barnabas.Cluster(settings=SETTINGS))
            address = cluster.bootstrap_servers
        with barnabas.Admin(address) as admin:
            admin.create_topic(TOPIC, partitions=PARTITIONS, exist_ok=True)
        yield address


class Owners:
    """Who has which partition; no two members ever have the same."""

    def __init__(self) -> None:
        self.of: dict[TopicPartition, Owner] = {}

    def is_shared_by(self, members: int) -> bool:
        shares: dict[Owner, int] = {}
        for owner in self.of.values():
            shares[owner] = shares.get(owner, 0) + 1
        sizes = shares.values()
        return (
            len(self.of) == PARTITIONS and len(shares) == members and max(sizes) - min(sizes) <= 1
        )


class Owner:
    """A member, and the partitions that it has."""

    def __init__(self, cluster: ClusterClient, owners: Owners) -> None:
        self._member = ConsumerMember(cluster, "g", [TOPIC])
        self._member.on_lost = self._lose
        self._owners = owners
        self._owned: Assignment = {}
        self.lost = 0
        self._task = asyncio.create_task(self._run())

    async def leave(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._release(list(self._owned))
        await self._member.leave()

    def raise_failure(self) -> None:
        if self._task.done():
            self._task.result()

    async def _run(self) -> None:
        self._member.start()
        while True:
            await self._member.changed.wait()
            self._member.changed.clear()
            if self._member.failure is not None:
                raise self._member.failure
            target = self._member.assignment
            if target is not None:
                self._release([each for each in self._owned if each not in target])
                for each in target.keys() - self._owned.keys():
                    assert each not in self._owners.of, f"{each} has two owners"
                    self._owners.of[each] = self
                self._owned = dict(target)
                self._member.acknowledge(self._owned)

    def _release(self, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            del self._owned[each], self._owners.of[each]

    def _lose(self) -> None:
        self.lost += 1
        self._release(list(self._owned))


def test_members_join_and_leave_and_each_partition_has_one_owner(servers: str) -> None:
    async def main() -> None:
        owners = Owners()
        async with ClusterClient(servers) as cluster:
            await cluster.topics([TOPIC])
            members = [Owner(cluster, owners) for _ in range(MEMBERS)]

            def is_shared() -> bool:
                for each in members:
                    each.raise_failure()
                return owners.is_shared_by(len(members))

            def complaint() -> str:
                return f"{len(owners.of)} partitions have an owner, of {len(members)} members"

            await wait_until_async(is_shared, complaint)
            leaving, members = members[:10], members[10:]
            await asyncio.gather(*(each.leave() for each in leaving))
            await wait_until_async(is_shared, complaint)
            members += [Owner(cluster, owners) for _ in range(5)]
            await wait_until_async(is_shared, complaint)
            assert not any(each.lost for each in members)
            await asyncio.gather(*(each.leave() for each in members))

    asyncio.run(main())
