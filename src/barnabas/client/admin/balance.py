"""Which replicas and leaders to move so that nodes carry about the same: a plan, without a cluster.

A replica weighs its share of all bytes, of all that is written, and of all replicas; a node carries
the sum of its replicas. In turn, as long as something changes:

1. Nodes that are to be emptied lose their replicas.
2. Replicas of a partition get onto other racks, then other hosts, where such nodes are free.
3. Replicas move from nodes that carry more to nodes that carry less, if that does not crowd racks
   or hosts. The one is chosen that evens out the most.
4. Where leaders count, leadership goes to replicas whose nodes lead less.

Each step lowers a sum: of crowded replicas, then of squares of loads. So it comes to an end, and a
plan for what a plan has made is empty. Nodes within the tolerance of each other are left alone.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.client.admin.placement import Assignment, NodeLocation, Plan
from barnabas.client.connect.cluster_metadata import TopicPartition

_OF_REPLICAS = 0.1
"""What the number of replicas counts, next to bytes and rate."""

_WORTHWHILE = 0.9
"""A move of more than this part of a difference would hardly lower it."""


class PartitionLoad(NamedTuple):
    """What a replica of a partition takes."""

    bytes: int = 0
    rate: float = 0.0
    """Bytes a second that are written; 0 if it does not count."""


@dataclass(frozen=True)
class BalanceGoals:
    """What is evened out."""

    bytes: bool = True
    rate: bool = False
    leaders: bool = True
    tolerance: float = 0.05
    """Nodes may differ by this part of what they carry on average."""


class Balance(NamedTuple):
    """What to move, and partitions that can't leave a node that is to be emptied."""

    moves: Plan
    stuck: list[TopicPartition]


def plan_balance(
    assignment: Assignment,
    places: Iterable[NodeLocation],
    loads: Mapping[TopicPartition, PartitionLoad],
    goals: BalanceGoals | None = None,
    leaving: Collection[int] = (),
) -> Balance:
    """Plan for the nodes that are up; those that are not among them keep what they have."""
    goals = goals or BalanceGoals()
    staying = [each for each in places if each.node_id not in leaving]
    state = _State(assignment, staying, _weights(assignment, loads, goals))
    stuck = state.empty(set(leaving))
    changed = True
    while changed:
        changed = state.uncrowd()
        changed = state.even_replicas(goals.tolerance) or changed
    if goals.leaders:
        state.even_leaders(_leader_weights(assignment, loads, goals))
    moves = {
        name: replicas
        for name, replicas in state.planned.items()
        if replicas != list(assignment[name])
    }
    return Balance(moves, stuck)


def _weights(
    assignment: Assignment, loads: Mapping[TopicPartition, PartitionLoad], goals: BalanceGoals
) -> dict[TopicPartition, float]:
    """The share of one replica, for each partition; all of all partitions are about 1 together."""
    replicas = sum(map(len, assignment.values())) or 1
    size = sum(loads[name].bytes * len(each) for name, each in assignment.items() if name in loads)
    rate = sum(loads[name].rate * len(each) for name, each in assignment.items() if name in loads)
    weights = {}
    for name in assignment:
        load = loads.get(name, PartitionLoad())
        weight = _OF_REPLICAS / replicas
        if goals.bytes and size:
            weight += load.bytes / size
        if goals.rate and rate:
            weight += load.rate / rate
        weights[name] = weight
    return weights


def _leader_weights(
    assignment: Assignment, loads: Mapping[TopicPartition, PartitionLoad], goals: BalanceGoals
) -> dict[TopicPartition, float]:
    rate = sum(loads[name].rate for name in assignment if name in loads) if goals.rate else 0.0
    count = len(assignment) or 1
    return {
        name: 1 / count + (loads.get(name, PartitionLoad()).rate / rate if rate else 0.0)
        for name in assignment
    }


