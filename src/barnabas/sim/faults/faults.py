"""Draws faults from those of a profile, one after the other, and puts everything right again."""

from collections.abc import Callable

from barnabas.sim.cluster import Cluster
from barnabas.sim.faults.context import FaultContext
from barnabas.sim.faults.disk_errors import FailingDisks
from barnabas.sim.faults.disk_faults import DiskFaults
from barnabas.sim.faults.forger import Forger
from barnabas.sim.faults.machine_faults import MachineFaults
from barnabas.sim.faults.network_faults import NetworkFaults
from barnabas.sim.faults.process_faults import ProcessFaults
from barnabas.sim.faults.rare_faults import RareFaults
from barnabas.sim.faults.state_damage import StateDamage
from barnabas.sim.workloads.administrator import Administrator


class Faults:
    """Draws one fault after the other until `end` is called."""

    def __init__(
        self,
        cluster: Cluster,
        administrator: Administrator,
        only: frozenset[int] | None = None,
    ) -> None:
        """`only` has the numbers of the faults that are made, in the order in which they are drawn;
        None means all of them."""
        self._context = FaultContext(cluster)
        self._context.only = only
        machines = MachineFaults(self._context)
        self._failing_disks = FailingDisks(self._context)
        rare = StateDamage(self._context, machines).by_name() | self._failing_disks.by_name()
        self._rare = RareFaults(self._context, rare)
        self._by_name: dict[str, Callable[[], None]] = {
            **ProcessFaults(self._context).by_name(),
            **machines.by_name(),
            **DiskFaults(self._context).by_name(),
            **NetworkFaults(self._context).by_name(),
            "move_replicas": administrator.move_replicas,
            "elect_preferred": administrator.elect_preferred,
            "churn_topics": administrator.churn_topics,
            "forge": Forger(cluster).forge,
        }
        weights = cluster.profile.faults
        self._names = [name for name, weight in weights.items() for _ in range(weight)]

    def begin(self) -> None:
        self._context.is_on = True
        self._rare.begin()
        if self._names:
            self._later()

    def _later(self) -> None:
        every_us = self._context.profile.fault_every_ms * 1000
        self._context.simulator.after(self._context.random.randint(1, 2 * every_us), self._fault)

    def _fault(self) -> None:
        if self._context.is_on:
            name = self._context.random.choice(self._names)
            if self._context.admits(name):
                self._context.simulator.note(name.encode())
                self._by_name[name]()
            self._later()

    @property
    def are_made(self) -> bool:
        """Between `begin` and `end`."""
        return self._context.is_on

    @property
    def made(self) -> tuple[int, ...]:
        """The numbers of the faults that were made."""
        return tuple(self._context.made)

    def end(self) -> None:
        """Put everything right."""
        self._context.is_on = False
        self._context.simulator.say("faults stop")
        self._context.network.heal()
        self._context.network.links.slow.clear()
        self._failing_disks.end()
        for machine in self._context.cluster.machines.values():
            machine.disk.is_full = False
            machine.power_up()
            if machine.process is not None:
                machine.process.resume()
                machine.kill_at_change(None)
            else:
                machine.start()
