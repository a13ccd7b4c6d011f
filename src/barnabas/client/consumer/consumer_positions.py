"""Where a consumer reads: what it can be asked, and told to change.

Whatever changes a position drops what was opened and not handed out; fetching does the rest.
"""

from collections.abc import Iterable, Mapping

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.fetcher import Fetcher
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.offsets.list_offsets import LATEST, list_offsets
from barnabas.client.offsets.offset_spec import offsets_at
from barnabas.errors import InvalidArgument


class ConsumerPositions:
    """Of one consumer. `position` and `assignment` are for any thread."""

    def __init__(
        self, cluster: ClusterClient, fetcher: Fetcher, delivery_queue: DeliveryQueue
    ) -> None:
        self.cluster = cluster
        self.fetcher = fetcher
        self.delivery_queue = delivery_queue

    async def ready(self) -> None:
        """Have partitions: who asks about them may not have read anything yet."""

    @property
    def assignment(self) -> list[TopicPartition]:
        """The partitions that are being read."""
        return list(self.fetcher.states)

    def position(self, partition: TopicPartition) -> int:
        """The offset from which on messages are handed out next."""
        (partition,) = self.chosen([partition])
        return self.position_of(self.fetcher.states[partition].progress)

    def position_of(self, progress: PartitionProgress) -> int:
        """The same of a partition that was looked up."""
        message = self.delivery_queue.at_work_on(progress)
        return progress.position if message is None else max(progress.position, message.offset + 1)

    def start_at(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read exactly these partitions, each from its offset."""
        for partition, offset in offsets.items():
            check_offset(partition, offset)
        for state in self.fetcher.states.values():
            self.delivery_queue.drop(state.progress)
        self.fetcher.assign(
            {TopicPartition(*name): PartitionProgress(offset) for name, offset in offsets.items()}
        )

    async def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Go on reading elsewhere."""
        await self.ready()
        for partition in self.chosen(offsets.keys()):
            check_offset(partition, offsets[partition])
            self.delivery_queue.drop(self.fetcher.states[partition].progress)
            self.fetcher.seek(partition, offsets[partition])

    async def seek_to_time(self, timestamp: int, partitions: Iterable[TopicPartition]) -> None:
        """Go on at a time, EARLIEST or LATEST; at the end if nothing is that young."""
        await self.ready()
        chosen = self.chosen(partitions)
        found = await offsets_at(self.cluster, chosen, timestamp, self.fetcher.isolation)
        if found:
            await self.seek(found)

    async def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out nothing of these partitions."""
        await self.ready()
        for partition in self.chosen(partitions):
            self.delivery_queue.drop(self.fetcher.states[partition].progress)
            self.fetcher.pause(partition)

    async def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Go on with partitions that were paused."""
        await self.ready()
        for partition in self.chosen(partitions):
            self.fetcher.resume(partition)

    async def lag(self) -> dict[TopicPartition, int]:
        """How many offsets each partition is behind its end."""
        await self.ready()
        names = self.assignment
        ends = await list_offsets(
            self.cluster, dict.fromkeys(names, LATEST), self.fetcher.isolation
        )
        return {
            name: max(0, end.offset - self.position(name))
            for name, end in ends.items()
            if name in self.fetcher.states
        }

    def chosen(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """These, or all if there are none; every one has to be assigned."""
        states = self.fetcher.states
        chosen = [TopicPartition(*each) for each in partitions] or list(states)
        for partition in chosen:
            if partition not in states:
                yet = "" if states else " yet: it gets its partitions when it begins to read"
                raise InvalidArgument(
                    f"partition {partition} is not assigned to this consumer{yet}"
                )
        return chosen


def check_offset(partition: TopicPartition, offset: int) -> None:
    if offset < 0:
        raise InvalidArgument(f"partition {partition}: offset {offset} is negative")
