"""Records of one partition that travel together, from the first one until their fate is known.

While it is open, any thread adds records to it (`RowPacker`). The producer's loop closes it, and
from then on it alone touches the batch. Receipts lead to the batch, so it lets go of the bytes as
soon as it is settled.
"""

from functools import partial
from typing import Protocol

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.batch_result import BatchResult, DeliveryOutcome
from barnabas.client.producer.producer_identity import ANONYMOUS, ProducerIdentity
from barnabas.client.producer.row_packer import MAX_BATCH_BYTES, RowPacker, pack_rows
from barnabas.client.producer.sent_record import Sent
from barnabas.errors import BarnabasError
from barnabas.records.compression import Compression
from barnabas.records.decode import decode_batch
from barnabas.records.packed import PackedRecords
from barnabas.records.record import Record


class BatchOwner(Protocol):
    """Where batches come from."""

    def hurry(self, batch: "PendingBatch") -> None:
        """A caller waits for this batch."""

    def check_thread(self) -> None:
        """Raise if the present thread is the one that sends: it must never wait for itself."""


class PendingBatch(RowPacker[Sent]):
    """`granted` bytes of the buffer are its own, of which it may use `max_bytes`.

    A part of a batch that was cut begins at index `first` of the whole, and shares its settlement.
    """

    __slots__ = (
        "_encoded",
        "_home",
        "_packed",
        "attempts",
        "created_at",
        "first",
        "granted",
        "hurried",
        "last_error",
        "partition",
        "result",
    )

    def __init__(
        self,
        home: BatchOwner,
        partition: TopicPartition,
        created_at: float,
        *,
        granted: int,
        max_records: int,
        part_of: "tuple[BatchResult, int] | None" = None,
    ) -> None:
        super().__init__(Sent, granted, max_records)
        self._home = home
        self.partition = partition
        self.created_at = created_at
        self.granted = granted
        self.hurried = False
        self.attempts = 0
        self.last_error: BarnabasError | None = None
        self._packed: PackedRecords | None = None
        self._encoded: bytearray | None = None
        if part_of is None:
            self.result = BatchResult(partial(home.hurry, self))
            self.first = 0
        else:
            self.result, self.first = part_of

    @classmethod
    def of_packed(
        cls, home: BatchOwner, partition: TopicPartition, created_at: float, packed: PackedRecords
    ) -> "PendingBatch":
        """A batch of records that were packed elsewhere: it is closed, and has no receipts."""
        batch = cls(home, partition, created_at, granted=packed.size, max_records=0)
        batch.close()
        batch._packed = packed
        return batch

    def wait(self, timeout_s: float | None) -> None:
        """Block until it is settled."""
        if not self.result.done:
            self._home.check_thread()
            self.result.wait(timeout_s)

    def grant(self, granted: int) -> None:
        """Let it grow."""
        self.granted += granted
        self.max_bytes = self.granted

    # -- the producer's loop -------------------------------------------------------------------

    @property
    def is_attempted(self) -> bool:
        """Whether it may have reached a broker under the present identity."""
        return self._encoded is not None

    def forget_attempts(self) -> None:
        """Let it be sent under another identity."""
        self._encoded = None

    def pack(self, compression: Compression) -> PackedRecords:
        """Its records, compressed; the batch is closed by it."""
        if self._packed is None:
            self._packed = pack_rows(self, compression)
        return self._packed

    def encode(
        self, compression: Compression, identity: ProducerIdentity, base_sequence: int
    ) -> bytearray:
        """The batch on the wire, made once for all attempts: so brokers know it again."""
        if self._encoded is None:
            self._encoded = self.pack(compression).seal(
                producer_id=identity.producer_id,
                producer_epoch=identity.producer_epoch,
                base_sequence=-1 if identity is ANONYMOUS else base_sequence,
                transactional=identity.transactional,
            )
        return self._encoded

    @property
    def count(self) -> int:
        """How many records it has; to be asked once it is closed."""
        return self.record_count if self._packed is None else self._packed.record_count

    def split(self) -> "tuple[PendingBatch, PendingBatch]":
        """Two halves, for a broker that found the whole too large."""
        assert self._encoded is not None
        rows = decode_batch(self._encoded)
        middle = len(rows) // 2
        self.result.split()
        return self._part(rows[:middle], self.first), self._part(rows[middle:], self.first + middle)

    def _part(self, rows: list[Record], first: int) -> "PendingBatch":
        part = PendingBatch(
            self._home,
            self.partition,
            self.created_at,
            granted=MAX_BATCH_BYTES,
            max_records=len(rows),
            part_of=(self.result, first),
        )
        for row in rows:
            part.add(row.timestamp, row.key, row.value, row.headers)
        part.close()
        part.granted = part.size
        return part

    def delivered(self, base_offset: int, log_append_time_ms: int) -> None:
        """It has arrived."""
        self._settle(
            DeliveryOutcome(
                self.first,
                self.count,
                base_offset=base_offset,
                log_append_time_ms=log_append_time_ms,
            )
        )

    def given_up(self, error: BarnabasError) -> DeliveryOutcome:
        """It will not arrive, as far as anybody knows."""
        outcome = DeliveryOutcome(self.first, self.count, error=error)
        self._settle(outcome)
        return outcome

    def _settle(self, outcome: DeliveryOutcome) -> None:
        self._packed = self._encoded = None
        if self.record_count:
            self.take()  # the bytes of what was never sent
        self.result.settle(outcome)
