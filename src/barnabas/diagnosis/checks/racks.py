"""Racks: replicas of a partition ought to be in several."""

from collections.abc import Iterator

from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, warning
from barnabas.quantities import counted, some


def missing(facts: Facts) -> Iterator[Finding]:
    """Some nodes with a rack and some without: placement then ignores racks."""
    without = [node.node_id for node in facts.status.nodes if node.rack is None]
    if without and len(without) < len(facts.status.nodes):
        yield warning(
            "racks",
            f"nodes {some(without)} have no rack, the others have one",
            "set broker.rack on every node and restart it",
        )


def shared(facts: Facts) -> Iterator[Finding]:
    racks = {node.node_id: node.rack for node in facts.status.nodes if node.rack is not None}
    if len(set(racks.values())) < 2:
        return
    together = sorted(
        name
        for name, each in facts.status.partitions.items()
        if len(each.replicas) > 1
        and racks.keys() >= set(each.replicas)
        and len({racks[node] for node in each.replicas}) == 1
    )
    if together:
        yield warning(
            "racks",
            f"{counted(len(together), 'partition')} with all replicas in one rack: "
            f"{some(together)}",
            f"barnabas cluster move {together[0].topic}:{together[0].partition} --to ID,...",
        )
