"""Records and bytes that went in and out, by topic.

Appends and reads count in their log and partition anyway. This looks at those counters when they
are asked for, and whenever a partition gets another leader: what is appended while this node leads
was produced, what is appended while it follows was replicated.
"""

from dataclasses import dataclass
from typing import NamedTuple

from barnabas.broker.replica.partition import Partition


@dataclass(slots=True)
class Traffic:
    messages_in: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    replication_bytes_in: int = 0
    replication_bytes_out: int = 0


class _Mark(NamedTuple):
    """A partition as it was when it was last looked at."""

    is_leader: bool
    end_offset: int
    appended_bytes: int
    bytes_out: int
    replica_bytes_out: int

    @classmethod
    def of(cls, partition: Partition) -> "_Mark":
        log = partition.log
        return cls(
            partition.is_leader,
            log.log_end_offset,
            log.appended_bytes,
            partition.bytes_out,
            partition.replica_bytes_out,
        )


class TopicTraffic:
    """Of all partitions of a node since its start."""

    def __init__(self) -> None:
        self.total = Traffic()
        self.by_topic: dict[str, Traffic] = {}
        self._marks: dict[Partition, _Mark] = {}

    def leader_changed(self, partition: Partition) -> None:
        """A partition has another leader or another epoch, or is removed."""
        self.update(partition)
        if partition.deleted:
            self._marks.pop(partition, None)
        else:
            self._marks[partition] = _Mark.of(partition)

    def update(self, partition: Partition) -> None:
        """Count what went in and out since the last time."""
        before = self._marks.get(partition)
        if before is None:
            return
        now = _Mark.of(partition)
        if now == before:
            return
        topic = self.by_topic.get(partition.topic)
        if topic is None:
            topic = self.by_topic[partition.topic] = Traffic()
        appended = now.appended_bytes - before.appended_bytes
        for each in (topic, self.total):
            if before.is_leader:
                each.messages_in += max(0, now.end_offset - before.end_offset)
                each.bytes_in += appended
            else:
                each.replication_bytes_in += appended
            each.bytes_out += now.bytes_out - before.bytes_out
            each.replication_bytes_out += now.replica_bytes_out - before.replica_bytes_out
        self._marks[partition] = now._replace(is_leader=before.is_leader)

    def forget(self, topic: str) -> None:
        """The topic is deleted; its traffic stays in the total."""
        self.by_topic.pop(topic, None)
