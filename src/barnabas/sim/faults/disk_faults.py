"""Disks lose directories and parts of files, flip bits, and run full."""

from collections.abc import Callable
from random import Random

from barnabas.sim.checks.history import Place
from barnabas.sim.faults.context import FaultContext
from barnabas.sim.faults.damage import garble_epoch, lose_directory, make_hole
from barnabas.sim.machine.disk import SimulatedDisk
from barnabas.sim.machine.rot import flip_bit
from barnabas.sim.workloads import compaction_workload, reused_name


class DiskFaults:
    """Faults of a disk whose machine stays, as far as the guarantee allows them."""

    def __init__(self, context: FaultContext) -> None:
        self._context = context

    def by_name(self) -> dict[str, Callable[[], None]]:
        return {
            "lose_directory": self.lose_directory,
            "make_hole": self.make_hole,
            "garble_epoch": self.garble_epoch,
            "rot": self.rot,
            "full_disk": self.full_disk,
        }

    def lose_directory(self) -> None:
        self._damage(lose_directory)

    def make_hole(self) -> None:
        self._damage(make_hole)

    def garble_epoch(self) -> None:
        self._damage(garble_epoch)

    def _damage(self, damage: Callable[[SimulatedDisk, Random], str | None]) -> None:
        """Some partition of a machine that is killed has lost something when it comes back."""
        machine = self._context.any_machine()
        guarantee = self._context.cluster.watch.guarantee
        if machine is None or not guarantee.may_lose(machine.node_id):
            return
        machine.kill()
        what = damage(machine.disk, self._context.random)
        if what is not None:
            self._context.simulator.say(f"{machine.host} {what}")
            guarantee.loses(machine.node_id)

    def rot(self) -> None:
        """A bit of a committed batch flips on the disk of a machine, running or not."""
        machine = self._context.random.choice(list(self._context.cluster.machines.values()))
        watch = self._context.cluster.watch
        keys = self._context.cluster.partition_keys()

        def may_rot(directory: str, base_offset: int, crc: int, epoch: int) -> bool:
            key = keys.get(directory)
            if key is None or not watch.guarantee.may_rot(machine.node_id, key):
                return False
            topics = (*watch.deleted.topics, reused_name.TOPIC)
            if directory.rpartition("-")[0] in topics:
                return False  # it might never be repaired: the batch may be deleted or rewritten
            batch = watch.committed_logs[key].by_base.get(base_offset)
            return (
                batch is not None
                and batch.epoch == epoch
                and (batch.crc == crc or is_compacted(directory))
            )

        def is_compacted(directory: str) -> bool:
            return directory.rpartition("-")[0] == compaction_workload.TOPIC

        rot = flip_bit(machine.disk, self._context.random, may_rot, is_compacted)
        if rot is not None:
            self._context.simulator.say(f"{machine.host} has a flipped bit in {rot}")
            topic, _, index = rot.directory.rpartition("-")
            self._context.cluster.history.rotten.add(Place(topic, int(index)))
            watch.guarantee.rots(machine.node_id, keys[rot.directory], rot)

    def full_disk(self) -> None:
        machine = self._context.any_machine()
        if machine is None or machine.disk.is_full:
            return
        self._context.simulator.say(f"{machine.host} has no room left on its disk")
        machine.disk.is_full = True

        def make_room() -> None:
            self._context.simulator.say(f"{machine.host} has room on its disk")
            machine.disk.is_full = False

        self._context.undo_later(make_room)
