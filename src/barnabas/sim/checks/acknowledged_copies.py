"""On how many disks acknowledged records are, whatever in-sync set the cluster believes in.

An acknowledgement with `acks=all` promises `min.insync.replicas` copies. The disks themselves tell
which nodes have written a batch, and clients which of them were acknowledged. So

- a record that is acknowledged was written by that many nodes, in memory or on disk;
- one copy less than that may be lost at any time: the nodes that are left have to be in sync, or
  eligible. After such a loss the next acknowledgement counts: it promises as many copies again.
"""

from barnabas.sim.checks.committed_log import Batch
from barnabas.sim.checks.history import Violation


def book_name(topic_id: bytes, index: int) -> str:
    """What a partition is called here: names of topics are used again, their ids are not."""
    return f"{topic_id.hex()}-{index}"


class AcknowledgedCopies:
    """By `book_name` of the partition."""

    def __init__(self) -> None:
        self._holders: dict[tuple[str, int, int], set[int]] = {}
        """Nodes that have written a batch, by partition, offset and epoch."""
        self._ends: dict[str, int] = {}
        """Of the longest log that there ever was."""
        self._lost: dict[str, set[int]] = {}
        """Nodes that have lost something, of partitions with acknowledged records."""
        self._counts_from: dict[str, int] = {}
        """The log end at the last loss: acknowledgements of earlier records may be from before."""
        self._promised: dict[str, int] = {}
        """On how many disks the record is that was acknowledged last, by partition."""
        self.min_insync: dict[str, int] = {}
        """By topic, of those that producers with `acks=all` write to."""

    def wrote(self, node_id: int, name: str, batch: Batch) -> None:
        self._holders.setdefault((name, batch.base_offset, batch.epoch), set()).add(node_id)
        if batch.next_offset > self._ends.get(name, 0):
            self._ends[name] = batch.next_offset

    def acknowledged(self, name: str, topic: str, batch: Batch | None) -> None:
        """A client was told so."""
        if batch is None or topic not in self.min_insync:
            return
        holders = self._holders.get((name, batch.base_offset, batch.epoch), set())
        if len(holders) < self.min_insync[topic]:
            raise Violation(
                f"{topic}, {name}: {batch} is acknowledged and only on the nodes "
                f"{sorted(holders)}, but min.insync.replicas is {self.min_insync[topic]}"
            )
        if batch.base_offset >= self._counts_from.get(name, 0):
            self._lost[name] = set()
            self._promised[name] = self.min_insync[topic]

    def may_lose(self, node_ids: set[int], name: str, topic: str) -> bool:
        """Whether acknowledged records are safe if these nodes lose all, as promised.

        With a lower `min.insync.replicas` than before, the cluster may already count on fewer.
        """
        lost = self._lost.get(name)
        return lost is not None and len(lost | node_ids) < min(
            self._promised[name], self.min_insync[topic]
        )

    def loses(self, node_id: int) -> None:
        for name, lost in self._lost.items():
            lost.add(node_id)
            self._counts_from[name] = self._ends[name]
