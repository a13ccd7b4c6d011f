"""The batches of one partition, which leave in order and one at a time.

So a retry can never overtake what came before it.
"""

from collections import deque

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.pending_batch import PendingBatch
from barnabas.client.producer.producer_identity import ANONYMOUS, ProducerIdentity
from barnabas.records.compression import Compression

_MAX_SEQUENCE = (1 << 31) - 1


class PartitionQueue:
    """Only the first batch may be on its way, and only the last may be open.

    `in_flight` is the batch whose attempt has not ended. If it has failed meanwhile, it is not
    the first one any longer; the next batch still waits for the end of that attempt.

    `next_sequence` counts the records that were delivered under the queue's identity, so it is the
    sequence number of the first batch's first record.

    `gone_since` is when brokers began to say that there is no such partition, if they do.

    `batches` and `open` are changed under the accumulator's lock, all else by the producer's loop.
    """

    __slots__ = (
        "batches",
        "gone_since",
        "identity",
        "in_flight",
        "next_sequence",
        "open",
        "partition",
        "retry_at",
    )

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.batches: deque[PendingBatch] = deque()
        self.open: PendingBatch | None = None
        self.in_flight: PendingBatch | None = None
        self.retry_at = 0.0
        self.gone_since: float | None = None
        self.identity: ProducerIdentity | None = None
        self.next_sequence = 0

    @property
    def first(self) -> PendingBatch:
        return self.batches[0]

    @property
    def is_under_way(self) -> bool:
        """Whether the first batch is flying."""
        return bool(self.batches) and self.batches[0] is self.in_flight

    def encode(self, compression: Compression) -> bytearray:
        """The first batch on the wire."""
        return self.first.encode(compression, self.identity or ANONYMOUS, self.next_sequence)

    def count_delivered(self, count: int) -> None:
        """So many records have arrived under the present identity."""
        self.next_sequence = (self.next_sequence + count) & _MAX_SEQUENCE

    def start_over(self) -> None:
        """Drop the identity: the first batch may have arrived, or brokers have forgotten it.

        What comes next would else have a gap before it that brokers refuse.
        """
        self.identity = None
        self.next_sequence = 0
        if self.batches:
            self.first.forget_attempts()


def requests_of(queues: list[PartitionQueue], request_bytes: int) -> list[list[PartitionQueue]]:
    """Cut `queues` into requests of at most `request_bytes`, a single larger batch aside."""
    groups: list[list[PartitionQueue]] = []
    size = 0
    for queue in queues:
        if not groups or size + queue.first.granted > request_bytes:
            groups.append([])
            size = 0
        groups[-1].append(queue)
        size += queue.first.granted
    return groups
