"""What is down: the controller, nodes, leaders, replicas."""

from collections.abc import Collection, Iterator, Sequence

from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicPartition
from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, critical, warning
from barnabas.diagnosis.status import UP
from barnabas.quantities import counted, some


def no_controller(facts: Facts) -> Iterator[Finding]:
    if facts.no_controller is not None:
        yield critical(
            "controller",
            f"no controller: {facts.no_controller}",
            "start a majority of the voters; `barnabas cluster status` names them",
        )


def nodes_down(facts: Facts) -> Iterator[Finding]:
    for node in facts.status.nodes:
        if node.state != UP:
            where = "" if node.address is None else f" at {node.address}"
            yield critical(
                "nodes",
                f"node {node.node_id}{where} is {node.state}",
                f"start it, or give it up: barnabas cluster remove-node {node.node_id}",
            )


def offline(facts: Facts) -> Iterator[Finding]:
    names = sorted(facts.status.offline)
    if not names:
        return
    leaderless = [each for each in names if facts.status.partitions[each].leader == NO_LEADER]
    yield critical(
        "partitions",
        f"{counted(len(names), 'partition')} not available: {some(names)}",
        "start the nodes that have replicas; if they are lost: barnabas cluster recover"
        if leaderless
        else "make the leaders reachable from here: addresses, firewalls, advertised.listeners",
    )


def below_min_isr(facts: Facts) -> Iterator[Finding]:
    names = sorted(facts.status.below_min_isr.keys() - set(facts.status.offline))
    if names:
        yield critical(
            "partitions",
            f"{counted(len(names), 'partition')} below min.insync.replicas, so writes with "
            f"acks=all fail: {some(names)}",
            _bring_back(facts, names)
            or "add replicas, or lower the setting: barnabas configs set topic TOPIC "
            "min.insync.replicas=N",
        )


def under_replicated(facts: Facts) -> Iterator[Finding]:
    lacking = facts.status.under_replicated.keys() - facts.status.below_min_isr.keys()
    names = sorted(lacking - set(facts.status.offline))
    if names:
        yield warning(
            "partitions",
            f"{counted(len(names), 'partition')} under-replicated: {some(names)}",
            _bring_back(facts, names),
        )


def _bring_back(facts: Facts, names: Sequence[TopicPartition]) -> str:
    """What to do about the nodes whose replicas are not in sync, by whether they are up."""
    up = {node.node_id for node in facts.status.nodes if node.state == UP}
    missing = {
        node
        for name in names
        for node in facts.status.partitions[name].replicas
        if node not in facts.status.partitions[name].isr
    }
    fixes = []
    if missing - up:
        why = "their logs say why they are" if len(missing - up) > 1 else "its log says why it is"
        fixes.append(f"start {_nodes(missing - up)}; {why} down")
    if missing & up:
        fixes.append(
            f"see in the log of {_nodes(missing & up)} why it does not keep up: its disk, its "
            "network, or still catching up (barnabas cluster status --wait 600)"
        )
    return "; ".join(fixes)


def _nodes(ids: Collection[int]) -> str:
    return f"node{'s' * (len(ids) > 1)} {some(sorted(ids))}"
