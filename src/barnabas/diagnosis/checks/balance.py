"""How evenly nodes are loaded, and moves that go on."""

from collections import Counter
from collections.abc import Iterator, Mapping
from statistics import fmean

from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, note, warning
from barnabas.diagnosis.status import UP
from barnabas.quantities import counted, human_size, some

_FACTOR = 1.5
"""Above this multiple of the average a node has too much."""
_SMALLEST_EXCESS = 3
_SMALLEST_BYTES = 1 << 30


def leaders(facts: Facts) -> Iterator[Finding]:
    """Counts partitions that could be led by their preferred leader and are not."""
    up = _up(facts)
    misplaced = [
        name
        for name, each in facts.status.partitions.items()
        if each.leader != each.replicas[0]
        and each.replicas[0] in up
        and each.replicas[0] in each.isr
    ]
    led = {node.node_id: node.leaders for node in facts.status.nodes if node.node_id in up}
    most = _overloaded(led, _SMALLEST_EXCESS)
    if most is not None and misplaced:
        yield warning(
            "balance",
            f"node {most} leads {led[most]} of {sum(led.values())} partitions",
            "barnabas cluster rebalance-leaders",
        )
    elif misplaced:
        yield note(
            "balance",
            f"{counted(len(misplaced), 'partition')} not led by the preferred leader: "
            f"{some(sorted(misplaced))}",
            "barnabas cluster rebalance-leaders",
        )


def replicas(facts: Facts) -> Iterator[Finding]:
    held = {node.node_id: node.replicas for node in facts.status.nodes if node.state == UP}
    most = _overloaded(held, _SMALLEST_EXCESS)
    empty = sorted(node for node, count in held.items() if not count)
    fix = "barnabas cluster add-node ID --rebalance"
    if empty and sum(held.values()) >= len(held):
        fix = f"barnabas cluster add-node {empty[0]} --rebalance"
        yield warning("balance", f"nodes {some(empty)} hold no replicas", fix)
    elif most is not None:
        of = sum(held.values())
        yield note("balance", f"node {most} holds {held[most]} of {of} replicas", fix)


def disk_bytes(facts: Facts) -> Iterator[Finding]:
    held: Counter[int] = Counter()
    for each in facts.directories:
        held[each.node_id] += sum(each.sizes.values())
    most = _overloaded(held, _SMALLEST_BYTES)
    if most is not None:
        yield note(
            "balance",
            f"node {most} holds {human_size(held[most])}, nodes have "
            f"{human_size(int(fmean(held.values())))} on average",
            "move large partitions: barnabas cluster move TOPIC:N --to ID,...",
        )


def moves(facts: Facts) -> Iterator[Finding]:
    if facts.status.moving:
        names = sorted(facts.status.moving)
        yield note(
            "balance",
            f"{counted(len(names), 'partition')} being moved: {some(names)}",
            "wait, or stop it: barnabas cluster move --cancel",
        )


def _up(facts: Facts) -> set[int]:
    return {node.node_id for node in facts.status.nodes if node.state == UP}


def _overloaded(load: Mapping[int, int], smallest_excess: int) -> int | None:
    """The node with the most, if that is far above the average."""
    if len(load) < 2:
        return None
    average = fmean(load.values())
    most = max(load, key=load.__getitem__)
    is_far = load[most] > _FACTOR * average and load[most] - average >= smallest_excess
    return most if is_far else None
