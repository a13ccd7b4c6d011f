"""Where nodes of a graph are drawn."""

from barnabas.flow.graph import Edge, Node, PipelineGraph
from barnabas.flow.layers import in_layers


def topic(name: str) -> Node:
    return Node("topic", name)


def depths(edges: list[Edge]) -> dict[str, int]:
    nodes = dict.fromkeys(node for each in edges for node in (each.source, each.target))
    layers = in_layers(PipelineGraph(list(nodes), edges)).layers
    return {
        slot.name: number
        for number, slots in enumerate(layers)
        for slot in slots
        if isinstance(slot, Node)
    }


def test_a_node_is_after_all_that_feed_it_and_a_source_next_to_its_first_target() -> None:
    first, second = Node("pipeline", "first"), Node("pipeline", "second")
    found = depths(
        [
            Edge(topic("a"), first),
            Edge(first, topic("b")),
            Edge(topic("b"), second),
            Edge(topic("late"), second),
        ]
    )
    assert found == {"a": 0, "first": 1, "b": 2, "late": 2, "second": 3}


def test_edges_that_close_a_cycle_do_not_hold_it_up() -> None:
    one = Node("pipeline", "one")
    assert depths([Edge(topic("a"), one), Edge(one, topic("a"))]) == {"a": 0, "one": 1}


def test_a_connector_of_thousands_of_topics_is_arranged() -> None:
    sink = Node("connector", "sink")
    found = depths([Edge(topic(f"t{number}"), sink) for number in range(20_000)])
    assert found["sink"] == 1
