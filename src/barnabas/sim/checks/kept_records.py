"""How far each replica is known to have what is committed, and whether it keeps that.

A replica that has lost nothing never gives up a committed record, in sync or not: it cuts off only
what no leader has committed. What a fault has taken from it, it fetches again, from any offset. A
replica that is moved to another node is removed; the copies that stay are counted in `copies`.
"""

from barnabas.metadata.image import MetadataImage
from barnabas.sim.checks.history import Violation

Key = tuple[bytes, int]


class KeptRecords:
    """By node and partition, the end of the committed records that the replica was seen to have."""

    def __init__(self) -> None:
        self._ends: dict[int, dict[Key, int]] = {}
        self._learned: dict[int, int] = {}
        """By node, how far it was seen to know the metadata."""
        self._image: MetadataImage | None = None
        """The newest; what a replica has that does not know yet of its removal does not count."""

    def has(self, node_id: int, key: Key, end: int) -> None:
        if self._image is not None and _is_replica(self._image, node_id, key):
            ends = self._ends.setdefault(node_id, {})
            ends[key] = max(end, ends.get(key, 0))

    def check(
        self, where: str, node_id: int, key: Key, log_end_offset: int, *, may_start_over: bool
    ) -> None:
        """The replica has been opened, or its log was changed.

        It `may_start_over`, if it is compacted and not in sync: it may have missed tombstones that
        the leader does not have any more.
        """
        end = self._ends.get(node_id, {}).get(key, 0)
        if log_end_offset < end and may_start_over:
            del self._ends[node_id][key]
        elif log_end_offset < end:
            raise Violation(
                f"{where} ends at {log_end_offset}, but it had everything up to {end}, which is "
                "committed, and has lost nothing since"
            )

    def learn(self, image: MetadataImage) -> None:
        """Replicas that are removed keep nothing."""
        self._image = image
        for node_id, ends in self._ends.items():
            for key in [key for key in ends if not _is_replica(image, node_id, key)]:
                del ends[key]

    def follow(self, node_id: int, offset: int, image: MetadataImage) -> None:
        """The node knows the metadata up to `offset`. It may have removed a replica, and be about
        to have it again: whoever knows more has learned both at once."""
        if self._learned.get(node_id) == offset:
            return
        self._learned[node_id] = offset
        ends = self._ends.get(node_id, {})
        for key in [key for key in ends if not _is_replica(image, node_id, key)]:
            del ends[key]

    def loses(self, node_id: int) -> None:
        self._ends.pop(node_id, None)

    def all_lose(self) -> None:
        self._ends.clear()

    def rots(self, node_id: int, key: Key) -> None:
        self._ends.get(node_id, {}).pop(key, None)


def _is_replica(image: MetadataImage, node_id: int, key: Key) -> bool:
    topic = image.topics_by_id.get(key[0])
    return (
        topic is not None
        and key[1] < len(topic.partitions)
        and node_id in topic.partitions[key[1]].replicas
    )
