"""A consumer on one side of a long cut: what it reads is committed, whichever side that is."""

from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.checks.watch import Watch
from barnabas.sim.client import Client
from barnabas.sim.workloads.consumer import Consumer
from barnabas.wire.messages.fetch import PartitionData


class PinnedReader(Consumer):
    def __init__(self, client: Client, places: list[Place], watch: Watch) -> None:
        super().__init__(client, f"reader-{client.name}", places)
        self._watch = watch

    def _take(self, place: Place, host: str, answer: PartitionData) -> None:
        super()._take(place, host, answer)
        end = self._watch.committed_end(place)
        if self.positions[place] > end:
            raise Violation(
                f"{place}: {self._name} has read up to {self.positions[place]} from {host}, and "
                f"{end} are committed"
            )
