"""The graph of pipelines, from their definitions."""

from collections.abc import Iterable, Iterator

from barnabas.flow.graph import PIPELINE, Edge, Node, PipelineGraph
from barnabas.spark.pipelines.definition.pipeline import Pipeline


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
