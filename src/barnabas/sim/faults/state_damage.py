"""A bit flips in one of the small files that a node depends on: its vote, or what it knows of its
disk.

A voter that has forgotten its vote may vote twice, so it has to begin again as another one, which
is allowed when the other voters are well: to the quorum it is a disk that was lost. A node that
can't read how its disk was left does not trust it, as after a loss of power.
"""

from functools import partial
from random import Random

from barnabas.sim.checks.history import Violation
from barnabas.sim.faults.context import FaultContext
from barnabas.sim.faults.machine_faults import MachineFaults
from barnabas.sim.faults.rare_faults import RareFault
from barnabas.sim.machine.inode import Directory, Inode
from barnabas.sim.machine.machine import Machine

_VOTE = ("__cluster_metadata-0", "quorum-state")
_STATE = ("broker.state",)
_LOOK_US = 50_000


class StateDamage:
    def __init__(self, context: FaultContext, machines: MachineFaults) -> None:
        self._context = context
        self._machines = machines

    def by_name(self) -> dict[str, RareFault]:
        return {
            "damage_vote": self.damage_vote,
            "damage_broker_state": self.damage_broker_state,
        }

    def damage_vote(self, random: Random) -> None:
        machine = random.choice(list(self._context.cluster.machines.values()))
        file = _find(machine, _VOTE)
        identity = _identity(machine)
        if file is not None and identity is not None and self._machines.may_wipe(machine):
            machine.kill()
            _flip(machine, file, random, _VOTE[-1])
            self._look(machine, identity, machine.starts)

    def _look(self, machine: Machine, identity: bytes, starts: int) -> None:
        """Until it has started again: it must not be the voter that it was."""
        if machine.starts == starts or not machine.is_ready:
            look = partial(self._look, machine, identity, starts)
            self._context.simulator.after(_LOOK_US, look)
        elif _identity(machine) == identity:
            self._context.simulator.failure = Violation(
                f"{machine.host} votes as who it was, and its vote was damaged"
            )

    def damage_broker_state(self, random: Random) -> None:
        machine = random.choice(list(self._context.cluster.machines.values()))
        file = _find(machine, _STATE)
        guarantee = self._context.cluster.watch.guarantee
        if file is not None and machine.is_running and guarantee.may_lose(machine.node_id):
            guarantee.loses(machine.node_id)
            machine.kill()
            _flip(machine, file, random, _STATE[-1])


def _identity(machine: Machine) -> bytes | None:
    """By which the quorum knows a node that is in service."""
    is_ready = machine.server is not None and machine.is_ready
    return machine.server.node.quorum.me.directory_id if is_ready and machine.server else None


def _find(machine: Machine, path: tuple[str, ...]) -> Inode | None:
    entry: Inode | Directory | None = machine.disk.root
    for name in ("data", *path):
        if not isinstance(entry, Directory):
            return None
        entry = entry.entries.get(name)
    return entry if isinstance(entry, Inode) and entry.data else None


def _flip(machine: Machine, file: Inode, random: Random, name: str) -> None:
    at = random.randrange(len(file.data))
    file.data[at] ^= 1 << random.randrange(8)
    file.unsynced.clear()
    machine.simulator.say(f"{machine.host} has a flipped bit in {name} at position {at}")
