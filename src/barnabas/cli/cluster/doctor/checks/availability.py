"""What is down: the controller, nodes, leaders, replicas."""

from collections.abc import Iterator

from barnabas.cli.base.output import counted
from barnabas.cli.cluster.doctor.facts import Facts
from barnabas.cli.cluster.doctor.finding import Finding, critical, some, warning
from barnabas.cli.cluster.status import UP
from barnabas.client.connect.cluster_metadata import NO_LEADER

_START = "start the nodes that are down; their logs say why they ended"


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
        "start the nodes that have replicas; if they are lost: barnabas cluster elect --unclean "
        "--dry-run"
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
            _START,
        )


def under_replicated(facts: Facts) -> Iterator[Finding]:
    lacking = facts.status.under_replicated.keys() - facts.status.below_min_isr.keys()
    names = sorted(lacking - set(facts.status.offline))
    if names:
        missing = sorted(
            {
                node
                for name in names
                for node in facts.status.partitions[name].replicas
                if node not in facts.status.partitions[name].isr
            }
        )
        yield warning(
            "partitions",
            f"{counted(len(names), 'partition')} under-replicated: {some(names)}",
            f"see why nodes {some(missing)} do not keep up: barnabas cluster status --watch",
        )
