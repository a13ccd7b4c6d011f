"""A disk returns EIO: for a while, or for the next few syncs.

The files of one partition fail, or all of a machine's. Nothing that is on the disk is lost, but the
cluster gives up the replicas on it, so a disk fails only as far as the guarantee allows. What a
failed sync was to write may never get there: that is lost when the power fails next.

A disk that has failed is not trusted until the node starts again. So the node is stopped or killed
some time after, as an operator would do, unless it has stopped by itself.
"""

from functools import partial
from random import Random

from barnabas.sim.faults.context import FaultContext
from barnabas.sim.faults.rare_faults import RareFault
from barnabas.sim.machine.disk import DiskErrors, Operation
from barnabas.sim.machine.inode import Directory
from barnabas.sim.machine.machine import Machine

_DATA = "/data"
_LOOK_US = 50_000
_WHOLE_DISK = 0.3
_STARTS_WITH_ERRORS = 0.3
_POWER_LOSSES = 0.6
_KINDS = (
    frozenset({Operation.READ}),
    frozenset({Operation.WRITE, Operation.CREATE}),
    frozenset({Operation.CREATE}),
    frozenset({Operation.SYNC}),
    frozenset(Operation),
)
_LAST_MS = (100, 500, 2_000)
_RESTART_MS = (1, 300, 1_500)
_POWER_LOSS_MS = (200, 1_000, 2_500)


class FailingDisks:
    def __init__(self, context: FaultContext) -> None:
        self._context = context
        self._failed: dict[Machine, int] = {}
        """Machines whose disk has failed, and how often they had been started then."""

    def by_name(self) -> dict[str, RareFault]:
        return {"io_errors": self.io_errors, "failed_sync": self.failed_sync}

    def io_errors(self, random: Random) -> None:
        """Some kinds of operations fail for a while."""
        machine = self._choose(random)
        if machine is None:
            return
        errors = DiskErrors(_prefix(machine, random), random.choice(_KINDS), random)
        self._begin(machine, errors)
        if random.random() < _STARTS_WITH_ERRORS:
            machine.kill()
        lasts_ms, restart_ms = random.choice(_LAST_MS), random.choice(_RESTART_MS)
        self._later(lasts_ms, partial(self._end, machine, errors))
        self._later(lasts_ms + restart_ms, partial(self._restart, machine, random))

    def failed_sync(self, random: Random) -> None:
        """The next syncs fail, and those after them succeed. Then the power fails."""
        machine = self._choose(random)
        if machine is None:
            return
        errors = DiskErrors(
            _prefix(machine, random), frozenset({Operation.SYNC}), random, random.choice((1, 1, 3))
        )
        self._begin(machine, errors)
        restart_ms = random.choice(_RESTART_MS)
        self._later(restart_ms, partial(self._restart, machine, random))
        if random.random() < _POWER_LOSSES:
            delay_ms = restart_ms + random.choice(_POWER_LOSS_MS)
            self._later(delay_ms, partial(self._lose_power, machine))

    def _choose(self, random: Random) -> Machine | None:
        guarantee = self._context.cluster.watch.guarantee
        able = [each for each in self._context.running() if guarantee.may_lose(each.node_id)]
        return random.choice(able) if able else None

    def _begin(self, machine: Machine, errors: DiskErrors) -> None:
        self._failed[machine] = machine.starts
        self._context.cluster.watch.guarantee.failing.add(machine.node_id)
        self._look(machine, machine.starts)
        machine.disk.errors.append(errors)
        kinds = ", ".join(sorted(each.value for each in errors.operations))
        self._context.simulator.say(f"{machine.host} has I/O errors ({kinds}) in {errors.prefix}")

    def _later(self, delay_ms: int, action: partial[None]) -> None:
        self._context.simulator.after(
            delay_ms * 1000, lambda: action() if self._context.is_on else None
        )

    def _look(self, machine: Machine, starts: int) -> None:
        """Until it has started again without errors."""
        if any(errors.left != 0 for errors in machine.disk.errors):
            starts = machine.starts
        if machine.starts == starts or not machine.is_ready:
            self._context.simulator.after(_LOOK_US, partial(self._look, machine, starts))
        else:
            self._context.cluster.watch.guarantee.failing.discard(machine.node_id)

    def _end(self, machine: Machine, errors: DiskErrors) -> None:
        machine.disk.errors.remove(errors)
        self._context.simulator.say(f"{machine.host} has no more I/O errors in {errors.prefix}")

    def _restart(self, machine: Machine, random: Random) -> None:
        if machine.is_running and self._failed.get(machine) == machine.starts:
            if random.random() < 0.5:
                machine.stop()
            else:
                machine.kill()

    def _lose_power(self, machine: Machine) -> None:
        guarantee = self._context.cluster.watch.guarantee
        if machine.has_power and guarantee.may_lose(machine.node_id):
            guarantee.loses(machine.node_id)
            machine.lose_power()
            self._later(100, partial(self._power_up, machine))

    def _power_up(self, machine: Machine) -> None:
        if not machine.has_power:
            machine.power_up()
            machine.start()

    def end(self) -> None:
        """Disks work again, and nodes that had errors start again."""
        for machine in self._failed:
            machine.disk.errors.clear()
            machine.kill()


def _prefix(machine: Machine, random: Random) -> str:
    """The directory of a partition, maybe that of the metadata log, or all there is."""
    data = machine.disk.root.entries.get(_DATA.strip("/"))
    entries = data.entries if isinstance(data, Directory) else {}
    names = [name for name, entry in sorted(entries.items()) if isinstance(entry, Directory)]
    if not names or random.random() < _WHOLE_DISK:
        return f"{_DATA}/"
    return f"{_DATA}/{random.choice(names)}/"
