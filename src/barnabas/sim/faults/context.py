"""What all kinds of faults share: the cluster, chance, and the choice of a victim."""

from collections.abc import Callable

from barnabas.sim.cluster import Cluster
from barnabas.sim.machine.machine import Machine


class FaultContext:
    """The cluster that faults happen to, and whether they still happen."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.simulator = cluster.simulator
        self.network = cluster.network
        self.profile = cluster.profile
        self.random = cluster.simulator.source("faults")
        self.is_on = False
        self.only: frozenset[int] | None = None
        """The numbers of the faults that are made; None: all of them."""
        self.made: list[int] = []
        self._drawn = 0

    def admits(self, name: str) -> bool:
        """Before each fault; whether it is to be made."""
        self._drawn += 1
        if self.only is not None and self._drawn not in self.only:
            return False
        self.made.append(self._drawn)
        self.simulator.reach(f"fault: {name}")
        self.simulator.remark("fault %d: %s", self._drawn, name)
        return True

    def undo_later(self, undo: Callable[[], None]) -> None:
        """After a while, unless the end of all faults has come before."""
        delay_ms = self.random.choice(self.profile.heals_ms)
        self.simulator.after(delay_ms * 1000, lambda: undo() if self.is_on else None)

    def running(self) -> list[Machine]:
        return [machine for machine in self.cluster.machines.values() if machine.is_running]

    def any_machine(self) -> Machine | None:
        running = self.running()
        return self.random.choice(running) if running else None

    def leader(self) -> Machine | None:
        """The leader of some partition: where a fault does the most harm."""
        led = self.cluster.led_partitions()
        return self.random.choice(led)[0] if led else None
