"""Whether a node is alive, has started, and is ready, for probes and for operators.

/livez      the event loop runs: always 200
/startupz   200 once clients are served; before that 503, with the progress of the recovery
/readyz     200 if the node serves clients, has contact with the controller and room on its disk,
            its own replicas are in sync, and so are all replicas of partitions that it leads; else
            503, with the reasons

A rolling restart waits for /readyz of one node before it restarts the next: a node that has just
returned leads nothing, so its own replicas count too. Those that a move adds do not.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from barnabas.broker.monitoring.replica_metrics import is_under_replicated
from barnabas.broker.net.startup_gate import StartupGate
from barnabas.broker.node import Node
from barnabas.quantities import some


@dataclass(frozen=True, slots=True)
class Report:
    is_good: bool
    details: dict[str, object] = field(default_factory=dict)


class Health:
    def __init__(self, node: Node, gate: StartupGate) -> None:
        self._node = node
        self._gate = gate

    @property
    def is_serving(self) -> bool:
        return self._gate.is_open

    def recovery(self) -> tuple[int, int]:
        """How many replicas this node has, and how many of them are open."""
        node = self._node
        assigned = sum(
            node.node_id in partition.replicas
            for topic in node.image.topics.values()
            for partition in topic.partitions
        )
        return assigned, sum(1 for _ in node.partitions)

    def live(self) -> Report:
        return Report(is_good=True)

    def startup(self) -> Report:
        node = self._node
        assigned, opened = self.recovery()
        return Report(
            self.is_serving,
            {
                "phase": self._phase(),
                "partitions": assigned,
                "partitions_open": opened,
                "scanned_bytes": node.partitions.recovered_bytes,
            },
        )

    def _phase(self) -> str:
        node = self._node
        if self.is_serving:
            return "serving"
        if node.quorum.leader_id is None:
            return "waiting for a controller"
        if node.lifecycle.epoch < 0:
            return "registering"
        if not node.follower.is_in_step:
            return "opening partitions"
        if node.lifecycle.is_fenced:
            return "waiting to be unfenced"
        return "waiting for other voters"

    def ready(self) -> Report:
        node = self._node
        reasons = []
        if not self.is_serving:
            reasons.append(f"starting: {self._phase()}")
        elif node.lifecycle.is_leaving:
            reasons.append("handing over leadership")
        elif node.lifecycle.is_cut_off:
            reasons.append(f"no contact with the controller{self._why_no_controller()}")
        if node.quorum.no_room is not None:
            reasons.append(f"the disk is full: {node.quorum.no_room}")
        refused = node.partitions.refused_appends.recent()
        if refused:
            reasons.append(f"the disk refused appends within a minute: {some(refused)}")
        lacking = [each for each in node.partitions.led if is_under_replicated(node, each)]
        if lacking:
            missing = sorted(
                {id_ for each in lacking for id_ in set(each.replicas) - set(each.isr)}
            )
            where = f"node{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}"
            names = some([each.name for each in lacking])
            reasons.append(f"replicas on {where} are not in sync: {names}")
        behind = list(self._behind()) if self.is_serving else []
        if behind:
            reasons.append(f"this node's replicas are still catching up: {some(behind)}")
        return Report(not reasons, {"reasons": reasons})

    def _why_no_controller(self) -> str:
        quorum = self._node.quorum
        if quorum.leader_id is not None:
            return ""
        voters = quorum.voters
        names = ", ".join(str(key.node_id) for key in voters.keys)
        return (
            f": none is known here, and electing one takes {voters.majority} of the voters {names}"
        )

    def _behind(self) -> Iterator[str]:
        """The partitions of which this node has a replica that is not in sync.

        Only its own replicas are looked at: a large cluster has many more.
        """
        node = self._node
        own = [(each.topic_id, each.index) for each in node.partitions]
        for topic_id, index in (*own, *node.partitions.unopened):
            each = node.image.partition(topic_id, index)
            if (
                each is not None
                and node.node_id in each.replicas
                and node.node_id not in each.isr
                and node.node_id not in each.adding_replicas
            ):
                yield f"{node.image.topics_by_id[topic_id].name}-{index}"
