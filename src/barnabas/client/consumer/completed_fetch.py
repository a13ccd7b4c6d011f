"""What a broker has sent of one partition, and the messages in it.

The core's thread only looks at lengths. Batches are opened by the thread that hands the messages
out, one at a time: a large answer is never in memory twice as a whole.
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.consumer.partition_progress import PartitionProgress
from barnabas.client.offsets.isolation import AbortedTransactions
from barnabas.errors import CorruptRecords
from barnabas.records.batch import (
    HEADER_SIZE,
    LENGTH_PREFIX,
    BatchHeader,
    Buffer,
    parse_header,
)
from barnabas.records.decode import decode_messages, iter_batches
from barnabas.records.errors import RecordsError
from barnabas.records.message import Message
from barnabas.wire.messages.fetch import AbortedTransaction
from barnabas.wire.primitives import ZERO_UUID

_LENGTH = Struct(">i")
_LENGTH_AT = 8


class FetchState:
    """A partition that is being read. `epoch` changes when what is under way no longer counts."""

    __slots__ = (
        "epoch",
        "follower_until",
        "high_watermark",
        "leader",
        "led_until",
        "offset",
        "other_since",
        "partition",
        "paused",
        "progress",
        "topic_id",
    )

    def __init__(self, partition: TopicPartition, progress: PartitionProgress) -> None:
        self.partition = partition
        self.progress = progress
        self.offset = progress.position
        """What is fetched next: ahead of what was handed out."""
        self.epoch = 0
        self.paused = False
        self.leader: int | None = None
        """The broker to read from, which is a follower while `follower_until` is set."""
        self.follower_until: float | None = None
        self.led_until = 0.0
        """Until when no follower is asked for, after one has failed."""
        self.high_watermark = -1
        self.topic_id = ZERO_UUID
        """What to ask the leader for; zeros where the cluster has no ids."""
        self.other_since: float | None = None
        """Since when brokers tell of another topic of this name."""

    @property
    def has_undelivered(self) -> bool:
        """Whether the application has not had all that was fetched."""
        return self.progress.position < self.offset


class CompletedFetch(NamedTuple):
    """Whole batches of one partition as they came, from the one that holds `start` on."""

    state: FetchState
    epoch: int
    start: int
    next_offset: int
    data: Buffer
    aborted: Sequence[AbortedTransaction]
    high_watermark: int

    @property
    def is_current(self) -> bool:
        """Whether it still is what its partition is to be read from."""
        return self.epoch == self.state.epoch


def end_of(data: Buffer) -> int | None:
    """The offset behind the last whole batch; None if there is none."""
    end = len(data)
    at, last = 0, -1
    while end - at >= HEADER_SIZE:
        size = LENGTH_PREFIX + int(_LENGTH.unpack_from(data, at + _LENGTH_AT)[0])
        if size < HEADER_SIZE or size > end - at:
            break
        last = at
        at += size
    return None if last < 0 else parse_header(data, last).next_offset


def visible_batches(completed: CompletedFetch) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The batches that are for applications: no markers, and nothing of aborted transactions."""
    aborted = AbortedTransactions(completed.aborted)
    for header, batch in iter_batches(completed.data):
        if not aborted.hide(header, batch) and not header.is_control:
            yield header, batch


class CompletedFetchReader:
    """Decodes a completed fetch batch by batch. An error leaves the position where it was."""

    def __init__(self, completed: CompletedFetch) -> None:
        self.completed = completed
        self.progress = completed.state.progress
        self.position = completed.start
        """The offset from which on messages come next."""
        self._batches = visible_batches(completed)

    def read(self) -> list[Message]:
        """The messages of the next batch that has any; none at the end."""
        topic, partition = self.completed.state.partition
        try:
            for header, batch in self._batches:
                if header.next_offset <= self.position:
                    continue
                messages = decode_messages(batch, topic, partition, self.position)
                if messages:
                    self.position = header.next_offset
                    return messages
        except RecordsError as error:
            self.go_back_to(self.position)
            raise damaged(self.completed, self.position, error) from error
        self.position = self.completed.next_offset
        return []

    def read_batch(self) -> tuple[int, memoryview] | None:
        """The next batch as it is, and the offset from which on its records count."""
        for header, batch in self._batches:
            if header.next_offset > self.position:
                start, self.position = self.position, header.next_offset
                return start, batch
        self.position = self.completed.next_offset
        return None

    def go_back_to(self, position: int) -> None:
        """Let the message at this offset come next."""
        self.position = position
        self._batches = visible_batches(self.completed)


def damaged(completed: CompletedFetch, offset: int, error: RecordsError) -> CorruptRecords:
    """What to say of it, and how to go past it."""
    message = (
        f"partition {completed.state.partition}: the batch at offset {offset} is damaged ({error})"
    )
    behind = _behind(completed, offset)
    if behind is not None:
        message += (
            f"; to skip it, continue at offset {behind} (seek, or `barnabas consume --offset`); "
            "to remove it from the log, run `barnabas log repair` on its nodes"
        )
    return CorruptRecords(message)


def _behind(completed: CompletedFetch, offset: int) -> int | None:
    """The offset behind the batch that holds `offset`; None if the batch is not to be seen."""
    try:
        for header, _ in iter_batches(completed.data):
            if header.next_offset > offset:
                return header.next_offset
    except RecordsError:
        return None
    return None
