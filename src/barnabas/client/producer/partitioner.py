"""Which partition a record goes to.

A record with a key goes where Java's default partitioner sends it (`records/murmur2.py`), so that
clients of all kinds agree. Records without a key stay with one partition until its batch is sent,
and then go on to the next: larger batches, even spread.
"""

from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicMetadata, TopicPartition


class StickyPartitioner:
    """The current partition of every topic for records without a key.

    Many threads may use it at once; then a partition may be passed over, which does no harm.
    """

    def __init__(self) -> None:
        self._current: dict[str, int] = {}
        self._left: dict[str, int] = {}

    def partition(self, topic: TopicMetadata) -> int:
        """The partition to use now; one with a leader if there is any."""
        current = self._current.get(topic.name)
        if current is None or current >= len(topic.partitions):
            current = self.advance(topic)
        return current

    def leave(self, partition: TopicPartition) -> None:
        """Let the next record choose again if it would go to this partition: its batch is sent."""
        if self._current.get(partition.topic) == partition.partition:
            self._left[partition.topic] = partition.partition
            self._current.pop(partition.topic, None)

    def advance(self, topic: TopicMetadata) -> int:
        """Go on to the next partition, because the batch of the current one is full or sent."""
        available = [each.partition for each in topic.partitions if each.leader != NO_LEADER]
        if not available:
            available = [each.partition for each in topic.partitions]
        current = self._current.get(topic.name, self._left.get(topic.name, -1))
        following = next((each for each in available if each > current), available[0])
        self._current[topic.name] = following
        return following
