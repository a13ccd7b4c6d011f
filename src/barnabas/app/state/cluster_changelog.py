"""The changelog of a handler, in a topic of a cluster."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress

from barnabas import aio
from barnabas.app.state.changelog import ChangelogNames, ChangelogRows, Extent, StateRow, deleted
from barnabas.app.state.changelog_topic import ensure_changelog
from barnabas.app.state.inheritance import GroupView
from barnabas.client.admin.groups import describe_group
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicMetadata, TopicPartition
from barnabas.client.consumer.range_reader import FetchedRange, RangeReader, RecordRange
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.errors import UnknownTopic

_LOOKS = 25
_LOOK_AGAIN_S = 0.2


class ClusterChangelog:
    """`admin` and `cluster` make clients. `patience_s`: how long a transaction may be open."""

    def __init__(
        self,
        names: ChangelogNames,
        admin: Callable[[], aio.Admin],
        cluster: Callable[[], ClusterClient],
        patience_s: float,
    ) -> None:
        self._names = names
        self._topic = names.topic
        self._admin = admin
        self._cluster = cluster()
        self._patience_s = patience_s

    async def ensure(self) -> None:
        async with self._admin() as admin:
            await ensure_changelog(admin, self._names)

    async def partitions(self) -> list[int]:
        topic = await self._cluster.retrying(self._ask)
        return [each.partition for each in topic.partitions]

    async def extents(
        self, partitions: Sequence[int], *, committed: bool = False
    ) -> dict[int, Extent]:
        topic = await self._asked()
        names = [TopicPartition(self._topic, each) for each in partitions]
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        found = await beginning_and_end(self._cluster, names, isolation)
        return {name.partition: Extent(topic.topic_id, *each) for name, each in found.items()}

    async def _asked(self) -> TopicMetadata:
        """What brokers know of the topic now: another one may have its name meanwhile."""
        for _ in range(_LOOKS):
            with suppress(UnknownTopic):  # the broker that was asked may not know it yet
                return await self._cluster.retrying(self._ask)
            await asyncio.sleep(_LOOK_AGAIN_S)
        raise deleted(self._names)

    async def _ask(self) -> TopicMetadata:
        found = (await self._cluster.refresh([self._topic]))[self._topic]
        check(found.error_code, f"topic {self._topic}", needs="read")
        return found

    async def read(self, partition: int, start: int, end: int) -> AsyncIterator[ChangelogRows]:
        name = TopicPartition(self._topic, partition)
        wanted = RecordRange(name, start, end)
        reader = RangeReader(self._cluster, [wanted], patience_s=self._patience_s)
        following = asyncio.ensure_future(reader.fetch())
        try:
            while fetched := await following:
                following = asyncio.ensure_future(reader.fetch())
                rows, last = await asyncio.to_thread(_decoded, reader, fetched)
                yield ChangelogRows(rows, last + 1)
        finally:
            following.cancel()
        yield ChangelogRows((), end)  # markers, and what compaction has left out

    async def group(self) -> GroupView:
        found = await describe_group(self._cluster, self._names.group)
        topics = {each.topic for member in found.members for each in member.partitions}
        known = await self._cluster.refresh({*topics, self._names.source})
        return GroupView(
            {each.member_id: each.partitions for each in found.members},
            found.assignor,
            {name: len(topic.partitions) for name, topic in known.items()},
            found.state == "Stable",
        )

    async def close(self) -> None:
        await self._cluster.close()


def _decoded(reader: RangeReader, fetched: list[FetchedRange]) -> tuple[list[StateRow], int]:
    rows: list[StateRow] = []
    last = fetched[0].start - 1
    for _, record in reader.records(fetched):
        last = record.offset
        if record.key is not None:
            rows.append(StateRow(record.key, record.value, record.timestamp))
    return rows, last
