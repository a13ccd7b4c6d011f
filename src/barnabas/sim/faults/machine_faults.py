"""Machines lose power, come back with an empty disk, and have their clock set."""

from collections.abc import Callable
from functools import partial

from barnabas.sim.faults.context import FaultContext
from barnabas.sim.machine.machine import Machine


class MachineFaults:
    """Faults of whole machines, as far as the guarantee allows them."""

    def __init__(self, context: FaultContext) -> None:
        self._context = context
        self._wipes = context.profile.wipes

    def by_name(self) -> dict[str, Callable[[], None]]:
        return {
            "power_loss": self.power_loss,
            "wipe": self.wipe,
            "wipe_last_in_sync": self.wipe_last_in_sync,
            "blackout": self.blackout,
            "clock_jump": self.clock_jump,
        }

    def power_loss(self) -> None:
        """Of one machine, or of several at once, as far as something of everything is left."""
        guarantee = self._context.cluster.watch.guarantee
        machines = list(self._context.cluster.machines.values())
        self._context.random.shuffle(machines)
        for machine in machines[: self._context.random.choice((1, 1, 2, len(machines)))]:
            if machine.has_power and guarantee.may_lose(machine.node_id):
                guarantee.loses(machine.node_id)
                machine.lose_power()
                delay_ms = self._context.random.choice(self._context.profile.restarts_ms)
                self._context.simulator.after(delay_ms * 1000, partial(self._power_up, machine))

    def _power_up(self, machine: Machine) -> None:
        if not machine.has_power:
            machine.power_up()
            machine.start()

    def wipe(self) -> None:
        """A machine comes back with an empty disk, while all the others are well."""
        if len(self._context.running()) == len(self._context.cluster.machines):
            self._wipe(self._context.any_machine())

    def wipe_last_in_sync(self) -> None:
        """A leader that is alone in sync, while others that are away are eligible."""
        alone = [
            machine
            for machine, partition in self._context.cluster.led_partitions()
            if partition.leading is not None and partition.leading.has_eligible
        ]
        self._wipe(self._context.random.choice(alone) if alone else None)

    def _wipe(self, machine: Machine | None) -> None:
        """A voter that is wiped has forgotten what it voted for and what it has acknowledged to the
        quorum; with the other voters well, a majority knows."""
        if machine is not None and self.may_wipe(machine):
            self._context.cluster.watch.guarantee.loses(machine.node_id)
            machine.kill()
            machine.wipe()

    def may_wipe(self, machine: Machine) -> bool:
        """Whether a disk may be lost now. If so, it has to be: there are only so many."""
        if not self._wipes or not self._may_forget_votes(machine.node_id):
            return False
        if not self._context.cluster.watch.guarantee.may_lose(machine.node_id):
            return False
        self._wipes -= 1
        self._context.cluster.has_lost_votes = True
        return True

    def _may_forget_votes(self, node_id: int) -> bool:
        if self._context.cluster.changes_voters:
            # With a change under way, a disk that is lost may be one that the majority needs.
            return False
        voters = range(1, self._context.profile.voters + 1)
        if node_id not in voters:
            return True
        are_up = all(self._context.cluster.machines[voter].is_running for voter in voters)
        return are_up and self._context.cluster.voters_agree(node_id)

    def blackout(self) -> None:
        """All machines lose power at once; what was acknowledged has been flushed before."""
        if not all(machine.has_power for machine in self._context.cluster.machines.values()):
            return
        self._context.cluster.watch.guarantee.all_lose_power()
        for machine in self._context.cluster.machines.values():
            machine.lose_power()
            delay_ms = self._context.random.choice(self._context.profile.restarts_ms)
            self._context.simulator.after(delay_ms * 1000, partial(self._power_up, machine))

    def clock_jump(self) -> None:
        machine = self._context.any_machine()
        if machine is not None:
            machine.clock_skew_ms += self._context.random.choice(
                (-3_600_000, -2_000, 2_000, 3_600_000)
            )
            self._context.simulator.say(
                f"{machine.host}'s clock is set to {machine.clock_skew_ms} ms off"
            )
