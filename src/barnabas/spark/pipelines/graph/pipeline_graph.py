"""Places and pipelines as nodes, and what flows between them as edges."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from barnabas.spark.pipelines.definition.pipeline import Pipeline

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

    def after(self, node: Node) -> list[Node]:
        """The nodes that a node leads to."""
        return [each.target for each in self.edges if each.source == node]

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
        reach = {node: self._reached_from(node) for node in self.pipelines}
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

    def _reached_from(self, start: Node) -> set[Node]:
        reached: set[Node] = set()
        waiting = self.after(start)
        while waiting:
            node = waiting.pop()
            if node not in reached:
                reached.add(node)
                waiting += self.after(node)
        return reached

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


def graph_of(pipelines: Iterable[Pipeline]) -> PipelineGraph:
    """The graph of these pipelines; a place that several read or write is one node."""
    edges = list(dict.fromkeys(each for defined in pipelines for each in _edges(defined)))
    nodes = dict.fromkeys(node for each in edges for node in (each.source, each.target))
    return PipelineGraph(list(nodes), edges)


def _edges(defined: Pipeline) -> Iterator[Edge]:
    itself = Node(PIPELINE, defined.name)
    for source in defined.sources.values():
        for kind, name in source.places:
            yield Edge(Node(kind, name), itself)
    for kind, name in defined.sink.places:
        yield Edge(itself, Node(kind, name))
    for source in defined.sources.values():
        if source.dead_letter_topic is not None:
            yield Edge(itself, Node("topic", source.dead_letter_topic), dead_letters=True)


def _id(node: Node) -> str:
    return f"{node.kind}:{node.name}"
