"""A group that is at work in the target is left alone, and goes along again once it is not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

import barnabas
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import commit_offsets, fetch_committed
from barnabas.mirror.flow import ClusterEnd
from barnabas.mirror.groups import group_sync
from barnabas.mirror.groups.group_positions import Routes
from barnabas.mirror.groups.group_settings import GroupSettings
from barnabas.mirror.groups.group_sync import GroupSync
from barnabas.mirror.offsets.translations import Translations
from barnabas.mirror.syncs import OffsetSync
from tests.mirror.copies import make_topic

Ends = tuple[ClusterEnd, ClusterEnd]
RECORDS = 100


class SyncedTopic(NamedTuple):
    """A topic with the same offsets on both sides, and a group of it."""

    source: ClusterClient
    target: ClusterClient
    partition: TopicPartition
    group: str
    sync: GroupSync

    async def commit(self, offset: int) -> None:
        """In the source."""
        await commit_offsets(self.source, self.group, {self.partition: offset})

    async def round(self, now_s: float) -> tuple[bool, int | None]:
        """Whether the group is active in the target, and what is committed there after a round."""
        (found,) = (await self.sync.sync(now_s)).groups
        committed = await fetch_committed(self.target, self.group)
        return found.is_active, committed.get(self.partition)


@asynccontextmanager
async def synced(ends: Ends, topic: str) -> AsyncIterator[SyncedTopic]:
    partition, group = TopicPartition(topic, 0), f"group-{topic}"
    translations = Translations()
    translations.add([OffsetSync(partition, partition, 0, 0, RECORDS)])
    async with ends[0].client() as source, ends[1].client() as target:
        settings = GroupSettings(include=(group,))
        sync = GroupSync(settings, source, target, Routes(translations))
        yield SyncedTopic(source, target, partition, group, sync)


@pytest.fixture
def both(ends: Ends, topic: str) -> Ends:
    for each in ends:
        make_topic(each, topic)
    with barnabas.Producer(ends[1].bootstrap_servers) as producer:
        for _ in range(RECORDS):
            producer.send(topic, b"value")
    return ends


@pytest.mark.parametrize("is_seen", [True, False], ids=["listed", "joins later"])
def test_what_was_committed_while_it_was_active_goes_along_once_it_is_empty(
    both: Ends, topic: str, monkeypatch: pytest.MonkeyPatch, is_seen: bool
) -> None:
    async def run() -> None:
        async with synced(both, topic) as it:
            await it.commit(10)
            assert await it.round(1.0) == (False, 10)
            servers = both[1].bootstrap_servers
            consumer = barnabas.Consumer(servers, topic, group=it.group, commit="manual")
            try:
                assert await asyncio.to_thread(consumer.poll, 60.0), "it is a member now"
                await it.commit(20)
                with monkeypatch.context() as patched:
                    if not is_seen:  # it joins after groups were listed, and the commit is refused
                        patched.setattr(group_sync, "has_members", lambda _: False)
                    assert await it.round(2.0) == (True, 10)
                    assert await it.round(3.0) == (True, 10)
            finally:
                await asyncio.to_thread(consumer.close)
            assert await it.round(4.0) == (False, 20)

    asyncio.run(run())


def test_what_it_has_read_in_the_target_is_never_taken_back(both: Ends, topic: str) -> None:
    async def run() -> None:
        async with synced(both, topic) as it:
            await it.commit(10)
            assert await it.round(1.0) == (False, 10)
            await commit_offsets(it.target, it.group, {it.partition: 50})
            await it.commit(20)
            assert await it.round(2.0) == (False, 50)
            assert await it.round(2.0 + group_sync.REFRESH_S) == (False, 50)

    asyncio.run(run())
