"""The batches of one partition, which leave in order and one at a time.

So a retry can never overtake what came before it.
"""

from collections import deque

from barnabas.client.batch import ANONYMOUS, Batch, ProducerIdentity
from barnabas.client.metadata import TopicPartition
from barnabas.records.compression import Compression

_MAX_SEQUENCE = (1 << 31) - 1


class Lane:
    """Only the first batch may be on its way; only the last may be open.

    `next_sequence` counts the records that were delivered under the lane's identity, so it is the
    sequence number of the first batch's first record.

    `batches` and `open` are changed under the accumulator's lock, all else by the producer's loop.
    """

    __slots__ = (
        "batches",
        "identity",
        "in_flight",
        "next_sequence",
        "open",
        "partition",
        "retry_at",
    )

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.batches: deque[Batch] = deque()
        self.open: Batch | None = None
        self.in_flight = False
        self.retry_at = 0.0
        self.identity: ProducerIdentity | None = None
        self.next_sequence = 0

    @property
    def first(self) -> Batch:
        return self.batches[0]

    def encode(self, compression: Compression) -> bytearray:
        """The first batch on the wire."""
        return self.first.encode(compression, self.identity or ANONYMOUS, self.next_sequence)

    def count_delivered(self, count: int) -> None:
        """So many records have arrived under the present identity."""
        self.next_sequence = (self.next_sequence + count) & _MAX_SEQUENCE

    def start_over(self) -> None:
        """Give the identity up: whether the first batch arrived is unknown, or nobody believes it.

        What comes next would else have a gap before it that brokers refuse.
        """
        self.identity = None
        self.next_sequence = 0
        if self.batches:
            self.first.forget_attempts()


def requests_of(lanes: list[Lane], request_bytes: int) -> list[list[Lane]]:
    """Cut `lanes` into requests of at most `request_bytes`, a single larger batch aside."""
    groups: list[list[Lane]] = []
    size = 0
    for lane in lanes:
        if not groups or size + lane.first.granted > request_bytes:
            groups.append([])
            size = 0
        groups[-1].append(lane)
        size += lane.first.granted
    return groups
