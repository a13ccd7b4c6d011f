"""Topics as those see them who send: how many partitions, and where the open batches are.

A record whose topic and partition have an open batch with room needs only the batch's
`add`. So a route keeps these, and what it keeps may be out of date: a batch that is closed
declines, and the caller then takes the slow path, which brings the route up to date.
"""

from collections.abc import Callable, Sequence
from operator import index

from barnabas.client.connect.cluster_metadata import TopicMetadata, TopicPartition
from barnabas.client.producer.partitioner import StickyPartitioner
from barnabas.client.producer.pending_batch import PendingBatch
from barnabas.client.producer.sent_record import Sent
from barnabas.errors import InvalidArgument
from barnabas.records.record import Header

Add = Callable[[int | None, bytes | None, bytes | None, Sequence[Header]], Sent | None]


def decline(
    timestamp_ms: int | None,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[Header],
    /,
) -> Sent | None:
    """Stands where no batch is open."""
    del timestamp_ms, key, value, headers
    return None


class TopicRoute:
    """One topic: `keyless` adds a record without a key, `adds[n]` one to partition n."""

    __slots__ = ("adds", "keyless", "topic")

    def __init__(self, topic: TopicMetadata) -> None:
        self.topic = topic
        self.keyless: Add = decline
        self.adds: list[Add] = [decline] * len(topic.partitions)

    def partition(self, partition: int) -> TopicPartition:
        """One of the topic's partitions; `InvalidArgument` or TypeError if it is none."""
        count = len(self.adds)
        if not 0 <= index(partition) < count:
            raise InvalidArgument(
                f"partition {partition}: {self.topic.name} has {count}, counted from 0"
            )
        return TopicPartition(self.topic.name, partition)


class TopicRoutes(dict[str, TopicRoute]):
    """The topics that were sent to, by name."""

    def __init__(self) -> None:
        super().__init__()
        self._sticky = StickyPartitioner()

    def learn(self, topic: TopicMetadata) -> TopicRoute:
        """Believe fresh metadata."""
        route = self.get(topic.name)
        if route is None or len(route.adds) != len(topic.partitions):
            route = self[topic.name] = TopicRoute(topic)
        else:
            route.topic = topic
        return route

    def forget(self, name: str) -> None:
        """Refresh a topic's metadata at the next send to it."""
        self.pop(name, None)

    def keyless_partition(self, route: TopicRoute) -> TopicPartition:
        """Where records without a key go now."""
        return TopicPartition(route.topic.name, self._sticky.partition(route.topic))

    def opened(self, route: TopicRoute, batch: PendingBatch, *, keyless: bool) -> None:
        """A batch was added to, and may be open for more."""
        route.adds[batch.partition.partition] = batch.add
        if keyless:
            route.keyless = batch.add

    def closed(self, partition: TopicPartition) -> None:
        """A batch was closed: records without a key go on to another partition."""
        self._sticky.leave(partition)
