"""Sending records."""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, Unpack, overload

from barnabas.aio.transaction import Transaction
from barnabas.aio.waiting import Client
from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.broker_connection import DEFAULT_REQUEST_TIMEOUT_MS
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.option_checks import check_at_least
from barnabas.client.connect.security_settings import SecurityValue, security_settings
from barnabas.client.metrics.client_metrics import ClientMetrics
from barnabas.client.metrics.producer_metrics import producer_metrics
from barnabas.client.producer.producer_core import ProducerCore
from barnabas.client.producer.producer_options import (
    Acks,
    CompressionName,
    ProducerOptions,
    acks_of,
    compression_of,
)
from barnabas.client.producer.record_producer import Partitioner, RecordProducer
from barnabas.client.producer.sent_record import Sent
from barnabas.client.producer.topic_routes import decline
from barnabas.formats import Format, FormatName, SchemaNotLoadedError, choose, encoder, registry_of
from barnabas.formats.registered.by_topic import TopicEncoders, is_by_topic, topic_encoders
from barnabas.records.message import K, V
from barnabas.records.murmur2 import partition_for_key
from barnabas.records.record import Header
from barnabas.tracing import is_tracing, with_trace

if TYPE_CHECKING:
    from barnabas.aio.consumer import Consumer
    from barnabas.formats import Registry

_GOODBYE_S = 5.0  # for closing after an interrupt or a cancellation


