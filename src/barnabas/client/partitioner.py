"""Which partition a record goes to.

A record with a key goes where Java's default partitioner sends it, murmur2 of the key modulo the
number of partitions, so that clients of all kinds agree. Records without a key stay with one
partition until its batch is sent, and then go on to the next: larger batches, even spread.
"""

from barnabas.client.metadata import NO_LEADER, Topic, TopicPartition

_SEED = 0x9747B28C
_M = 0x5BD1E995
_R = 24
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The 32-bit hash that Kafka's clients use, unsigned."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ (k >> _R)) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if whole != length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ (h >> 13)) * _M & _MASK
    return h ^ (h >> 15)


def partition_for_key(key: bytes, partition_count: int) -> int:
    """The partition of a key."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class StickyPartitioner:
    """The current partition of every topic for records without a key."""

    def __init__(self) -> None:
        self._current: dict[str, int] = {}
        self._left: dict[str, int] = {}

    def partition(self, topic: Topic) -> int:
        """The partition to use now; one with a leader if there is any."""
        current = self._current.get(topic.name)
        if current is None or current >= len(topic.partitions):
            current = self.advance(topic)
        return current

    def leave(self, partition: TopicPartition) -> None:
        """Let the next record choose anew if it would go to this partition, whose batch is sent."""
        if self._current.get(partition.topic) == partition.partition:
            self._left[partition.topic] = self._current.pop(partition.topic)

    def advance(self, topic: Topic) -> int:
        """Go on to the next partition, because the batch of the current one is full or sent."""
        available = [each.partition for each in topic.partitions if each.leader != NO_LEADER]
        if not available:
            available = [each.partition for each in topic.partitions]
        current = self._current.get(topic.name, self._left.get(topic.name, -1))
        following = next((each for each in available if each > current), available[0])
        self._current[topic.name] = following
        return following
