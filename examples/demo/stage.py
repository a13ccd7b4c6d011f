"""What is known at this moment, for whoever shows it."""

import time
from collections import deque
from dataclasses import dataclass, field

from examples.demo.ledger import Ledger, Reader
from examples.demo.pauses import Kill
from examples.demo.tally import Tally
from examples.demo.watch import ClusterView, GroupView

_RATE_OVER_S = 2.0


@dataclass(slots=True)
class Event:
    """Something worth telling, and when it happened."""

    at_s: float
    text: str


@dataclass(slots=True)
class Stage:
    """Ledger and tally, the cluster's view, the events so far, and how fast everybody is."""

    topic: str
    groups: list[str]
    ledger: Ledger = field(default_factory=Ledger)
    tally: Tally = field(default_factory=Tally)
    cluster: ClusterView = field(default_factory=ClusterView)
    kills: list[Kill] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    _members: dict[str, GroupView] = field(default_factory=dict)
    _told: dict[str, dict[int, str]] = field(default_factory=dict)
    _counts: dict[str, deque[tuple[float, int]]] = field(default_factory=dict)

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.started

    def tell(self, text: str) -> None:
        self.events.append(Event(self.elapsed_s, text))

    # -- what the cluster says -------------------------------------------------------------------

    def update_cluster(self, seen: ClusterView) -> None:
        """Nodes that come and go, another controller, other leaders: each is an event."""
        known, self.cluster = self.cluster, seen
        if not known.up:
            return
        for node_id, up in seen.up.items():
            if up != known.up.get(node_id, up):
                self.tell(f"node {node_id} is {'back' if up else 'gone'}")
        if seen.controller != known.controller:
            self.tell(f"node {seen.controller} is the controller now")
        moved = [
            f"{partition} by node {leader}"
            for partition, leader in seen.leaders.items()
            if leader != known.leaders.get(partition) and leader in seen.up
        ]
        if moved:
            self.tell(f"led from now on: {', '.join(moved)}")
        if seen.is_whole and not known.is_whole:
            self.tell("every replica is in sync")

    def update_group(self, group: str, seen: GroupView) -> None:
        """A new assignment is an event."""
        if not seen.owners:
            return
        self._members[group] = seen
        if seen.state == "Stable" and seen.owners != self._told.get(group):
            self._told[group] = seen.owners
            self.tell(f"{group} rebalanced: {self._assignment(group)}")

    def owner(self, group: str, partition: int) -> str:
        """The member that reads a partition; a command line client goes by its group's name."""
        client_id = self._members.get(group, GroupView()).owners.get(partition)
        if client_id is None:
            return "-"
        return client_id if client_id in self.ledger.readers else f"{group}-1"

    def _assignment(self, group: str) -> str:
        return "; ".join(
            f"{reader.name} reads {', '.join(map(str, partitions))}"
            for reader in self.ledger.members(group)
            if (partitions := self._partitions_of(reader))
        )

    def _partitions_of(self, reader: Reader) -> list[int]:
        return [
            partition
            for partition in sorted(self.cluster.leaders)
            if self.owner(reader.group, partition) == reader.name
        ]

    # -- how fast --------------------------------------------------------------------------------

    def lag(self, group: str) -> int:
        return sum(self.ledger.lag(group, partition) for partition in self.cluster.leaders)

    def rate(self, name: str, count: int) -> float:
        """Records a second of late, given a count that was asked for at each showing."""
        now = time.monotonic()
        counts = self._counts.setdefault(name, deque())
        counts.append((now, count))
        while len(counts) > 2 and now - counts[0][0] > _RATE_OVER_S:
            counts.popleft()
        since, before = counts[0]
        return (count - before) / (now - since) if now > since else 0.0
