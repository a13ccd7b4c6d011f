"""What the transaction coordinator decides: records, replies, and the markers to write."""

from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.coordination.decision import CoordinatorDecision

TopicPartition = tuple[str, int]


class MarkersToWrite(NamedTuple):
    """Markers that the leaders of a transaction's partitions have to write.

    `producer_epoch` is the epoch of the markers. Each write is retried until it succeeds or the
    partition is gone, while the shard is in service and `TransactionShard.awaits` it. Then it is
    reported, once, to `TransactionShard.markers_written` with the same producer id and epoch.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    transaction_version: int
    partitions: frozenset[TopicPartition]


@dataclass(slots=True)
class TransactionDecision(CoordinatorDecision):
    """`markers` do not depend on the decision's records, so they may be sent at once."""

    markers: list[MarkersToWrite] = field(default_factory=list)
