"""Notes which of the states that matter a run has reached, without any check of its own.

A simulation that never elects an unclean leader says nothing about such elections. So it is counted
what happened, by names such as `election: in-sync replica`; `sim/states.py` says which of them some
run of a soak has to reach.
"""

from typing import NamedTuple

from barnabas.broker.node import Node
from barnabas.broker.replica.partition import Partition
from barnabas.groups.image import GroupImage, GroupsImage
from barnabas.metadata.image import MetadataImage
from barnabas.sim.process.simulator import Simulator
from barnabas.transactions.state import TxnState
from barnabas.wire.errors import ErrorCode

Key = tuple[bytes, int]
_NONE = -1


class _Known(NamedTuple):
    """A partition in the newest metadata so far."""

    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    replicas: tuple[int, ...]


class ReachedStates:
    """Told by the checks, which look into the brokers anyway."""

    def __init__(self, simulator: Simulator) -> None:
        self._reach = simulator.reach
        self._partitions: dict[Key, _Known] = {}
        self._kinds: dict[str, str] = {}

    # -- metadata ----------------------------------------------------------------------------------

    def learn(self, image: MetadataImage) -> None:
        """The newest metadata has changed."""
        partitions = {}
        for topic in image.topics.values():
            for partition in topic.partitions:
                key = (topic.topic_id, partition.index)
                partitions[key] = now = _Known(
                    partition.leader,
                    tuple(partition.isr),
                    tuple(partition.elr),
                    tuple(partition.adding_replicas),
                    tuple(partition.removing_replicas),
                    tuple(partition.replicas),
                )
                before = self._partitions.get(key, now)
                if before != now:
                    self._partition_changed(before, now)
        self._partitions = partitions

    def _partition_changed(self, before: _Known, now: _Known) -> None:
        if now.leader != before.leader:
            self._reach(_election(before, now))
        if set(before.isr) - set(now.isr):
            self._reach("in-sync set: shrinks")
        if set(now.isr) - set(before.isr):
            self._reach("in-sync set: grows")
        if set(now.elr) - set(before.elr):
            self._reach("in-sync set: below the minimum, with eligible leaders")
        was_moving, is_moving = (bool(each.adding or each.removing) for each in (before, now))
        if is_moving and not was_moving:
            self._reach("reassignment: begins")
        elif was_moving and not is_moving:
            done = not set(before.removing) & set(now.replicas)
            self._reach("reassignment: ends" if done else "reassignment: cancelled")

    def controller_elected(self) -> None:
        self._reach("quorum: a leader is elected")

    def metadata_snapshot_read(self) -> None:
        self._reach("quorum: a node begins with a snapshot")

    # -- replicas ----------------------------------------------------------------------------------

    def log_changed(self) -> None:
        self._reach("replica: log cut, overwritten or replaced")

    def replica_seen(self, partition: Partition) -> None:
        if partition.doubt.suspect_from is not None:
            self._reach("replica: doubts its own log")

    # -- coordinators ------------------------------------------------------------------------------

    def groups_changed(self, image: GroupsImage) -> None:
        for group_id in image:
            kind = _kind(image[group_id])
            known = self._kinds.get(group_id)
            if kind != known:
                self._kinds[group_id] = kind
                self._reach(f"group: {kind}" if known is None else f"group: {known}, then {kind}")

    def transaction_changed(self, state: TxnState) -> None:
        self._reach(f"transaction: {state.name}")

    # -- answers -----------------------------------------------------------------------------------

    def node_ends(self, node: Node) -> None:
        """Its process ends, or the run does: these are all errors that it has answered."""
        for code in {code for _, code in node.request_errors.counts}:
            self._reach(f"error: {ErrorCode(code).name}")


def _election(before: _Known, now: _Known) -> str:
    new = now.leader
    if new == _NONE:
        return "election: none, the partition has no leader"
    if new in before.elr:
        return "election: eligible leader replica"
    if new not in before.isr:
        return "election: unclean"
    if new == now.replicas[0] and before.leader in now.isr:
        return "election: preferred leader"
    if before.leader == _NONE:
        return "election: in-sync replica that is back"
    return "election: in-sync replica"


def _kind(group: GroupImage) -> str:
    if group.modern is not None:
        return type(group.modern).__name__.removesuffix("Image").removesuffix("State")
    return "classic" if group.metadata is not None else "offsets alone"
