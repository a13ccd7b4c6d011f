"""Where replicas should go when nodes come and leave: plans, without a cluster.

A plan maps partitions to their new replicas, the preferred leader first, and names only those that
change. Replicas of one partition stand on different racks first, different hosts second, and nodes
with fewer replicas before nodes with more.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition

Assignment = Mapping[TopicPartition, Sequence[int]]
Plan = dict[TopicPartition, list[int]]


@dataclass(frozen=True, slots=True)
class NodeLocation:
    """A node and where it stands."""

    node_id: int
    host: str
    rack: str | None = None


class MovePlan(NamedTuple):
    """What can be moved, and the partitions for which no other node is left."""

    moves: Plan
    stuck: list[TopicPartition]


def move_off(assignment: Assignment, places: Iterable[NodeLocation], leaving: int) -> MovePlan:
    """Put another node in the place of `leaving` wherever it keeps a replica."""
    nodes = _Nodes(place for place in places if place.node_id != leaving)
    nodes.count(assignment)
    moves: Plan = {}
    stuck: list[TopicPartition] = []
    for partition, replicas in sorted(assignment.items()):
        if leaving not in replicas:
            continue
        staying = [each for each in replicas if each != leaving]
        chosen = nodes.best(staying)
        if chosen is None:
            stuck.append(partition)
            continue
        nodes.replicas[chosen] += 1
        moved = [chosen if each == leaving else each for each in replicas]
        if replicas[0] == leaving:
            moved = nodes.led_by_the_idlest(moved)
        moves[partition] = moved
    return MovePlan(moves, stuck)


def drop_from(
    assignment: Assignment, leaving: int, partitions: Iterable[TopicPartition]
) -> MovePlan:
    """Take the replica on `leaving` away; partitions of which it is the only one are stuck."""
    left = {
        each: [node for node in assignment[each] if node != leaving] for each in sorted(partitions)
    }
    moves = {partition: replicas for partition, replicas in left.items() if replicas}
    return MovePlan(moves, [partition for partition, replicas in left.items() if not replicas])


def lead_elsewhere(
    assignment: Assignment, able: Mapping[TopicPartition, Sequence[int]], leaving: int
) -> MovePlan:
    """Let another replica be preferred in each partition; replicas stay where they are.

    `able` holds the replicas that could lead at once. A preferred one among them remains so.
    """
    nodes = _Nodes(NodeLocation(each, "") for replicas in able.values() for each in replicas)
    nodes.count(assignment)
    moves: Plan = {}
    stuck: list[TopicPartition] = []
    for partition, replicas in sorted(assignment.items()):
        others = [each for each in replicas if each != leaving]
        leading = [each for each in others if each in able[partition]]
        if not leading:
            stuck.append(partition)
            continue
        first = replicas[0] if replicas[0] in leading else nodes.led_by_the_idlest(leading)[0]
        kept = [leaving] if leaving in replicas else []
        moves[partition] = [first, *(each for each in others if each != first), *kept]
    return MovePlan(moves, stuck)


def spread(assignment: Assignment, places: Iterable[NodeLocation]) -> Plan:
    """Even out replicas, then preferred leaders, over all nodes, moving as little as that takes."""
    nodes = _Nodes(places)
    nodes.count(assignment)
    planned = {partition: list(replicas) for partition, replicas in assignment.items()}
    order = sorted(planned)
    while _even_replicas(planned, order, nodes):
        pass
    nodes.count(planned)
    while _even_leaders(planned, order, nodes):
        pass
    return {each: planned[each] for each in order if planned[each] != list(assignment[each])}


class _Nodes:
    """The nodes that may be chosen, and how much each carries."""

    def __init__(self, places: Iterable[NodeLocation]) -> None:
        self.places = {place.node_id: place for place in places}
        self.replicas: Counter[int] = Counter()
        self.leaders: Counter[int] = Counter()

    def count(self, assignment: Assignment) -> None:
        self.replicas = Counter(dict.fromkeys(self.places, 0))
        self.leaders = Counter(dict.fromkeys(self.places, 0))
        for replicas in assignment.values():
            self.replicas.update(each for each in replicas if each in self.places)
            self.leaders.update(each for each in replicas[:1] if each in self.places)

    def best(self, others: Sequence[int]) -> int | None:
        """The best node for another replica of a partition that `others` have."""
        free = [each for each in self.places if each not in others]
        return min(
            free,
            key=lambda each: (*self.crowding(each, others), self.replicas[each], each),
            default=None,
        )

    def crowding(self, node: int, others: Sequence[int]) -> tuple[int, int]:
        """How many of the others are on the same rack, and on the same host."""
        place = self.places[node]
        neighbours = [self.places[each] for each in others if each in self.places]
        racks = sum(place.rack is not None and place.rack == each.rack for each in neighbours)
        return racks, sum(place.host == each.host for each in neighbours)

    def led_by_the_idlest(self, replicas: Sequence[int]) -> list[int]:
        """The same replicas, the one first that leads the least of those that are there."""
        first = min(
            replicas,
            key=lambda each: (each not in self.places, self.leaders[each], replicas.index(each)),
        )
        self.leaders[first] += 1
        return [first, *(each for each in replicas if each != first)]


def _even_replicas(planned: Plan, order: Sequence[TopicPartition], nodes: _Nodes) -> bool:
    """Move replicas from one node with more to one with fewer; False: there is none to move."""
    by_load = sorted(nodes.places, key=lambda each: (nodes.replicas[each], each))
    for full in reversed(by_load):
        for empty in by_load:
            if nodes.replicas[full] - nodes.replicas[empty] < 2:
                break
            if _move_between(planned, order, nodes, full, empty):
                return True
    return False


def _move_between(
    planned: Plan, order: Sequence[TopicPartition], nodes: _Nodes, full: int, empty: int
) -> bool:
    """Move what may be moved from one node to another, one step towards evenness at most."""
    steps = max((nodes.replicas[full] - nodes.replicas[empty]) // len(nodes.places), 1)
    moved = 0
    for partition in order:
        if moved == steps:
            break
        replicas = planned[partition]
        if full not in replicas or empty in replicas:
            continue
        others = [each for each in replicas if each != full]
        if nodes.crowding(empty, others) <= nodes.crowding(full, others):
            planned[partition] = [empty if each == full else each for each in replicas]
            moved += 1
    nodes.replicas[full] -= moved
    nodes.replicas[empty] += moved
    return moved > 0


def _even_leaders(planned: Plan, order: Sequence[TopicPartition], nodes: _Nodes) -> bool:
    """Let replicas be preferred whose nodes lead less; False: that evens out nothing."""
    changed = False
    for partition in order:
        replicas = planned[partition]
        if not replicas or replicas[0] not in nodes.places:
            continue
        known = [each for each in replicas if each in nodes.places]
        idlest = min(known, key=lambda each: (nodes.leaders[each], each))
        if nodes.leaders[replicas[0]] - nodes.leaders[idlest] >= 2:
            nodes.leaders[replicas[0]] -= 1
            nodes.leaders[idlest] += 1
            planned[partition] = [idlest, *(each for each in replicas if each != idlest)]
            changed = True
    return changed
