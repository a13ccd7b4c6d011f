"""The graph from topics through pipelines and connectors to topics and tables, with live rates."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from barnabas.connect.rest_client import RestError
from barnabas.console.api.connectors import connectors_of
from barnabas.console.api.pipelines import ENDED, pipelines_of
from barnabas.console.endpoint import Call, Endpoint
from barnabas.console.watch.watch import Looked
from barnabas.errors import BarnabasError
from barnabas.flow.graph import Edge, Node, PipelineGraph
from barnabas.flow.layers import Slot, in_layers
from barnabas.security.secret_settings import without_credentials

_WORKS = ("running", "waiting", "RUNNING")
_MOST = 300
"""Pipelines and connectors that are drawn; a list has all."""
_MOST_EDGES = 2_000
"""More can't be told apart in a drawing, and take long to arrange."""


class Flow(NamedTuple):
    """An edge with records per second, None if that is not known."""

    edge: Edge
    rate: float | None


async def flow(call: Call) -> dict[str, Any]:
    pipelines = await pipelines_of(call)
    connectors, problem = await _connectors(call)
    reported = {each["connector"] for each in pipelines}
    others = [each for each in connectors if each["name"] not in reported]
    looked = call.cluster.watch.last
    flows = [
        *(each for one in pipelines[:_MOST] for each in _of_pipeline(one)),
        *(each for one in others[:_MOST] for each in _of_connector(one, looked)),
    ]
    return {
        "connect_error": problem,
        "pipelines": pipelines,
        "connectors": connectors,
        "configured": call.options.connect_url is not None,
        "left_out": max(0, len(flows) - _MOST_EDGES),
        **await asyncio.to_thread(
            drawn, flows[:_MOST_EDGES], {each["id"]: each for each in pipelines}, others, looked
        ),
    }


async def _connectors(call: Call) -> tuple[list[dict[str, Any]], str | None]:
    """Those of the Connect service, or why there are none: pipelines are shown anyway."""
    try:
        return await connectors_of(call), None
    except (BarnabasError, RestError) as error:
        return [], without_credentials(str(error))


def _of_pipeline(one: Mapping[str, Any]) -> Iterator[Flow]:
    itself = Node("pipeline", one["id"])
    is_alive = one["state"] in _WORKS
    rates = one["read_per_s"]
    for kind, name in one["reads"]:
        rate = rates.get(name) if kind == "topic" else None
        if rate is None and len(one["reads"]) == 1:
            rate = one["rows_in_per_s"]
        yield Flow(Edge(Node(kind, name), itself), rate if is_alive else None)
    for kind, name in one["writes"]:
        rate = one["rows_out_per_s"] if len(one["writes"]) == 1 else None
        yield Flow(Edge(itself, Node(kind, name)), rate if is_alive else None)
    for topic in one["dead_letter_topics"]:
        rate = one["letters_per_s"] if len(one["dead_letter_topics"]) == 1 else None
        edge = Edge(itself, Node("topic", topic), dead_letters=True)
        yield Flow(edge, rate if is_alive else None)


def _of_connector(one: Mapping[str, Any], looked: Looked | None) -> Iterator[Flow]:
    """A connector whose pipelines do not report, as one of Kafka's own Connect."""
    itself = Node("connector", one["name"])
    is_sink = one["type"] == "sink"
    written = {} if looked is None else {row.name: row.records_s for row in looked.topics}
    read = {} if looked is None else {row.id: row.read_s for row in looked.groups}
    for topic in one["topics"]:
        place = Node("topic", topic)
        if is_sink:
            rate = read.get(f"connect-{one['name']}") if len(one["topics"]) == 1 else None
            yield Flow(Edge(place, itself), rate)
        else:
            yield Flow(Edge(itself, place), written.get(topic))
    outside = Node("other", one["class"].rpartition(".")[2] or "elsewhere")
    yield Flow(Edge(itself, outside) if is_sink else Edge(outside, itself), None)


def drawn(
    flows: list[Flow],
    pipelines: Mapping[str, Mapping[str, Any]],
    connectors: list[dict[str, Any]],
    looked: Looked | None,
) -> dict[str, Any]:
    """Nodes with their layer and row, and edges through the points of their way."""
    edges = dict.fromkeys(each.edge for each in flows)
    nodes = dict.fromkeys(node for each in edges for node in (each.source, each.target))
    graph = PipelineGraph(list(nodes), list(edges))
    layers = in_layers(graph)
    at = {
        slot: (number, row)
        for number, slots in enumerate(layers.layers)
        for row, slot in enumerate(slots)
    }
    topics = {} if looked is None else {row.name: row for row in looked.topics}
    states = {each["name"]: each["state"] for each in connectors}
    rates: dict[Edge, float | None] = {}
    for each in flows:
        before = rates.get(each.edge)
        rates[each.edge] = each.rate if before is None else before + (each.rate or 0)
    return {
        "layers": [len(slots) for slots in layers.layers],
        "nodes": [
            {
                "kind": node.kind,
                "name": node.name,
                "at": at[node],
                **_about(node, pipelines, states, topics),
            }
            for node in nodes
        ],
        "edges": [
            {
                "from": [each.source.kind, each.source.name],
                "to": [each.target.kind, each.target.name],
                "way": [at[slot] for slot in _way(layers.paths, each)],
                "rate": rates[each],
                "dead_letters": each.dead_letters,
            }
            for each in edges
        ],
    }


def _way(paths: Mapping[tuple[Node, Node], list[Slot]], edge: Edge) -> list[Slot]:
    return paths.get((edge.source, edge.target), [edge.source, edge.target])


def _about(
    node: Node,
    pipelines: Mapping[str, Mapping[str, Any]],
    connectors: Mapping[str, str],
    topics: Mapping[str, Any],
) -> dict[str, Any]:
    if node.kind == "pipeline":
        one = pipelines[node.name]
        return {"label": one["pipeline"], "state": one["state"], "lag": one["lag"]}
    if node.kind == "connector":
        return {"label": node.name, "state": connectors[node.name]}
    row = topics.get(node.name) if node.kind == "topic" else None
    return {
        "label": node.name,
        "records_s": None if row is None else row.records_s,
        "is_missing": node.kind == "topic" and row is None,
    }


ENDPOINTS = (Endpoint("GET", "/api/flow", "Pipelines and connectors as a graph.", flow, (ENDED,)),)
