"""Reading messages."""

# Made from ../aio/consumer.py by `make sync`: change it there.

from collections.abc import Callable, Collection, Iterable, Iterator
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.option_checks import check_number
from barnabas.client.consumer.consumer_core import CLOSE_TIMEOUT_S
from barnabas.client.consumer.consumer_options import (
    CommitName,
    DataLossName,
    IsolationName,
    core_of,
)
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.consumer.rebalancer import PartitionChange, RebalanceEvent
from barnabas.client.consumer.streams import By, StreamQueue, Streams
from barnabas.client.offsets.offset_spec import Where
from barnabas.errors import ClientClosed, InvalidArgument
from barnabas.formats import Format, FormatName
from barnabas.records.message import Message
from barnabas.sync.positions import PositionsAndOffsets
from barnabas.sync.streams import Stream

if TYPE_CHECKING:
    import pyarrow as pa

_GOODBYE_S = 5.0  # for whoever is interrupted or cancelled

Callback = Callable[[list[TopicPartition]], object]


class Consumer(PositionsAndOffsets):
    """Reads messages of topics, alone or as a member of a group.

        with barnabas.Consumer("localhost:9092", "orders", group="billing") as consumer:
            for message in consumer:
                print(message.key, message.value)

    The loop waits for new messages and never ends by itself. A group shares the partitions among
    its members, and keeps in committed offsets what is done:

    - `commit="auto"`: a message is done when the next one is asked for, a list of them when the
      next list is, and all when the block is left without an exception. A message whose handler
      raised is read again.
    - `commit="done"`: a message is done when `done(message)` was called, in any order, by any
      thread. What is committed is the smallest offset that is not done.
    - `commit="manual"`: nothing is committed but by `commit()`, or by a producer's transaction.

    Whatever happens, a crash leads to messages being read again, never to their being passed over.
    Without a group, all partitions are read from `start` on and nothing is committed.

    A handler may take as long as it likes, and may block: membership is kept in another thread.
    When the group rebalances meanwhile, that waits for the handler, and is done without it shortly
    before `rebalance_timeout_ms` is over.

    One thread uses a consumer at a time, except for `done`; `streams` serves several.
    """

    def __init__(
        self,
        bootstrap_servers: BootstrapServers = "localhost:9092",
        topics: str | Iterable[str] = (),
        *,
        group: str | None = None,
        start: Where = "earliest",
        on_data_loss: DataLossName = "raise",
        commit: CommitName = "auto",
        commit_interval_ms: int = 5_000,
        isolation: IsolationName = "read_committed",
        instance_id: str | None = None,
        session_timeout_ms: int = 45_000,
        rebalance_timeout_ms: int = 60_000,
        assignors: Iterable[str] = ("range", "roundrobin"),
        on_assigned: Callback | None = None,
        on_revoked: Callback | None = None,
        on_lost: Callback | None = None,
        key_format: FormatName | Format = "bytes",
        value_format: FormatName | Format = "bytes",
        max_wait_ms: int = 500,
        min_bytes: int = 1,
        max_bytes: int = 50 * 1024 * 1024,
        partition_max_bytes: int = 4 * 1024 * 1024,
        close_timeout_s: float = CLOSE_TIMEOUT_S,
        client_id: str = "barnabas",
    ) -> None:
        """Nothing is connected before the first use.

        - `start`: where to begin where nothing is committed: "earliest", "latest" or a datetime.
        - `on_data_loss`: what to do when what comes next was deleted before it was read.
        - `isolation`: "read_uncommitted" also shows what open and aborted transactions wrote.
        - `instance_id` makes a static member: one that comes back in time under the same name gets
          its partitions back, and nobody is disturbed.
        - `on_revoked`: partitions are about to go, and may be committed; `on_assigned`: these are
          here now; `on_lost`: these went without notice, and others may read them. They are called
          while the application waits for messages, with a list of `TopicPartition`.
        - `max_wait_ms`, `min_bytes`: a broker answers when it has so many bytes, or the time is
          over. `max_bytes`, `partition_max_bytes`: how much it sends at most.
        - `close_timeout_s`: how long the last commit may take when brokers do not answer. Then
          closing raises, and what was done last is read again.

        A consumer makes no topics. It waits for those that are not there, and names them in the log
        after three seconds; what is in them by then is read from its beginning.
        """
        core = core_of(
            bootstrap_servers,
            topics,
            group=group,
            start=start,
            on_data_loss=on_data_loss,
            commit=commit,
            commit_interval_ms=commit_interval_ms,
            isolation=isolation,
            instance_id=instance_id,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            assignors=assignors,
            key_format=key_format,
            value_format=value_format,
            tuning=FetchTuning(max_wait_ms, min_bytes, max_bytes, partition_max_bytes),
            close_timeout_s=close_timeout_s,
            client_id=client_id,
        )
        self._callbacks = {
            PartitionChange.ASSIGNED: on_assigned,
            PartitionChange.REVOKED: on_revoked,
            PartitionChange.LOST: on_lost,
        }
        self._has_streams = False
        super().__init__(core)

    def close(self) -> None:
        """Commit what is done, leave the group, and leave nothing behind.

        With `commit="auto"`, the message or list that came last is not done by this: it may be that
        its handler failed. Only leaving the block without an exception says that it did not.
        """
        on_revoked = self._callbacks[PartitionChange.REVOKED]
        try:
            if on_revoked is not None and not self._registration.closed and self._core.assignment:
                self._call(on_revoked, self._core.assignment)
        finally:
            super().close()

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self._delivery_queue.finish_at_end()
        elif not isinstance(error, Exception):  # somebody is impatient
            self._core.close_timeout_s = min(self._core.close_timeout_s, _GOODBYE_S)
        super().__exit__(error_type, error, traceback)

    # -- reading -------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Message]:
        """Message after message; ends only when somebody closes the consumer."""
        delivery_queue = self._begin_reading()
        while True:
            for message in delivery_queue.rest:
                delivery_queue.current = message
                yield message
            delivery_queue.settle()
            self._breathe()
            while not delivery_queue.refill():
                try:
                    self._wait_for_messages(None)
                except ClientClosed:
                    return

    def poll(self, timeout_s: float = 1.0, max_records: int | None = None) -> list[Message]:
        """Messages as soon as there are any; an empty list if there are none in that time.

        Those beyond `max_records` come next time.
        """
        check_number("timeout_s", timeout_s)
        delivery_queue = self._begin_reading()
        delivery_queue.settle()
        self._breathe()
        messages = delivery_queue.take(max_records)
        deadline = monotonic() + timeout_s
        while not messages:
            left_s = max(0.0, deadline - monotonic())
            self._wait_for_messages(left_s)
            messages = delivery_queue.take(max_records)
            if not left_s:
                break
        return messages

    def poll_table(
        self, timeout_s: float = 1.0, columns: Collection[str] | None = None
    ) -> "pa.Table":
        """What `poll` would give, as an Arrow table: much faster, if there is much.

            table = consumer.poll_table(columns=["key", "value"])

        There are key, value, headers, topic, partition, offset, timestamp and timestampType, as
        Spark has them; keys and values are binary, formats do not apply. A table counts as one
        list of messages does: it is done when the next one is asked for. Not for commit="done".
        Needs pyarrow: pip install 'barnabas[arrow]'.
        """
        from barnabas.client.consumer.table_poll import TablePoll

        check_number("timeout_s", timeout_s)
        delivery_queue = self._begin_reading()
        polling = TablePoll(delivery_queue, columns)
        delivery_queue.settle()
        self._breathe()
        polling.take()
        deadline = monotonic() + timeout_s
        while not polling.rows:
            left_s = max(0.0, deadline - monotonic())
            self._wait_for_messages(left_s)
            polling.take()
            if not left_s:
                break
        return polling.finish()

    def batches(self, max_records: int | None = None) -> Iterator[list[Message]]:
        """List after list, none of them empty; waits for new messages and never ends by itself."""
        while True:
            messages = self.poll(3600.0, max_records)
            if messages:
                yield messages

    def streams(self, count: int, *, by: By = "key") -> list[Stream]:
        """Share the messages out to so many iterators, each for a thread or task of its own.

            for stream in consumer.streams(8):
                start(work, stream)

        By key, messages with the same key come in one stream, in order, and there may be more
        streams than partitions. By partition, each partition comes in one stream. With
        `commit="auto"`, a message is done when its stream is asked for the next one.
        """
        self._begin_reading()
        streams = Streams(self._core, count, by)
        self._has_streams = True

        def wait_for_messages(stream_queue: StreamQueue) -> None:
            event = self._wait(streams.wait_for_messages(stream_queue))
            if event is not None:
                self._tell(event)

        return [
            Stream(streams, stream_queue, wait_for_messages)
            for stream_queue in streams.stream_queues
        ]

    def _begin_reading(self) -> DeliveryQueue:
        self._registration.check()
        if self._has_streams:
            raise InvalidArgument("this consumer is read by its streams")
        if not self._core.is_assigned:
            raise InvalidArgument("nothing to read: give the consumer topics, or assign partitions")
        return self._delivery_queue

    def _wait_for_messages(self, timeout_s: float | None) -> None:
        """Wait for messages; callbacks run here."""
        timeout_ms = None if timeout_s is None else timeout_s * 1000
        event = self._wait(self._core.wait_for_messages(timeout_ms))
        if event is not None:
            self._tell(event)

    def _tell(self, event: RebalanceEvent) -> None:
        try:
            callback = self._callbacks[event.change]
            if callback is not None:
                self._call(callback, event.partitions)
        finally:
            self._wait(self._core.event_handled())
