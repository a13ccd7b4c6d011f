"""Reading messages."""

# Made from ../aio/consumer.py by `make sync`: change it there.

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Unpack, overload

from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.option_checks import check_number
from barnabas.client.connect.security_settings import SecurityValue
from barnabas.client.consumer.consumer_core import CLOSE_TIMEOUT_S
from barnabas.client.consumer.consumer_options import (
    CommitName,
    ConsumerOptions,
    DataLossName,
    GroupProtocolName,
    IsolationName,
    core_of,
)
from barnabas.client.consumer.delivery_queue import DeliveryQueue
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.consumer.rebalancer import PartitionChange, RebalanceEvent
from barnabas.client.consumer.streams import By, StreamQueue, Streams
from barnabas.client.offsets.offset_spec import Where
from barnabas.errors import ClientClosed, InvalidArgument
from barnabas.formats import Format, FormatName, SchemaNotLoadedError, choose, registry_of
from barnabas.records.message import K, Message, V
from barnabas.sync.positions import PositionsAndOffsets
from barnabas.sync.streams import Stream

if TYPE_CHECKING:
    import pyarrow as pa

    from barnabas.formats import Registry

_GOODBYE_S = 5.0  # for closing after an interrupt or a cancellation

Callback = Callable[[list[TopicPartition]], object]


