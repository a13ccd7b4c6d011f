"""All partitions of topics, for who reads them without a group; those too that are added later."""

import asyncio

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.new_topics import NewTopics
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.offsets.list_offsets import EARLIEST
from barnabas.errors import BarnabasError

METADATA_MAX_AGE_MS = 60_000


class AllPartitions:
    """Of some topics that exist."""

    def __init__(self, cluster: ClusterClient, topics: NewTopics, fetcher: Fetcher) -> None:
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
        fresh = [name for name in names if name not in self._fetcher.states]
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
            self._fetcher.add({name: PartitionProgress(offset) for name, offset in places.items()})
