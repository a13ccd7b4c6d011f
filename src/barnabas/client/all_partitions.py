"""All partitions of topics, for who reads them without a group; those too that are added later."""

import asyncio

from barnabas.client.cluster import Cluster
from barnabas.client.fetcher import Fetcher
from barnabas.client.ledger import Ledger
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import EARLIEST
from barnabas.client.young_topics import YoungTopics
from barnabas.errors import BarnabasError

METADATA_MAX_AGE_MS = 60_000


class AllPartitions:
    """Of some topics that exist."""

    def __init__(self, cluster: Cluster, topics: YoungTopics, fetcher: Fetcher) -> None:
        self._cluster = cluster
        self._topics = topics
        self._fetcher = fetcher

    async def places(self, timestamp: int) -> dict[TopicPartition, int]:
        """Where to start reading those that are not read yet, at a time, EARLIEST or LATEST."""
        known = [await self._cluster.topic(name) for name in self._topics.names]
        names = [
            TopicPartition(topic.name, each.partition)
            for topic in known
            for each in topic.partitions
        ]
        fresh = [name for name in names if name not in self._fetcher.readings]
        if not fresh:
            return {}
        return await self._topics.places(fresh, timestamp, self._fetcher.isolation)

    async def look_for_more(self) -> None:
        """Read those that are added as well, from their beginning."""
        while True:
            await asyncio.sleep(METADATA_MAX_AGE_MS / 1000)
            try:
                await self._cluster.refresh(self._topics.names)
                places = await self.places(EARLIEST)
            except BarnabasError:
                continue  # it is looked again
            self._fetcher.add({name: Ledger(offset) for name, offset in places.items()})