@dataclass
class _State:
    """A plan in the making."""

    assignment: Assignment
    places: Sequence[NodeLocation]
    weights: Mapping[TopicPartition, float]
    planned: Plan = field(init=False)
    carried: dict[int, float] = field(init=False)
    on_node: dict[int, set[TopicPartition]] = field(init=False)

    def __post_init__(self) -> None:
        self.planned = {name: list(each) for name, each in sorted(self.assignment.items())}
        self._place = {each.node_id: each for each in self.places}
        self.carried = dict.fromkeys(sorted(self._place), 0.0)
        self.on_node = {each: set() for each in self.carried}
        for name, replicas in self.planned.items():
            for node in replicas:
                if node in self.carried:
                    self.carried[node] += self.weights[name]
                    self.on_node[node].add(name)

    # -- steps ---------------------------------------------------------------------------------

    def empty(self, leaving: Collection[int]) -> list[TopicPartition]:
        """Move everything off nodes; returns partitions for which no other node is left."""
        stuck = []
        heaviest = sorted(self.planned, key=lambda each: (-self.weights[each], each))
        for name in heaviest:
            for node in [each for each in self.planned[name] if each in leaving]:
                chosen = self._best(name, node)
                if chosen is None:
                    stuck.append(name)
                else:
                    self._move(name, node, chosen)
        return sorted(set(stuck))

    def uncrowd(self) -> bool:
        """Move replicas off racks and hosts that have another one of the same partition."""
        changed = False
        for name, replicas in self.planned.items():
            for node in list(replicas):
                if node not in self.carried or self._crowding(name, node, node) == (0, 0):
                    continue
                chosen = self._best(name, node)
                if chosen is not None and self._crowding(name, node, chosen) < self._crowding(
                    name, node, node
                ):
                    self._move(name, node, chosen)
                    changed = True
        return changed

    def even_replicas(self, tolerance: float) -> bool:
        """Move replicas to nodes that carry less, until none is left that is worth it."""
        if not self.carried:
            return False
        allowed = tolerance * sum(self.carried.values()) / len(self.carried)
        changed = False
        while self._even_once(allowed):
            changed = True
        return changed

    def _even_once(self, allowed: float) -> bool:
        by_load = sorted(self.carried, key=lambda each: (self.carried[each], each))
        for full in reversed(by_load):
            for idle in by_load:
                difference = self.carried[full] - self.carried[idle]
                if difference <= allowed or full == idle:
                    break
                chosen = self._candidate(full, idle, difference)
                if chosen is not None:
                    self._move(chosen, full, idle)
                    return True
        return False

    def _candidate(self, full: int, idle: int, difference: float) -> TopicPartition | None:
        """The replica whose move comes closest to halving the difference."""
        best: tuple[float, TopicPartition] | None = None
        for name in self.on_node[full]:
            weight = self.weights[name]
            if weight > difference * _WORTHWHILE or name in self.on_node[idle]:
                continue
            rank = (abs(weight - difference / 2), name)
            if (best is None or rank < best) and self._crowding(name, full, idle) <= self._crowding(
                name, full, full
            ):
                best = rank
        return None if best is None else best[1]

    def even_leaders(self, weights: Mapping[TopicPartition, float]) -> None:
        """Let replicas be preferred whose nodes lead less."""
        leads = dict.fromkeys(self.carried, 0.0)
        for name, replicas in self.planned.items():
            if replicas and replicas[0] in leads:
                leads[replicas[0]] += weights[name]
        changed = True
        while changed:
            changed = False
            for name, replicas in self.planned.items():
                known = [each for each in replicas if each in leads]
                if not known or replicas[0] not in leads:
                    continue
                idlest = min(known, key=lambda each: (leads[each], each))
                if weights[name] <= (leads[replicas[0]] - leads[idlest]) * _WORTHWHILE:
                    leads[replicas[0]] -= weights[name]
                    leads[idlest] += weights[name]
                    self.planned[name] = [idlest, *(each for each in replicas if each != idlest)]
                    changed = True

    # -- nodes ---------------------------------------------------------------------------------

    def _best(self, name: TopicPartition, instead_of: int) -> int | None:
        free = [each for each in self.carried if each not in self.planned[name]]
        return min(
            free,
            key=lambda each: (*self._crowding(name, instead_of, each), self.carried[each], each),
            default=None,
        )

    def _crowding(self, name: TopicPartition, instead_of: int, node: int) -> tuple[int, int]:
        """Other replicas on the rack and on the host of `node`, if it stood for `instead_of`."""
        place = self._place[node]
        others = [
            self._place[each]
            for each in self.planned[name]
            if each != instead_of and each in self._place
        ]
        racks = sum(place.rack is not None and place.rack == each.rack for each in others)
        return racks, sum(place.host == each.host for each in others)

    def _move(self, name: TopicPartition, source: int, target: int) -> None:
        replicas = self.planned[name]
        self.planned[name] = [target if each == source else each for each in replicas]
        if source in self.carried:
            self.carried[source] -= self.weights[name]
            self.on_node[source].discard(name)
        self.carried[target] += self.weights[name]
        self.on_node[target].add(name)
