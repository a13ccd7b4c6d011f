"""Which records may be missing because somebody wanted them deleted, and that no others are.

A log starts later after a DeleteRecords request, which names an offset, or when retention has
deleted its oldest segments; a replica takes over the start of its leader. Nothing is deleted that
is not committed. When a request is answered, the replicas that were in sync since before it, and
alive, have deleted the records, and none of them brings them back when it leads. Replicas that were
down may, and those that have lost something since: where a log starts is not synced.
"""

from collections import defaultdict
from collections.abc import Mapping

from barnabas.broker.replica.partition import Partition
from barnabas.metadata.image import MetadataImage
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
        self._answered: defaultdict[int, dict[Place, int]] = defaultdict(dict)
        """By node, where its replicas started, at least, when a client was told so."""
        self._starts: dict[Partition, int] = {}

    # -- told by clients ---------------------------------------------------------------------------

    def asks(self, place: Place, offset: int) -> None:
        """Records below `offset` are to be deleted; below the high watermark if it is negative."""
        if offset < 0:
            self._asked_for_all.add(place)
        else:
            self._asked[place] = max(offset, self._asked[place])

    def answered(self, place: Place, low_watermark: int, starts: Mapping[int, int]) -> None:
        """It is done; `starts` are those of replicas that were in sync all the time, by node."""
        for node_id, start in starts.items():
            if start < low_watermark:
                raise Violation(
                    f"{place}: records below {low_watermark} are deleted, as a client was told, "
                    f"but node {node_id}, which is in sync, starts at {start}"
                )
            self._answered[node_id][place] = max(
                low_watermark, self._answered[node_id].get(place, 0)
            )

    def start_of(self, place: Place) -> int:
        """Records from here on are never missing."""
        return self._reached[place]

    # -- told by faults and metadata ---------------------------------------------------------------

    def loses(self, node_id: int) -> None:
        """Deleted records may come back on this node."""
        self._answered.pop(node_id, None)

    def all_lose(self) -> None:
        self._answered.clear()

    def learn(self, image: MetadataImage) -> None:
        """A replica that is removed, and comes back, starts where its leader does."""
        for node_id, places in self._answered.items():
            for place in list(places):
                topic = image.topics.get(place.topic)
                if topic is None or node_id not in topic.partitions[place.partition].replicas:
                    del places[place]

    # -- told by replicas --------------------------------------------------------------------------

    def check_start(self, node_id: int, partition: Partition, committed_end: int) -> None:
        """After each turn of a node; cheap if the log starts where it did."""
        start = partition.log.log_start_offset
        if self._starts.get(partition) == start:
            return
        self._starts[partition] = start
        place = Place(partition.topic, partition.index)
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

    def check_leader(self, node_id: int, partition: Partition) -> None:
        """A new leader does not bring deleted records back."""
        answered = self._answered[node_id].get(Place(partition.topic, partition.index), 0)
        if partition.log.log_start_offset < answered:
            raise Violation(
                f"{partition.name}: node {node_id} leads in epoch {partition.leader_epoch} and "
                f"starts at {partition.log.log_start_offset}, but records below {answered} were "
                "deleted, as a client was told"
            )


_LONG_MS = 3_600_000
