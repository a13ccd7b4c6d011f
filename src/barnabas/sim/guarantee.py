"""What may be lost: the cluster promises nothing when every copy of a record is gone.

A record is committed when all in-sync replicas have it, be it in memory only. So a machine may lose
power, or its disk, as long as every partition keeps another in-sync replica that is intact. Killing
processes loses nothing and is always allowed.
"""

from barnabas.broker.node import Node

Key = tuple[bytes, int]


class Guarantee:
    """Knows the newest in-sync sets that any node has ever acted on, and who has lost data."""

    def __init__(self) -> None:
        self._offset = -1
        self._isr: dict[Key, tuple[int, ...]] = {}
        self._lost: set[tuple[Key, int]] = set()
        """Replicas that lost data while they were in sync, and count as in sync still."""

    def learn(self, node: Node) -> None:
        """Take over a node's metadata if it is the newest so far."""
        offset = node.quorum.end_offset
        if offset <= self._offset:
            return
        self._offset = offset
        self._isr = {
            (topic.topic_id, partition.index): tuple(partition.isr)
            for topic in node.image.topics.values()
            for partition in topic.partitions
        }
        self._lost = {(key, replica) for key, replica in self._lost if replica in self._of(key)}

    def _of(self, key: Key) -> tuple[int, ...]:
        return self._isr.get(key, ())

    def may_lose(self, node_id: int) -> bool:
        """Whether everything committed is safe even if this node's data is gone."""
        return all(
            node_id not in isr
            or any(other != node_id and (key, other) not in self._lost for other in isr)
            for key, isr in self._isr.items()
        )

    def loses(self, node_id: int) -> None:
        self._lost |= {(key, node_id) for key, isr in self._isr.items() if node_id in isr}
