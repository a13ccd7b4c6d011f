"""One record as the application has it, and what it waits with for an answer."""

import asyncio
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from barnabas.client.producer.sent_record import Sent
from barnabas.client.share.acknowledge_type import AcknowledgeType
from barnabas.client.share.share_session import SharePartition
from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.records.message import Message
from barnabas.records.record import Header

if TYPE_CHECKING:
    from typing import Protocol

    class Settles(Protocol):
        """The settlement, as a message sees it: to be called from any thread."""

        def settle(
            self,
            message: "QueueMessage",
            kind: AcknowledgeType,
            *,
            delay_s: float = 0,
            reason: str | None = None,
            result: object = None,
        ) -> "Acknowledgement": ...


class Acknowledgement:
    """A pending acknowledgement. Wait for the broker's response with `result()` or `await`.

    Waiting is optional: it is sent at once, and a failure is logged. When `result()` has returned,
    the broker has stored it, and an accepted record is never delivered again.
    """

    __slots__ = ("future",)

    def __init__(self) -> None:
        self.future: Future[None] = Future()

    def done(self) -> bool:
        """Whether the broker has answered, or the request has failed."""
        return self.future.done()

    def result(self, timeout_s: float | None = None) -> None:
        """Wait for the response; raises `LockLost` if the record may be delivered again."""
        self.future.result(timeout_s)

    def exception(self, timeout_s: float | None = None) -> BaseException | None:
        """Wait, and return the error, or None if the broker has stored it."""
        return self.future.exception(timeout_s)

    def __await__(self) -> Generator[Any, None, None]:
        return asyncio.shield(asyncio.wrap_future(self.future)).__await__()

    def finish(self, error: BarnabasError | None) -> None:
        """For the core alone: the broker has answered."""
        with suppress(Exception):  # a waiter may have cancelled it
            if error is None:
                self.future.set_result(None)
            else:
                self.future.set_exception(error)

    def follow(self, other: "Acknowledgement") -> None:
        """For the core alone: the answer to the other one is for this one too."""

        def answered(done: "Future[None]") -> None:
            error = done.exception()
            self.finish(error if isinstance(error, BarnabasError) else None)

        other.future.add_done_callback(answered)


class QueueMessage:
    """A record that is locked for this worker until it is accepted, released or rejected.

    None of these calls blocks; each returns an `Acknowledgement`. Call them from any thread.
    Used as a context manager, a message is accepted at the end of the block, and released if the
    block raises.
    """

    __slots__ = (
        "_core",
        "_open",
        "_record",
        "continued_by",
        "deadline",
        "delivery_count",
        "is_delayed",
        "is_delivered",
        "is_renewing",
        "key",
        "node_id",
        "renew_until",
        "source",
        "value",
    )

    def __init__(
        self,
        core: "Settles",
        source: SharePartition,
        record: Message,
        delivery_count: int,
        *,
        node_id: int,
        deadline: float,
        renew_until: float,
    ) -> None:
        self._core = core
        self._record = record
        self._open = [True]  # popped by the first who settles it, whatever its thread
        self.key: Any = record.key
        self.value: Any = record.value
        self.delivery_count = delivery_count
        """How often the record was delivered, this time included."""
        self.source = source
        self.node_id = node_id
        self.deadline = deadline
        self.renew_until = renew_until
        self.continued_by: Sent | None = None
        """The job that was put to continue this one; it is stored before this one is accepted."""
        self.is_delivered = False
        self.is_delayed = False
        self.is_renewing = False

    @property
    def topic(self) -> str:
        return self._record.topic

    @property
    def partition(self) -> int:
        return self._record.partition

    @property
    def offset(self) -> int:
        return self._record.offset

    @property
    def timestamp_ms(self) -> int:
        return self._record.timestamp_ms

    @property
    def timestamp(self) -> datetime:
        """`timestamp_ms` as a datetime in UTC."""
        return self._record.timestamp

    @property
    def headers(self) -> tuple[Header, ...]:
        return self._record.headers

    @property
    def record(self) -> Message:
        """The record with its key and value as bytes."""
        return self._record

    @property
    def is_settled(self) -> bool:
        """Whether it was accepted, released or rejected."""
        return not self._open

    def accept(self, result: Any = None) -> Acknowledgement:
        """The record is done: it is never delivered again.

        If its result was asked for, with `submit`, it is stored first.
        """
        return self._settle(AcknowledgeType.ACCEPT, result=result)

    def release(self, delay: float = 0) -> Acknowledgement:
        """Deliver the record again, to any worker, after `delay` seconds.

        Brokers have no delays: this worker keeps the record locked meanwhile, so it has to run that
        long. If it is closed or dies, the record is delivered sooner. At most 900 seconds.

        After its last delivery, a released record goes to the queue's dead letters; without them,
        the broker drops it (share.delivery.count.limit of the group, 5 by default), and whoever
        has submitted it gets the reason as its result.
        """
        return self._settle(AcknowledgeType.RELEASE, delay_s=delay)

    def reject(self, reason: str | None = None) -> Acknowledgement:
        """The record can't be processed: it is never delivered again.

        A queue with dead letters stores it there first, with the reason.
        """
        return self._settle(AcknowledgeType.REJECT, reason=reason)

    def renew(self) -> Acknowledgement:
        """Restart the lock duration, 30 s by default (share.record.lock.duration.ms).

        The queue does so automatically for `max_lock_renewal_s`.
        """
        if not self._open:
            raise self._settled_already()
        return self._core.settle(self, AcknowledgeType.RENEW)

    def close_once(self) -> bool:
        """For the core: whether this call was the first to settle it."""
        try:
            self._open.pop()
        except IndexError:
            return False
        return True

    def _settle(
        self,
        kind: AcknowledgeType,
        *,
        delay_s: float = 0,
        reason: str | None = None,
        result: object = None,
    ) -> Acknowledgement:
        if not self._open:
            raise self._settled_already()
        return self._core.settle(self, kind, delay_s=delay_s, reason=reason, result=result)

    def _settled_already(self) -> InvalidArgument:
        return InvalidArgument(
            f"the record at offset {self.offset} of {self.source} was accepted, released or "
            "rejected already"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._open:
            return
        if error is None:
            self.accept()
        else:
            self.release()

    def __repr__(self) -> str:
        state = "settled" if self.is_settled else "locked"
        return (
            f"<QueueMessage {self.source} at offset {self.offset}, "
            f"delivery {self.delivery_count}, {state}>"
        )
