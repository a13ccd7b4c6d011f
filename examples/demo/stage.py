"""What is known at this moment, for whoever shows it."""

import time
from collections import deque
from dataclasses import dataclass, field

from examples.demo.ledger import Ledger, Reader
from examples.demo.watch import Snapshot

_RATE_OVER_S = 2.0


@dataclass(slots=True)
class Event:
    """Something worth telling, and when it happened."""

    at_s: float
    text: str


@dataclass(slots=True)
class Stage:
    """The ledger, the broker's view, the events so far, and how fast everybody is."""

    topic: str
    bootstrap: str
    groups: list[str]
    ledger: Ledger = field(default_factory=Ledger)
    snapshot: Snapshot = field(default_factory=Snapshot)
    events: list[Event] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    _counts: dict[str, deque[tuple[float, int]]] = field(default_factory=dict)
    _owners: dict[str, dict[int, str]] = field(default_factory=dict)

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.started

    def tell(self, text: str) -> None:
        self.events.append(Event(self.elapsed_s, text))

    def update(self, snapshot: Snapshot) -> None:
        """Take over what the broker says; a new assignment is an event."""
        self.snapshot = snapshot
        for group, owners in snapshot.owners.items():
            if snapshot.states[group] == "Stable" and owners and owners != self._owners.get(group):
                self._owners[group] = owners
                self.tell(f"{group} rebalanced: {self._assignment(group)}")

    def owner(self, group: str, partition: int) -> str:
        """The member that reads a partition; a command line client goes by its group's name."""
        client_id = self.snapshot.owners.get(group, {}).get(partition)
        if client_id is None:
            return "-"
        return client_id if client_id in self.ledger.readers else f"{group}-1"

    def partitions_of(self, reader: Reader) -> list[int]:
        return [
            partition
            for partition in sorted(self.snapshot.ends)
            if self.owner(reader.group, partition) == reader.name
        ]

    def lag(self, group: str, partition: int) -> int:
        position = self.ledger.position(group, partition)
        return max(0, self.snapshot.ends.get(partition, 0) - position)

    def rate(self, name: str, count: int) -> float:
        """Records a second of late, given a count that was asked for at each showing."""
        now = time.monotonic()
        counts = self._counts.setdefault(name, deque())
        counts.append((now, count))
        while len(counts) > 2 and now - counts[0][0] > _RATE_OVER_S:
            counts.popleft()
        since, before = counts[0]
        return (count - before) / (now - since) if now > since else 0.0

    def _assignment(self, group: str) -> str:
        shares = (
            f"{reader.name} reads {', '.join(map(str, partitions))}"
            for reader in self.ledger.members(group)
            if (partitions := self.partitions_of(reader))
        )
        return "; ".join(shares)
