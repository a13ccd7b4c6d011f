"""The changelog of a handler, in a topic of a cluster."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from barnabas import aio
from barnabas.app.state.changelog import ChangelogRows, Extent, StateRow
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.range_reader import FetchedRange, RangeReader, RecordRange
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.errors import BrokerError, InvalidArgument
from barnabas.quantities import counted

_IN_SYNC = "min.insync.replicas"
_POLICY = "cleanup.policy"
_LIMIT = "max.message.bytes"
TOMBSTONES_MS = 24 * 3600 * 1000
"""How long a changelog keeps what deletes a key."""


class ClusterChangelog:
    """`admin` and `cluster` make clients. `patience_s`: how long a transaction may be open."""

    def __init__(
        self,
        topic: str,
        admin: Callable[[], aio.Admin],
        cluster: Callable[[], ClusterClient],
        patience_s: float,
    ) -> None:
        self._topic = topic
        self._admin = admin
        self._cluster = cluster()
        self._patience_s = patience_s

    async def ensure(self, source: str) -> None:
        async with self._admin() as admin:
            known = await admin.topics()
            if source not in known:
                raise InvalidArgument(f"the topic {source} no longer exists")
            wanted = known[source].partitions
            if self._topic not in known:
                configs: dict[str, int | str] = {
                    _POLICY: "compact",
                    "delete.retention.ms": TOMBSTONES_MS,
                }
                with suppress(BrokerError):  # it is not allowed to ask
                    found = await admin.configs(topic=source)
                    for name in (_IN_SYNC, _LIMIT):
                        if name in found and found[name].value:
                            configs[name] = str(found[name].value)
                await admin.create_topic(
                    self._topic,
                    partitions=len(wanted),
                    replication_factor=min(len(each.replicas) for each in wanted),
                    configs=configs,
                    exist_ok=True,
                )
                return
            await self._check(admin, len(known[self._topic].partitions), source, len(wanted))

    async def _check(self, admin: aio.Admin, count: int, source: str, wanted: int) -> None:
        if count != wanted:
            raise InvalidArgument(
                f"{self._topic} has {counted(count, 'partition')}, and {source} has {wanted}: "
                "keys are in other partitions now, and their state is not. Handle the records "
                "again from the beginning: stop the application, delete the changelog topic and "
                "the group"
            )
        with suppress(BrokerError, KeyError):  # it is not allowed to ask
            policy = (await admin.configs(topic=self._topic))[_POLICY].value
            if policy != "compact":
                raise InvalidArgument(
                    f"{self._topic} has {_POLICY}={policy}, which deletes state that is in use; "
                    f"run: barnabas configs set topic {self._topic} {_POLICY}=compact"
                )

    async def extent(self, partition: int) -> Extent:
        name = TopicPartition(self._topic, partition)
        topic = await self._cluster.topic(self._topic)
        first, end = (await beginning_and_end(self._cluster, [name]))[name]
        return Extent(topic.topic_id, first, end)

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
