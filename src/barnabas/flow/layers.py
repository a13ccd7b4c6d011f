"""Arranges nodes in layers, so that edges go from left to right and rarely cross.

The usual steps for drawing layered graphs (Sugiyama): edges that close a cycle are reversed, a node
is one layer after the last of its predecessors, edges over several layers get a point in each, and
the nodes of a layer are ordered by the mean position of their neighbours.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from barnabas.flow.graph import Node, PipelineGraph

_SWEEPS = 12

Slot = Node | tuple[Node, Node, int]
"""A node, or the point of an edge in a layer that it passes."""


@dataclass(frozen=True)
class Layers:
    """The nodes and points of each layer, from top to bottom."""

    layers: list[list[Slot]]
    paths: dict[tuple[Node, Node], list[Slot]]
    """What an edge between two nodes goes through, in either direction."""


def in_layers(graph: PipelineGraph) -> Layers:
    """Give every node a layer and a place in it."""
    turned = _closing(graph)
    forward = {
        (each.target, each.source)
        if (each.source, each.target) in turned
        else (each.source, each.target)
        for each in graph.edges
        if each.source != each.target
    }
    depth = _depths(graph.nodes, forward)
    layers: list[list[Slot]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in graph.nodes:
        layers[depth[node]].append(node)
    paths: dict[tuple[Node, Node], list[Slot]] = {}
    neighbours: dict[Slot, list[Slot]] = defaultdict(list)
    for source, target in sorted(forward, key=lambda each: (each[0].name, each[1].name)):
        points: list[Slot] = [
            (source, target, layer) for layer in range(depth[source] + 1, depth[target])
        ]
        for layer, point in enumerate(points, depth[source] + 1):
            layers[layer].append(point)
        path = [source, *points, target]
        for one, other in pairwise(path):
            neighbours[one].append(other)
            neighbours[other].append(one)
        paths[source, target] = path
        paths[target, source] = path[::-1]
    _order(layers, neighbours)
    return Layers(layers, paths)


def _closing(graph: PipelineGraph) -> set[tuple[Node, Node]]:
    """The edges that close a cycle, found by a depth-first search."""
    found: set[tuple[Node, Node]] = set()
    done: set[Node] = set()
    after = graph.targets()
    for start in graph.nodes:
        if start in done:
            continue
        on_way = {start}
        stack = [(start, iter(after.get(start, ())))]
        while stack:
            node, targets = stack[-1]
            target = next(targets, None)
            if target is None:
                stack.pop()
                on_way.discard(node)
                done.add(node)
            elif target in on_way:
                found.add((node, target))
            elif target not in done:
                on_way.add(target)
                stack.append((target, iter(after.get(target, ()))))
    return found


def _depths(nodes: list[Node], forward: set[tuple[Node, Node]]) -> dict[Node, int]:
    """One more than the deepest predecessor; without any, one less than the first target."""
    depth = dict.fromkeys(nodes, 0)
    for _ in nodes:  # at most as often as the longest path has nodes
        changed = False
        for source, target in forward:
            if depth[target] <= depth[source]:
                depth[target] = depth[source] + 1
                changed = True
        if not changed:
            break
    fed = {target for _source, target in forward}
    first: dict[Node, int] = {}
    for source, target in forward:
        first[source] = min(first.get(source, depth[target]), depth[target])
    for node in nodes:
        if node not in fed and node in first:
            depth[node] = first[node] - 1
    return depth


def _order(layers: list[list[Slot]], neighbours: dict[Slot, list[Slot]]) -> None:
    """Sort each layer by the mean position of its neighbours, forwards and backwards."""
    for sweep in range(_SWEEPS):
        forth = sweep % 2 == 0
        numbers = range(1, len(layers)) if forth else range(len(layers) - 2, -1, -1)
        for number in numbers:
            adjacent = layers[number - 1 if forth else number + 1]
            place = {slot: at for at, slot in enumerate(adjacent)}
            now = {slot: at for at, slot in enumerate(layers[number])}

            def middle(
                slot: Slot, place: dict[Slot, int] = place, now: dict[Slot, int] = now
            ) -> float:
                at = [place[each] for each in neighbours[slot] if each in place]
                return sum(at) / len(at) if at else now[slot]

            layers[number].sort(key=middle)
