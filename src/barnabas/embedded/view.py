"""How a cluster under test looks to its nodes: leaders, replicas, voters."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from barnabas.embedded.errors import ClusterError
from barnabas.embedded.node import Node
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionData,
    PartitionResult,
    TopicData,
)
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

ResponseT = TypeVar("ResponseT", bound=Response)

_METADATA_TOPIC = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class PartitionState:
    """Who has a partition. `leader` is -1 while there is none."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class View:
    """Every node that may know is asked; the newest answer counts."""

    def __init__(self, nodes: Callable[[], Iterable[Node]]) -> None:
        """`nodes`: those to ask."""
        self._nodes = nodes

    def ask_any(self, request: Request[ResponseT], timeout_s: float = 1.0) -> ResponseT:
        """The first answer."""
        refused: OSError | None = None
        for node in self._nodes():
            try:
                return node.ask(request, timeout_s)
            except OSError as error:
                refused = error
        raise ClusterError("no node answers; resume() or restart() at least one") from refused

    def _answers(self, request: Request[ResponseT]) -> Iterator[ResponseT]:
        for node in self._nodes():
            try:
                yield node.ask(request)
            except OSError:
                continue

    def brokers(self) -> list[frozenset[int]]:
        """The nodes that each node sees."""
        answers = self._answers(MetadataRequest([]))
        return [frozenset(broker.node_id for broker in answer.brokers) for answer in answers]

    def partitions(self, topic: str | None = None) -> dict[tuple[str, int], PartitionState]:
        """Those of a topic, or all."""
        named = None if topic is None else [MetadataRequestTopic(name=topic)]
        newest: dict[tuple[str, int], PartitionState] = {}
        for answer in self._answers(MetadataRequest(named, allow_auto_topic_creation=False)):
            for found in answer.topics:
                for p in found.partitions:
                    key = (found.name or "", p.partition_index)
                    state = PartitionState(
                        p.leader_id, p.leader_epoch, tuple(p.replica_nodes), tuple(p.isr_nodes)
                    )
                    if key not in newest or newest[key].leader_epoch <= state.leader_epoch:
                        newest[key] = state
        return newest

    def is_led_everywhere(self, topic: str, partitions: int) -> bool:
        """Whether every node knows a leader for each partition of the topic."""
        question = MetadataRequest([MetadataRequestTopic(name=topic)], False)
        answers = list(self._answers(question))
        led = [[p for p in answer.topics[0].partitions if p.leader_id >= 0] for answer in answers]
        return bool(led) and all(len(found) == partitions for found in led)

    def out_of_sync(self) -> dict[tuple[str, int], PartitionState]:
        """The partitions that lack a leader, or a replica in their in-sync set."""
        return {
            key: state
            for key, state in self.partitions().items()
            if state.leader < 0 or set(state.isr) != set(state.replicas)
        }

    def quorum(self) -> PartitionResult | None:
        """The metadata log's voters, as the node sees them that knows the newest epoch."""
        question = DescribeQuorumRequest([TopicData(_METADATA_TOPIC, [PartitionData(0)])])
        answers = self._answers(question)
        found = [p for answer in answers for topic in answer.topics for p in topic.partitions]
        return max(found, key=lambda p: p.leader_epoch, default=None)

    def lagging_voters(self) -> list[int] | None:
        """The voters that lack committed metadata; None if that is unknown."""
        quorum = self.quorum()
        if quorum is None or quorum.leader_id < 0:
            return None
        least = quorum.high_watermark
        return [v.replica_id for v in quorum.current_voters if v.log_end_offset < least]
