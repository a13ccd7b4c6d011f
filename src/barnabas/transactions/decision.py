"""What the transaction coordinator decides: a decision, and the markers that follow from it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.coordination.decision import CoordinatorDecision

TopicPartition = tuple[str, int]


class MarkersToWrite(NamedTuple):
    """How a transaction ended, to be written to its partitions by their leaders.

    `producer_epoch` goes into the markers. Each partition is tried until it is written or gone,
    for as long as the shard lives and `TransactionShard.awaits` it, and is then reported, once,
    to `TransactionShard.markers_written` with the same producer id and epoch.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    transaction_version: int
    partitions: frozenset[TopicPartition]


@dataclass(slots=True)
class TransactionDecision(CoordinatorDecision):
    """`markers` rest on nothing that is not persisted yet, so they may be sent at once."""

    markers: list[MarkersToWrite] = field(default_factory=list)
