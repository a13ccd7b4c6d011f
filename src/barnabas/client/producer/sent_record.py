"""What `send` returns: a record on its way.

It is made by the compiled kernel where there is one, so it holds only the batch, the record's
index in it and its timestamp.
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.batch_result import BatchResult, DeliveryOutcome
from barnabas.client.producer.row_packer import Receipt, RowPacker
from barnabas.errors import BarnabasError

if TYPE_CHECKING:

    class SentBatch(RowPacker[Receipt]):
        """The batch of a record that was sent, as far as its receipt needs it."""

        partition: TopicPartition
        result: BatchResult

        def wait(self, timeout_s: float | None) -> None:
            """Block until it is delivered or has failed."""


class Delivery(NamedTuple):
    """Where a record was stored. The offset is -1 with acks=0."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class Sent(Receipt):
    """A record that was sent. Wait for it with `result()` or `await`, in any thread or loop.

    Waiting sends the record at once, without lingering. If you do not wait, `flush` and `close`
    raise the failure.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        batch: SentBatch

    def done(self) -> bool:
        """Whether the record is delivered or has failed."""
        return self.batch.result.done

    def result(self, timeout_s: float | None = None) -> Delivery:
        """Wait for the delivery; raises the error if it failed, or TimeoutError."""
        self.batch.wait(timeout_s)
        return self._delivery()

    def exception(self, timeout_s: float | None = None) -> BarnabasError | None:
        """Wait, and return the error, or None if it is delivered."""
        self.batch.wait(timeout_s)
        return self._outcome().error

    def add_done_callback(self, callback: "Callable[[Sent], object]") -> None:
        """Call `callback(sent)` when the record is done, or at once if it already is.

        The callback runs in the sending thread, so it must be quick and not block.
        """
        self.batch.result.call_when_done(self._tell, callback)

    def __await__(self) -> Generator[Any, None, Delivery]:
        result = self.batch.result
        if not result.done:
            yield from result.future()
        return self._delivery()

    def __repr__(self) -> str:
        batch = self.batch
        if not batch.result.done:
            return f"<Sent to {batch.partition}, on its way>"
        outcome = batch.result.outcome_of(self.index)
        if outcome.error is not None:
            return f"<Sent to {batch.partition}, given up: {outcome.error}>"
        return f"<Sent to {batch.partition}, at offset {self._delivery().offset}>"

    def _tell(self, callback: "Callable[[Sent], object]") -> None:
        self._outcome()
        callback(self)

    def _outcome(self) -> DeliveryOutcome:
        outcome = self.batch.result.outcome_of(self.index)
        outcome.seen = True
        return outcome

    def _delivery(self) -> Delivery:
        outcome = self._outcome()
        if outcome.error is not None:
            raise outcome.error.with_traceback(None)  # it may be raised for many records
        offset = outcome.base_offset
        if offset >= 0:
            offset += self.index - outcome.first
        stamped = outcome.log_append_time_ms
        timestamp_ms = stamped if stamped >= 0 else self.timestamp_ms
        return Delivery(*self.batch.partition, offset, timestamp_ms)
