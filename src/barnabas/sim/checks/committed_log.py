"""What is committed in a partition, batch by batch, and what a replica has stored."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.broker.replica.partition import Partition
from barnabas.records.batch import BatchHeader
from barnabas.records.decode import iter_batches

_READ_BYTES = 1 << 20


class Batch(NamedTuple):
    """What a batch is known by, wherever it stands."""

    base_offset: int
    next_offset: int
    epoch: int
    crc: int


class CommittedLog:
    """What is committed in a partition, for ever."""

    def __init__(self) -> None:
        self.start_offset = 0
        self.batches: list[Batch] = []
        self.by_base: dict[int, Batch] = {}
        self._epochs: list[int] = []
        """The epoch of the leader that was the first to call each batch committed."""
        self._unseen: list[tuple[int, int]] = []
        """Offsets of records that were committed and deleted in the same turn of their leader."""

    def add(self, batch: Batch, leader_epoch: int) -> None:
        self.batches.append(batch)
        self.by_base[batch.base_offset] = batch
        last = self._epochs[-1] if self._epochs else leader_epoch
        self._epochs.append(max(last, leader_epoch))

    def skip_deleted(self, start_offset: int) -> None:
        """The leader has deleted what is below `start_offset`, some of it before it was seen."""
        if start_offset > self.end_offset:
            self._unseen.append((self.end_offset, start_offset))

    def is_unseen(self, offset: int) -> bool:
        return any(first <= offset < end for first, end in self._unseen)

    @property
    def end_offset(self) -> int:
        end = self.batches[-1].next_offset if self.batches else self.start_offset
        return max(end, self._unseen[-1][1]) if self._unseen else end

    @property
    def last_epoch(self) -> int:
        return self.batches[-1].epoch if self.batches else -1

    def batch_at(self, offset: int) -> Batch | None:
        index = bisect_right(self.batches, offset, key=lambda batch: batch.base_offset) - 1
        return self.batches[index] if index >= 0 else None

    def end_before(self, leader_epoch: int) -> int:
        """What a leader must have from its first moment on: all that was committed before.

        A node may learn late that it was to lead, when others have led and committed since.
        """
        count = bisect_left(self._epochs, leader_epoch)
        return self.batches[count - 1].next_offset if count else self.start_offset


def batch_of(header: BatchHeader) -> Batch:
    return Batch(header.base_offset, header.next_offset, header.partition_leader_epoch, header.crc)


def batches_of(partition: Partition, start: int, end: int) -> list[Batch]:
    return [batch_of(header) for header, _ in stored_batches(partition, start, end)]


def stored_batches(
    partition: Partition, start: int, end: int
) -> Iterator[tuple[BatchHeader, memoryview]]:
    while start < end:
        data = partition.log.read(start, _READ_BYTES, upto_offset=end)
        if not data:
            return
        for header, view in iter_batches(data):
            yield header, view
            start = header.next_offset