class Consumer(PositionsAndOffsets, Generic[K, V]):
    """Reads messages from topics, alone or as a member of a group.

        with barnabas.Consumer("localhost:9092", "orders", group="billing") as consumer:
            for message in consumer:
                print(message.key, message.value)

    The loop waits for new messages and does not end on its own. A group divides the partitions
    among its members, and stores its progress in committed offsets:

    - `commit="auto"`: a message is done when you ask for the next one, a list when you ask for the
      next list, and everything when you leave the block without an exception. A message whose
      handler raised is read again.
    - `commit="done"`: a message is done when you call `done(message)`, in any order, from any
      thread. The smallest offset that is not done is committed.
    - `commit="manual"`: only `commit()`, or a producer's transaction, commits.

    After a crash, messages may be read again; none is skipped. Without a group, the consumer reads
    all partitions from `start` on and commits nothing.

    A handler may take long, and may block: a background thread sends heartbeats. A rebalance waits
    for the handler, and continues without it shortly before `rebalance_timeout_ms`.

    One thread uses a consumer at a time, except for `done`; `streams` serves several.
    """

    @overload
    def __init__(
        self: "Consumer[bytes, bytes]",
        bootstrap_servers: BootstrapServers = "localhost:9092",
        topics: str | Iterable[str] = (),
        **options: Unpack[ConsumerOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: "Consumer[bytes, V]",
        bootstrap_servers: BootstrapServers = "localhost:9092",
        topics: str | Iterable[str] = (),
        *,
        value: type[V] | Format[V],
        value_format: FormatName = "bytes",
        **options: Unpack[ConsumerOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: "Consumer[K, bytes]",
        bootstrap_servers: BootstrapServers = "localhost:9092",
        topics: str | Iterable[str] = (),
        *,
        key: type[K] | Format[K],
        key_format: FormatName = "bytes",
        **options: Unpack[ConsumerOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: "Consumer[K, V]",
        bootstrap_servers: BootstrapServers = "localhost:9092",
        topics: str | Iterable[str] = (),
        *,
        key: type[K] | Format[K],
        value: type[V] | Format[V],
        key_format: FormatName = "bytes",
        value_format: FormatName = "bytes",
        **options: Unpack[ConsumerOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: "Consumer[Any, Any]",
        bootstrap_servers: BootstrapServers = "localhost:9092",
        topics: str | Iterable[str] = (),
        *,
        key: type[Any] | Format[Any] | None = None,
        value: type[Any] | Format[Any] | None = None,
        key_format: FormatName | Format = "bytes",
        value_format: FormatName | Format = "bytes",
        **options: Unpack[ConsumerOptions],
    ) -> None: ...

    def __init__(
        self,
        bootstrap_servers: BootstrapServers = "localhost:9092",
        topics: str | Iterable[str] = (),
        *,
        pattern: str | None = None,
        group: str | None = None,
        start: Where = "earliest",
        on_data_loss: DataLossName = "raise",
        commit: CommitName = "auto",
        commit_interval_ms: int = 5_000,
        isolation: IsolationName = "read_committed",
        instance_id: str | None = None,
        group_protocol: GroupProtocolName = "classic",
        group_remote_assignor: str | None = None,
        client_rack: str = "",
        session_timeout_ms: int | None = None,
        rebalance_timeout_ms: int = 60_000,
        max_poll_interval_ms: int | None = None,
        assignors: Iterable[str] | None = None,
        on_assigned: Callback | None = None,
        on_revoked: Callback | None = None,
        on_lost: Callback | None = None,
        key: type[K] | Format[K] | None = None,
        value: type[V] | Format[V] | None = None,
        key_format: FormatName | Format = "bytes",
        value_format: FormatName | Format = "bytes",
        registry: "str | Registry | None" = None,
        max_wait_ms: int = 500,
        min_bytes: int = 1,
        max_bytes: int = 50 * 1024 * 1024,
        partition_max_bytes: int = 4 * 1024 * 1024,
        close_timeout_s: float = CLOSE_TIMEOUT_S,
        client_id: str = "barnabas",
        security: Mapping[str, SecurityValue] | None = None,
    ) -> None:
        """The client connects when it is first used.

        - `pattern`: read all topics whose full name matches this regular expression, including
          topics created later. It needs a group. In the consumer protocol the coordinator matches
          it (RE2); in the classic protocol each member does (Python's `re`), without internal
          topics.
        - `start`: where to start without a committed offset: "earliest", "latest" or a datetime.
        - `on_data_loss`: what to do if the next records were deleted before they were read.
        - `isolation`: "read_uncommitted" also returns records of open and aborted transactions.
        - `instance_id`: static membership. A member that returns in time with the same id keeps its
          partitions, without a rebalance.
        - `group_protocol`: "consumer" (KIP-848): in a rebalance only the partitions that move stop,
          and the coordinator assigns them, with `group_remote_assignor` ("uniform" or "range"; by
          default the group's). "classic": the members assign, with the first of `assignors`
          ("range", "roundrobin") that all support; they stop for a rebalance. The session timeout
          is `session_timeout_ms` (45 s) in the classic protocol, otherwise a broker setting.
        - `client_rack`: the rack of this consumer, as in `broker.rack`. It reads from a replica in
          that rack, and `uniform` prefers partitions that have one.
        - `max_poll_interval_ms`: in the consumer protocol, leave the group if the application does
          not poll for longer than this. By default it stays, however long that takes.
        - `on_assigned`: partitions were assigned; `on_revoked`: they are about to be revoked, and
          can still be committed; `on_lost`: they were lost, and others may read them. Called with a
          list of `TopicPartition`, while the application waits for messages.
        - `key`, `value`: their types, such as `value=Order`: a dataclass, a pydantic model, a
          msgspec struct, a TypedDict, a protobuf class, `str`. A record that does not match raises
          `UndecodableRecord`, with the field; see `barnabas.formats`.
        - `key_format`, `value_format`: a named format instead, or a custom `Format` object.
        - `registry`: the URL of a schema registry, or a `barnabas.formats.Registry` with options,
          for the formats "avro", "json-schema" and "protobuf", also with a type.
        - `max_wait_ms`, `min_bytes`: a broker answers a fetch once it has this many bytes, or after
          this time. `max_bytes`, `partition_max_bytes`: maximum size of the response.
        - `close_timeout_s`: how long closing retries the last commit if no broker answers. Then it
          raises an error, and the last messages are read again.
        - `security`: Kafka's client settings for encryption and authentication, such as
          {"security.protocol": "SSL", "ssl.ca.location": "ca.pem"}.

        A consumer does not create topics. It waits for missing topics, logs their names after three
        seconds, and reads them from the beginning.
        """
        known = registry_of(registry, key_format, value_format)
        core = core_of(
            bootstrap_servers,
            topics,
            pattern=pattern,
            group=group,
            start=start,
            on_data_loss=on_data_loss,
            commit=commit,
            commit_interval_ms=commit_interval_ms,
            isolation=isolation,
            instance_id=instance_id,
            group_protocol=group_protocol,
            group_remote_assignor=group_remote_assignor,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            max_poll_interval_ms=max_poll_interval_ms,
            assignors=assignors,
            key_format=choose(key, key_format, "key", known),
            value_format=choose(value, value_format, "value", known),
            tuning=FetchTuning(max_wait_ms, min_bytes, max_bytes, partition_max_bytes, client_rack),
            close_timeout_s=close_timeout_s,
            client_id=client_id,
            security=security,
        )
        self._callbacks = {
            PartitionChange.ASSIGNED: on_assigned,
            PartitionChange.REVOKED: on_revoked,
            PartitionChange.LOST: on_lost,
        }
        self._has_streams = False
        super().__init__(core)

    def close(self) -> None:
        """Commit what is done, leave the group, and close all connections.

        With `commit="auto"`, this does not count the last message or list as done, because its
        handler may have failed. Leaving the block without an exception does.
        """
        on_revoked = self._callbacks[PartitionChange.REVOKED]
        try:
            known = self._core.known_assignment
            if on_revoked is not None and not self._registration.closed and known:
                self._call(on_revoked, known)
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
        elif not isinstance(error, Exception):  # interrupted: do not take long
            self._core.close_timeout_s = min(self._core.close_timeout_s, _GOODBYE_S)
        super().__exit__(error_type, error, traceback)

    # -- reading -------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Message[K, V]]:
        """Yield messages; ends only when the consumer is closed."""
        delivery_queue = self._begin_reading()
        while True:
            for message in delivery_queue.rest:
                delivery_queue.current = message
                yield message
            delivery_queue.settle()
            self._breathe()
            while not self._refill(delivery_queue):
                try:
                    self._wait_for_messages(None)
                except ClientClosed:
                    return

    def poll(self, timeout_s: float = 1.0, max_records: int | None = None) -> list[Message[K, V]]:
        """Return messages as soon as there are any, or an empty list after `timeout_s`.

        The next call returns messages beyond `max_records`.
        """
        check_number("timeout_s", timeout_s)
        delivery_queue = self._begin_reading()
        delivery_queue.settle()
        self._breathe()
        messages = self._take(delivery_queue, max_records)
        deadline = self._core.monotonic() + timeout_s
        while not messages:
            left_s = max(0.0, deadline - self._core.monotonic())
            self._wait_for_messages(left_s)
            messages = self._take(delivery_queue, max_records)
            if not left_s:
                break
        return messages

    def poll_table(
        self, timeout_s: float = 1.0, columns: Collection[str] | None = None
    ) -> "pa.Table":
        """Like `poll`, but returns an Arrow table: much faster for many messages.

            table = consumer.poll_table(columns=["key", "value"])

        The columns are key, value, headers, topic, partition, offset, timestamp and timestampType,
        as in Spark; keys and values are binary, and formats do not apply. A table is done when you
        ask for the next one, like a list of messages. Not with commit="done".
        Needs pyarrow: pip install 'barnabas[arrow]'.
        """
        from barnabas.client.consumer.table_poll import TablePoll

        check_number("timeout_s", timeout_s)
        delivery_queue = self._begin_reading()
        polling = TablePoll(delivery_queue, columns)
        delivery_queue.settle()
        self._breathe()
        polling.take()
        deadline = self._core.monotonic() + timeout_s
        while not polling.rows:
            left_s = max(0.0, deadline - self._core.monotonic())
            self._wait_for_messages(left_s)
            polling.take()
            if not left_s:
                break
        return polling.finish()

    def batches(self, max_records: int | None = None) -> Iterator[list[Message[K, V]]]:
        """Yield non-empty lists; waits for new messages and does not end on its own."""
        while True:
            messages = self.poll(3600.0, max_records)
            if messages:
                yield messages

    def streams(self, count: int, *, by: By = "key") -> list[Stream[K, V]]:
        """Split the messages into `count` iterators, each for one thread or task.

            for stream in consumer.streams(8):
                start(work, stream)

        By key, one stream returns all messages with the same key, in order, and there may be more
        streams than partitions. By partition, one stream returns all messages of a partition. With
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
            Stream(streams, stream_queue, wait_for_messages, self._run)
            for stream_queue in streams.stream_queues
        ]

    def _refill(self, delivery_queue: DeliveryQueue) -> bool:
        """A schema that is not known yet is asked for."""
        while True:
            try:
                return delivery_queue.refill()
            except SchemaNotLoadedError as needed:
                self._run(needed.load)

    def _take(self, delivery_queue: DeliveryQueue, max_records: int | None) -> list[Message[K, V]]:
        while True:
            try:
                return delivery_queue.take(max_records)
            except SchemaNotLoadedError as needed:
                self._run(needed.load)

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