class Producer(Client, Generic[K, V]):
    """Sends records to topics.

        async with barnabas.aio.Producer("localhost:9092") as producer:
            await producer.send("greetings", b"hello", key=b"en")

    Records are sent in the background, in batches; leaving the block waits until all of them are
    delivered. Many threads or tasks may share a producer; that is faster than one producer each.
    """

    @overload
    def __init__(
        self: "Producer[bytes, bytes]",
        bootstrap_servers: BootstrapServers = "localhost:9092",
        **options: Unpack[ProducerOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: "Producer[bytes, V]",
        bootstrap_servers: BootstrapServers = "localhost:9092",
        *,
        value: type[V] | Format[V],
        value_format: FormatName = "bytes",
        **options: Unpack[ProducerOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: "Producer[K, bytes]",
        bootstrap_servers: BootstrapServers = "localhost:9092",
        *,
        key: type[K] | Format[K],
        key_format: FormatName = "bytes",
        **options: Unpack[ProducerOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: "Producer[K, V]",
        bootstrap_servers: BootstrapServers = "localhost:9092",
        *,
        key: type[K] | Format[K],
        value: type[V] | Format[V],
        key_format: FormatName = "bytes",
        value_format: FormatName = "bytes",
        **options: Unpack[ProducerOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: "Producer[Any, Any]",
        bootstrap_servers: BootstrapServers = "localhost:9092",
        *,
        key: type[Any] | Format[Any] | None = None,
        value: type[Any] | Format[Any] | None = None,
        key_format: FormatName | Format = "bytes",
        value_format: FormatName | Format = "bytes",
        **options: Unpack[ProducerOptions],
    ) -> None: ...

    def __init__(
        self,
        bootstrap_servers: BootstrapServers = "localhost:9092",
        *,
        acks: Acks = "all",
        compression: CompressionName = "none",
        linger_ms: float = 5.0,
        batch_bytes: int = 1_000_000,
        batch_records: int | None = None,
        buffer_bytes: int = 32 * 1024 * 1024,
        delivery_timeout_ms: int = 120_000,
        request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS,
        partitioner: Partitioner | None = None,
        idempotent: bool | None = None,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
        key: type[K] | Format[K] | None = None,
        value: type[V] | Format[V] | None = None,
        key_format: FormatName | Format = "bytes",
        value_format: FormatName | Format = "bytes",
        registry: "str | Registry | None" = None,
        auto_create: bool = True,
        client_id: str = "barnabas",
        security: Mapping[str, SecurityValue] | None = None,
    ) -> None:
        """The client connects when it is first used, or when the block is entered.

        - `bootstrap_servers`: HOST:PORT of one or more brokers, separated by commas or as a list.
          One reachable broker is enough.
        - `acks`: which replicas must have a record before it is delivered: "all" in-sync replicas,
          the leader (1), or none (0).
        - `compression`: codec of the batches.
        - `linger_ms`: how long a batch waits for more records. A batch that the application waits
          for, or that is full (`batch_bytes` before compression, or `batch_records`), is sent at
          once.
        - `buffer_bytes`: `send` waits while this many bytes are queued or in flight.
        - `delivery_timeout_ms`: how long a record is retried.
        - `request_timeout_ms`: how long one attempt waits for the response.
        - `partitioner`: a function of topic, key, value (both encoded) and the number of
          partitions that returns a partition. By default the key is hashed as in Kafka (murmur2);
          records without a key are spread over the partitions, batch by batch.
        - `idempotent`: store a retried batch only once. Default: true with acks="all".
        - `transactional_id`: send in transactions; see `transaction`. A new producer with the same
          id fences this one.
        - `transaction_timeout_ms`: a transaction that is open for longer is rolled back.
        - `key`, `value`: their types, such as `value=Order`, which determine the encoding; see
          `barnabas.formats`.
        - `key_format`, `value_format`: a named format instead, or a custom `Format` object.
        - `registry`: the URL of a schema registry, or a `barnabas.formats.Registry` with options,
          for the formats "avro", "json-schema" and "protobuf", also with a type.
        - `auto_create`: allow brokers to create a missing topic.
        - `security`: Kafka's client settings for encryption and authentication, such as
          {"security.protocol": "SSL", "ssl.ca.location": "ca.pem"}.
        """
        self._is_traced = is_tracing()
        known = registry_of(registry, key_format, value_format)
        chosen = choose(key, key_format, "key", known), choose(value, value_format, "value", known)
        self._encode_key = _encoder(chosen[0], key, "key")
        self._encode_value = _encoder(chosen[1], value, "value")
        self._by_topic = topic_encoders(*chosen)
        cluster = ClusterClient(
            bootstrap_servers,
            client_id=client_id,
            request_timeout_ms=request_timeout_ms,
            security=security_settings(security),
        )
        self._producer = RecordProducer(
            cluster,
            acks=acks_of(acks),
            compression=compression_of(compression),
            linger_ms=linger_ms,
            batch_bytes=batch_bytes,
            batch_records=batch_records,
            buffer_bytes=buffer_bytes,
            delivery_timeout_ms=delivery_timeout_ms,
            partitioner=partitioner,
            idempotent=idempotent,
            auto_create=auto_create,
            transactional_id=transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
        )
        self._cluster = cluster
        self._routes = self._producer.routes if partitioner is None else {}
        self._core = ProducerCore(cluster, self._producer)
        super().__init__(self._core, on_fork=self._routes.clear)

    async def send(
        self,
        topic: str,
        value: V | None,
        key: K | None = None,
        *,
        headers: Sequence[Header] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Sent:
        """Queue a record, and return an object to wait for its delivery.

            sent = await producer.send("greetings", b"hello")
            delivery = await sent
            print(delivery.offset)

        It waits only while the buffer is full and, for the first record of a topic, for the
        topic's metadata. A key or value of None is Kafka's null. An invalid record raises at once.
        With OpenTelemetry, the headers carry the current trace context: see `barnabas.tracing`.
        Later failures are raised by `await sent`, or else by `flush` and the end of the block.
        """
        data: Any = value if self._encode_value is None else self._encode_value(value)
        name: Any = key if self._encode_key is None else self._encode_key(key)
        if self._by_topic is not None:
            name, data = await self._encoded(self._by_topic, topic, name, data)
        if self._is_traced:
            headers = with_trace(headers)
        # Most records find an open batch with room. All others, and the unusual, are declined.
        route = self._routes.get(topic)
        if route is not None:
            adds = route.adds
            if partition is not None:
                add = adds[partition] if 0 <= partition < len(adds) else decline
            elif name is None:
                add = route.keyless
            else:
                add = adds[partition_for_key(name, len(adds))] if type(name) is bytes else decline
            sent = add(timestamp_ms, name, data, headers)
            if sent is not None:
                return sent
        self._registration.check()
        sent = self._producer.try_send(topic, data, name, headers, partition, timestamp_ms)
        if sent is not None:
            if sent.index == 0:
                await self._breathe()
            return sent
        return await self._wait(
            self._core.send(topic, data, name, headers, partition, timestamp_ms)
        )

    async def _encoded(
        self, encoders: TopicEncoders, topic: str, key: Any, value: Any
    ) -> tuple[Any, Any]:
        """A schema that is not known yet is asked for."""
        while True:
            try:
                return encoders.encode(topic, key, value)
            except SchemaNotLoadedError as needed:
                await self._run(needed.load)

    async def send_table(self, table: Any, *, topic: str | None = None) -> int:
        """Queue all rows of an Arrow table as records, and return their number.

            table = pyarrow.table({"key": ["de", "en"], "value": ["hallo", "hello"]})
            await producer.send_table(table, topic="greetings")

        The columns are key, value, headers, timestamp, topic and partition; each is optional and
        may contain nulls. `topic` replaces the columns topic and partition; in a table without a
        topic column, the partition column is used. Rows without a partition go where `send` would
        put them. Keys and values are binary or strings; formats do not apply. It waits for room in
        the buffer, and returns when all rows are queued; `flush` waits for their delivery. Needs
        pyarrow: pip install 'barnabas[arrow]'.
        """
        from barnabas.client.producer.table_sender import TableSender

        self._registration.check()
        sending = TableSender(self._producer, table, topic)
        if not sending.is_prepared:
            await self._wait(self._core.start())
            await self._wait(sending.prepare())
        for batch in sending.batches():
            if not sending.try_queue(batch):
                await self._wait(sending.queue(batch))
            await self._breathe()
        return sending.rows

    async def flush(self, timeout_s: float | None = None) -> None:
        """Send all queued records, and wait until they are delivered or have failed.

        Raises `DeliveryFailed` for failures whose results the application did not wait for, and
        TimeoutError after `timeout_s`; sending then continues in the background.
        """
        check_at_least(0, timeout_s=timeout_s)
        await self._wait(self._core.flush(timeout_s))

    def metrics(self) -> ClientMetrics:
        """Counts and times of this producer, named as in Kafka's client metrics.

            producer.metrics()["record-send-total"]
            producer.metrics().prometheus()  # text for a /metrics page

        Does not block; can be called from any thread.
        """
        return producer_metrics(self._cluster, self._producer)

    def transaction(self, consumer: "Consumer | None" = None) -> Transaction:
        """Make all records sent in a block visible together, or not at all.

            async with producer.transaction():
                await producer.send("invoices", b"...")
                await producer.send("stock", b"...")

        Leaving the block commits; an exception rolls back. If the commit fails, the transaction is
        rolled back and `TransactionAborted` is raised; retry if it is `retriable`.

        With a `consumer`, the transaction includes the offsets of all messages that the consumer
        has returned, so each message is processed exactly once. The consumer needs
        commit="manual", and reads the messages again after a rollback.

        The producer needs a `transactional_id`, and can have one open transaction at a time.
        """
        marking = None if consumer is None else consumer._offsets_source
        return Transaction(self, self._core, self._producer.transaction(marking))

    async def __aenter__(self) -> Self:
        try:
            await self._wait(self._core.start())
        except BaseException as error:  # `__aexit__` is not called after a failed `__aenter__`
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def close(self, timeout_s: float | None = None) -> None:
        """Deliver all queued records and release all resources. Calling it twice is safe.

        Records that are not delivered within `timeout_s` fail.
        """
        if timeout_s is not None:
            self._core.close_timeout_s = timeout_s
        await super().close()

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None and not isinstance(error, Exception):
            self._core.close_timeout_s = _GOODBYE_S
        await super().__aexit__(error_type, error, traceback)


def _encoder(
    chosen: FormatName | Format, kind: object, argument: str
) -> Callable[[Any], bytes | None] | None:
    """None stands for bytes as they are, and for what each topic has another schema for."""
    if chosen == "bytes" or is_by_topic(chosen):
        return None
    return encoder(chosen, argument if kind is not None else f"{argument}_format")
