"""Which records may be missing because somebody wanted them deleted, and that no others are.

A log starts later after a DeleteRecords request, which names an offset, or when retention has
deleted its oldest segments; a replica takes over the start of its leader. Nothing is deleted that
is not committed. When a request is answered, all replicas that may be elected have deleted the
records: those that are in sync, and the eligible leaders. Whoever becomes one later has deleted
them too. So no leader brings them back, but one whose machine has lost something since: where a log
starts is not synced.
"""

from collections import defaultdict

from barnabas.broker.replica.partition import Partition
from barnabas.sim.checks.history import Place, Violation


class DeletedRecords:
    """Of the topics whose logs may start later than at 0."""

    def __init__(self) -> None:
        self.topics: set[str] = set()
        self._asked: defaultdict[Place, int] = defaultdict(int)
        """The greatest offset up to which a client wanted records deleted."""
        self._asked_for_all: set[Place] = set()
        """Where a request may still delete everything that is committed by then."""
        self._reached: defaultdict[Place, int] = defaultdict(int)
        """The greatest offset at which any replica has started."""
        self._answered: defaultdict[Place, int] = defaultdict(int)
        """Where all replicas start that may be elected, at least, as a client was told."""
        self.losses = 0
        """An answer says nothing about replicas that have lost something while it was under way."""
        self._lost: set[int] = set()
        """Nodes whose machine has lost something: their replicas may start earlier,"""
        self._deleted_again: set[tuple[int, Place]] = set()
        """but not these, which have deleted the records since."""
        self._starts: dict[Partition, int] = {}

    # -- told by clients ---------------------------------------------------------------------------

    def asks(self, place: Place, offset: int) -> None:
        """Records below `offset` are to be deleted; below the high watermark if it is negative."""
        if offset < 0:
            self._asked_for_all.add(place)
        else:
            self._asked[place] = max(offset, self._asked[place])

    def answered(self, place: Place, low_watermark: int) -> None:
        """A deletion is done, as a client was told."""
        self._answered[place] = max(low_watermark, self._answered[place])

    def start_of(self, place: Place) -> int:
        """Records from here on are never missing."""
        return self._reached[place]

    # -- told by faults ----------------------------------------------------------------------------

    def loses(self, node_id: int) -> None:
        """Deleted records may come back on this node."""
        self.losses += 1
        self._lost.add(node_id)
        self._deleted_again = {each for each in self._deleted_again if each[0] != node_id}

    # -- told by replicas --------------------------------------------------------------------------

    def check_start(self, node_id: int, partition: Partition, committed_end: int) -> None:
        """After each turn of a node; cheap if the log starts where it did."""
        start = partition.log.log_start_offset
        if self._starts.get(partition) == start:
            return
        self._starts[partition] = start
        place = Place(partition.topic, partition.index)
        if start >= self._answered[place]:
            self._deleted_again.add((node_id, place))
        if start <= self._reached[place]:
            return
        if start > committed_end:
            raise Violation(
                f"{place}: node {node_id} has deleted records up to {start}, and only "
                f"{committed_end} are committed"
            )
        if start > self._asked[place] and place not in self._asked_for_all:
            self._check_retention(f"{place}: node {node_id}", partition)
        self._reached[place] = start

    def _check_retention(self, where: str, partition: Partition) -> None:
        """Retention has deleted something: by age, for which any clock counts, or by size."""
        log = partition.log
        has_an_age = log.config.retention_ms < _LONG_MS
        if has_an_age or 0 <= log.config.retention_bytes <= log.size_bytes:
            return
        place = Place(partition.topic, partition.index)
        raise Violation(
            f"{where} has deleted records up to {log.log_start_offset}, {log.size_bytes} bytes are "
            f"left, and clients wanted them deleted up to {self._asked[place]}"
        )

    def check_in_sync(self, node_id: int, partition: Partition) -> None:
        """Who may be elected has deleted what clients were told is deleted."""
        self._check_answered(node_id, partition, "may be elected")

    def check_leader(self, node_id: int, partition: Partition) -> None:
        """A new leader does not bring deleted records back, unless its machine has lost something.

        Then others may join it that have the records as well.
        """
        place = Place(partition.topic, partition.index)
        self._check_answered(node_id, partition, f"leads in epoch {partition.leader_epoch}")
        self._answered[place] = min(partition.log.log_start_offset, self._answered[place])

    def _check_answered(self, node_id: int, partition: Partition, what: str) -> None:
        place, start = Place(partition.topic, partition.index), partition.log.log_start_offset
        is_excused = node_id in self._lost and (node_id, place) not in self._deleted_again
        if start < self._answered[place] and not is_excused:
            raise Violation(
                f"{place}: node {node_id} {what} and starts at {start}, but records below "
                f"{self._answered[place]} are deleted, as a client was told"
            )


_LONG_MS = 3_600_000
