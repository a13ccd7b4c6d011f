"""Places and pipelines as nodes, and what flows between them as edges."""

from dataclasses import dataclass, field
from typing import Any

PIPELINE = "pipeline"


@dataclass(frozen=True)
class Node:
    """A pipeline, or a place that pipelines read or write."""

    kind: str
    name: str


@dataclass(frozen=True)
class Edge:
    """A flow of rows or of dead letters."""

    source: Node
    target: Node
    dead_letters: bool = False


@dataclass
class PipelineGraph:
    """All nodes, in the order of the definitions, and all edges."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def targets(self) -> dict[Node, list[Node]]:
        """The nodes that each node leads to, if there are any."""
        found: dict[Node, list[Node]] = {}
        for each in self.edges:
            found.setdefault(each.source, []).append(each.target)
        return found

    @property
    def pipelines(self) -> list[Node]:
        return [each for each in self.nodes if each.kind == PIPELINE]

    def upstream_of(self, pipeline: Node) -> list[str]:
        """The pipelines that write what a pipeline reads."""
        read = [each.source for each in self.edges if each.target == pipeline]
        found = [each.source.name for each in self.edges if each.target in read]
        return list(dict.fromkeys(found))

    def cycles(self) -> list[list[str]]:
        """Pipelines that feed themselves, directly or through others; each group once."""
        targets = self.targets()
        reach = {node: _reached_from(node, targets) for node in self.pipelines}
        found: list[list[str]] = []
        for node in self.pipelines:
            if node not in reach[node]:
                continue
            group = [
                each.name for each in self.pipelines if each in reach[node] and node in reach[each]
            ]
            if group not in found:
                found.append(group)
        return found

    def json(self) -> dict[str, Any]:
        """Nodes with ids, and edges between the ids."""
        return {
            "nodes": [
                {"id": _id(each), "kind": each.kind, "name": each.name} for each in self.nodes
            ],
            "edges": [
                {
                    "from": _id(each.source),
                    "to": _id(each.target),
                    "dead_letters": each.dead_letters,
                }
                for each in self.edges
            ],
            "cycles": self.cycles(),
        }


def _id(node: Node) -> str:
    return f"{node.kind}:{node.name}"


def _reached_from(start: Node, targets: dict[Node, list[Node]]) -> set[Node]:
    reached: set[Node] = set()
    waiting = [*targets.get(start, ())]
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached.add(node)
            waiting += targets.get(node, ())
    return reached
