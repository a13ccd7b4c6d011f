"""Prints how pipelines depend on each other."""

from collections.abc import Iterable

from barnabas.cli.base.output import print_json, print_line, print_table
from barnabas.cli.pipeline.arguments import GraphFormat
from barnabas.flow.graph import Node, PipelineGraph
from barnabas.spark.pipelines import Pipeline
from barnabas.spark.pipelines.graph.mermaid import mermaid
from barnabas.spark.pipelines.graph.pipeline_graph import graph_of
from barnabas.spark.pipelines.graph.svg import svg


def print_graph(pipelines: Iterable[Pipeline], form: GraphFormat) -> None:
    """Print the graph; as text, a row for each pipeline, with those that it depends on first."""
    graph = graph_of(pipelines)
    match form:
        case GraphFormat.SVG:
            print_line(svg(graph).rstrip())
        case GraphFormat.MERMAID:
            print_line(mermaid(graph).rstrip())
        case GraphFormat.JSON:
            print_json(graph.json())
        case GraphFormat.TEXT:
            _print_text(graph)


def _print_text(graph: PipelineGraph) -> None:
    rows = []
    for each in _in_order(graph):
        read = [_named(edge.source) for edge in graph.edges if edge.target == each]
        out = [edge for edge in graph.edges if edge.source == each]
        rows.append(
            (
                each.name,
                ", ".join(read) or None,
                ", ".join(_named(edge.target) for edge in out if not edge.dead_letters) or None,
                ", ".join(edge.target.name for edge in out if edge.dead_letters) or None,
                ", ".join(graph.upstream_of(each)) or None,
            )
        )
    print_table(("pipeline", "reads", "writes", "dead letters", "depends on"), rows)
    for cycle in graph.cycles():
        print_line(f"cycle: {' -> '.join([*cycle, cycle[0]])}")


def _in_order(graph: PipelineGraph) -> list[Node]:
    """Pipelines after those that they depend on; in a cycle, the first one defined comes first."""
    left = {each.name: each for each in graph.pipelines}
    ordered = []
    while left:
        ready = [each for each in left.values() if not set(graph.upstream_of(each)) & left.keys()]
        ordered.append(ready[0] if ready else next(iter(left.values())))
        del left[ordered[-1].name]
    return ordered


def _named(node: Node) -> str:
    return node.name if node.kind == "other" else f"{node.kind} {node.name}"
