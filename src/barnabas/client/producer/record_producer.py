"""The producer: records in, batches out, and something to wait for each record with.

Any thread may send; all else happens in one loop. Records of one partition keep their order, across
retries too, because only one batch of a partition is under way at a time.

With acks=all the producer is idempotent: it has an id from the cluster and numbers its records, so
that a batch whose answer got lost and which is sent again is stored once. With other acks, or where
brokers give no ids, it may be stored twice.

With a transactional id, records are sent in transactions: see
`barnabas.client.producer.transaction`.

    record_row, topic_routes    which partition a record goes to, and the batch that is open there
    accumulator                 queues of batches, bounded by a buffer
    sender, batch_completion    the loop: requests, answers, retries
    batch_result, sent_record   what callers wait for
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from time import time_ns
from types import TracebackType
from typing import Self

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.option_checks import check_at_least
from barnabas.client.producer.accumulator import Accumulator
from barnabas.client.producer.batch_completion import BatchCompletion, DeliveryCount
from barnabas.client.producer.batch_result import BatchResult
from barnabas.client.producer.producer_counts import ProducerCounts
from barnabas.client.producer.producer_identities import ProducerIdentities
from barnabas.client.producer.record_row import row_of, size_of
from barnabas.client.producer.send_buffer import SendBuffer
from barnabas.client.producer.sender import METADATA_MAX_AGE_MS, Sender
from barnabas.client.producer.sent_record import Sent
from barnabas.client.producer.topic_routes import TopicRoute, TopicRoutes
from barnabas.client.producer.transaction import ProducerTransaction, TransactionConsumer
from barnabas.client.producer.transactional_id import TransactionalId
from barnabas.errors import BarnabasError, ClientClosed, DeliveryFailed, InvalidArgument
from barnabas.records.compression import Compression
from barnabas.records.murmur2 import partition_for_key
from barnabas.records.packed import PackedRecords
from barnabas.records.record import Headers

ACKS_ALL = -1
MAX_REQUEST_BYTES = 100 * 1024 * 1024
"""What a broker reads by default; it hangs up on a larger request without a word."""

REQUEST_BYTES = 8 * 1024 * 1024
"""Batches to one broker share a request up to this size."""

_NS_PER_MS = 1_000_000

Partitioner = Callable[[str, bytes | None, bytes | None, int], int]
"""Says where a record goes: topic, key, value and the number of partitions, for one of them."""


class RecordProducer:
    """Use it as an async context manager: leaving it sends what is left.

    `batch_bytes` is also about what one partition can have under way, so it bounds throughput at
    `batch_bytes` for each round trip. `max_request_bytes` is the brokers' socket.request.max.bytes:
    a record that needs more, uncompressed, is refused at once.

    Entering it with a `transactional_id` takes that id over from its last owner, and a transaction
    that is not ended within `transaction_timeout_ms` is rolled back by its coordinator. With None
    it is not: that is for transactions that are prepared, and ended when that is decided elsewhere.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        *,
        acks: int = ACKS_ALL,
        compression: Compression = Compression.NONE,
        linger_ms: float = 5,
        batch_bytes: int = 1_000_000,
        batch_records: int | None = None,
        buffer_bytes: int = 32 * 1024 * 1024,
        request_bytes: int = REQUEST_BYTES,
        max_request_bytes: int = MAX_REQUEST_BYTES,
        delivery_timeout_ms: int = 120_000,
        metadata_max_age_ms: int = METADATA_MAX_AGE_MS,
        partitioner: Partitioner | None = None,
        idempotent: bool | None = None,
        auto_create: bool = True,
        transactional_id: str | None = None,
        transaction_timeout_ms: int | None = 60_000,
    ) -> None:
        if acks not in (ACKS_ALL, 0, 1):
            raise InvalidArgument(f"acks={acks}: it must be 0, 1 or -1 (all)")
        if transactional_id is not None and acks != ACKS_ALL:
            raise InvalidArgument(f'acks={acks}: transactions need acks="all"')
        if idempotent and acks != ACKS_ALL:
            raise InvalidArgument(f'acks={acks}: idempotent=True needs acks="all"')
        if transactional_id is not None and idempotent is False:
            raise InvalidArgument("idempotent=False: transactions need an idempotent producer")
        check_at_least(0, linger_ms=linger_ms)
        check_at_least(
            1,
            batch_bytes=batch_bytes,
            batch_records=batch_records,
            buffer_bytes=buffer_bytes,
            delivery_timeout_ms=delivery_timeout_ms,
            transaction_timeout_ms=transaction_timeout_ms,
        )
        if transactional_id == "":
            raise InvalidArgument("transactional_id is empty: give it a name, or leave it out")
        self.routes = TopicRoutes()
        self.batch_bytes = batch_bytes
        self.compression = compression
        self.max_request_bytes = max_request_bytes
        self.partitioner = partitioner
        self._cluster = cluster
        self._auto_create = auto_create
        self._accumulator = Accumulator(
            monotonic=cluster.environment.monotonic,
            batch_bytes=batch_bytes,
            batch_records=batch_records,
            buffer_bytes=buffer_bytes,
            linger_ms=linger_ms,
            delivery_timeout_ms=delivery_timeout_ms,
            gate=self._check_open,
            on_close=self.routes.closed,
        )
        self.counts = ProducerCounts()
        anonymous = acks != ACKS_ALL or idempotent is False
        self._completion = BatchCompletion(
            cluster,
            self._accumulator,
            self.routes,
            ProducerIdentities(cluster, anonymous=anonymous),
            self.counts,
            auto_create=auto_create,
        )
        self._sender = Sender(
            cluster,
            self._accumulator,
            self.routes,
            self._completion,
            self.counts,
            acks=acks,
            compression=compression,
            request_bytes=request_bytes,
            metadata_max_age_ms=metadata_max_age_ms,
            transactional_id=transactional_id,
        )
        self._closed = False
        self._transaction: ProducerTransaction | None = None
        self._transactional: TransactionalId | None = None
        if transactional_id is not None:
            self._transactional = TransactionalId(
                cluster, transactional_id, timeout_ms=transaction_timeout_ms
            )

    @property
    def count(self) -> DeliveryCount:
        """How many records were delivered, and how many failed so far."""
        return self._completion.count

    @property
    def buffer(self) -> SendBuffer:
        return self._accumulator.buffer

    @property
    def is_transactional(self) -> bool:
        return self._transactional is not None

    def take_unreported(self) -> DeliveryFailed | None:
        """The failures that were not reported yet, to be raised; they count as reported then.

        In a transaction, its end reports them.
        """
        unreported = self._completion.unreported.take()
        return None if self.is_transactional else unreported

    # -- life ----------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close(0 if isinstance(error, asyncio.CancelledError) else None)

    async def start(self) -> None:
        """Begin to send, in the running loop."""
        if self._transactional is not None:
            await self._transactional.start()
        self._sender.start()

    async def close(self, timeout_s: float | None = None) -> None:
        """Send what is left, for this long at most, and give the rest up.

        A transaction that is open is rolled back.
        """
        try:
            if self._transaction is not None and self._transaction.is_open:
                await self._transaction.abort()
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(timeout_s):
                        await self.flush()
        finally:
            self._closed = True
            await self._sender.stop()
            self._completion.abandon(ClientClosed("the producer was closed before that"))
            if self._transactional is not None:
                await self._transactional.close()

    async def flush(self) -> None:
        """Send everything now and wait until each record is delivered or has failed."""
        for batch in self._accumulator.close_all():
            await batch.result.future()
        if self._sender.broken is not None:
            raise self._sender.broken

    # -- transactions --------------------------------------------------------------------------

    def transaction(self, consumer: TransactionConsumer | None = None) -> ProducerTransaction:
        """A transaction, to be used as an async context manager; one at a time.

        It takes along the offsets that `consumer` marks.
        """
        if self._transactional is None:
            raise InvalidArgument("transactions need a producer with a transactional_id")
        return ProducerTransaction(self, self._transactional, consumer)

    def begin(self, transaction: ProducerTransaction) -> None:
        """Let all that is sent from now on belong to a transaction of this producer."""
        if self._transactional is not None and self._transactional.broken is not None:
            raise self._transactional.broken
        if self._transaction is not None and not self._transaction.has_ended:
            raise InvalidArgument("another transaction is open: commit it or roll it back first")
        self._completion.identities = self._transaction = transaction

    def close_batches(self) -> None:
        """Close the open batches, so that the next send checks if it is still allowed."""
        self._accumulator.close_all()

    async def discard(self, error: BarnabasError) -> bool:
        """Fail all records, once the attempts in flight have ended; says if some may have arrived.

        The caller has made sure that nothing is retried.
        """
        attempted = await self._completion.discard(error)
        if self._sender.broken is not None:
            raise self._sender.broken
        return attempted

    # -- sending -------------------------------------------------------------------------------

    async def route(self, topic: str, partition: int | None = None) -> TopicRoute:
        """What is known of a topic, which is asked for once.

        For a partition that is not known it is asked again, as it may be new.
        """
        route = self.routes.get(topic)
        if route is None:
            if not isinstance(topic, str):
                raise TypeError(f"a topic is a str, not {type(topic).__name__}")
            self._check_open()
            route = self.routes.learn(
                await self._cluster.retrying(
                    lambda: self._cluster.topic(topic, auto_create=self._auto_create, needs="write")
                )
            )
        elif partition is not None and partition >= len(route.adds):
            route = self.routes.learn((await self._cluster.topics([topic]))[topic])
        if partition is not None:
            route.partition(partition)
        return route

    async def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Sent:
        """Queue a record.

        Waits only for room in the buffer, and once per topic for its metadata. Raises at once for
        what can never be delivered: an unknown topic or partition, a record of enormous size.
        """
        route = await self.route(topic, partition)
        sent = await self._accumulator.when_there_is_room(
            lambda in_turn: self._add(
                route, value, key, headers, partition, timestamp_ms, in_turn=in_turn
            )
        )
        if sent.index == 0:
            await asyncio.sleep(0)  # a tight loop of sends would keep the others waiting
        return sent

    def try_send_packed(self, partition: TopicPartition, packed: PackedRecords) -> bool:
        """Queue a batch that was packed elsewhere, from any thread, if the buffer has room."""
        return self._accumulator.add_packed(partition, packed) is not None

    async def send_packed(self, partition: TopicPartition, packed: PackedRecords) -> BatchResult:
        """Queue a batch that was packed elsewhere; waits for room in the buffer."""
        batch = await self._accumulator.when_there_is_room(
            lambda in_turn: self._accumulator.add_packed(partition, packed, in_turn=in_turn)
        )
        return batch.result

    def try_send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Headers,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> Sent | None:
        """Queue a record from any thread; None if that needs waiting, as `send` does."""
        route = self.routes.get(topic)
        if route is None or (partition is not None and partition >= len(route.adds)):
            return None
        return self._add(route, value, key, headers, partition, timestamp_ms, in_turn=False)

    def _add(
        self,
        route: TopicRoute,
        value: bytes | None,
        key: bytes | None,
        headers: Headers,
        partition: int | None,
        timestamp_ms: int | None,
        *,
        in_turn: bool,
    ) -> Sent | None:
        if timestamp_ms is None:
            timestamp_ms = time_ns() // _NS_PER_MS
        row = row_of(timestamp_ms, key, value, headers)
        size = size_of(row, self.max_request_bytes)
        if partition is None and self.partitioner is not None:
            partition = self.partitioner(route.topic.name, row[1], row[2], len(route.adds))
        keyless = False
        if partition is not None:
            where = route.partition(partition)
        elif row[1] is not None:
            where = route.partition(partition_for_key(row[1], len(route.adds)))
        else:
            keyless = True
            where = self.routes.keyless_partition(route)
            if self._accumulator.close_if_full(where, size):
                where = self.routes.keyless_partition(route)
        added = self._accumulator.add(where, row, size, in_turn=in_turn)
        if added is None:
            return None
        sent, batch = added
        self.routes.opened(route, batch, keyless=keyless)
        return sent

    def _check_open(self) -> None:
        """Raise if nothing may be sent now."""
        if self._sender.broken is not None:
            raise self._sender.broken
        if self._closed:
            raise ClientClosed("this producer is closed: make a new one")
        if self._transactional is not None:
            if self._transaction is None:
                raise InvalidArgument("begin a transaction first: with producer.transaction(): ...")
            self._transaction.raise_unless_usable()
