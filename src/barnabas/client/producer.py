"""The producer: records in, batches out, a future for every record.

Records of one partition keep their order, across retries too, because only one batch of a
partition is under way at a time; batches of many partitions share a request to their leader. A
batch that is refused as too large is cut in halves, down to single records.

With acks=all the producer is idempotent: it has an id from the cluster and numbers its records, so
that a batch whose answer got lost and which is sent again is stored once. With other acks, or where
brokers give no ids, it may be stored twice.

With a transactional id, records are sent in transactions: see `barnabas.client.transaction`.
"""

import asyncio
from collections import defaultdict
from collections.abc import Coroutine
from dataclasses import dataclass
from time import monotonic, time
from types import TracebackType
from typing import Self

from barnabas.client.accumulator import Accumulator, Delivery, Lane, requests_of
from barnabas.client.backoff import BUSY_PAUSE_MS, FIRST_PAUSE_MS, pause_before
from barnabas.client.cluster import Channel, Cluster
from barnabas.client.errors import (
    BarnabasError,
    BrokerError,
    DeliveryTimedOut,
    InvalidArgument,
    RecordTooLarge,
    broker_error,
    is_busy,
)
from barnabas.client.group_consumer import GroupConsumer
from barnabas.client.metadata import Topic, TopicPartition
from barnabas.client.partitioner import StickyPartitioner
from barnabas.client.producer_identities import Identities, ProducerIdentities
from barnabas.client.transaction import Transaction
from barnabas.client.transactional_id import TransactionalId
from barnabas.records.compression import Compression
from barnabas.records.encode import max_record_size
from barnabas.records.murmur2 import partition_for_key
from barnabas.records.record import Headers
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

ACKS_ALL = -1
MAX_REQUEST_BYTES = 100 * 1024 * 1024
"""What a broker reads by default; it hangs up on a larger request without a word."""

_REQUEST_OVERHEAD_BYTES = 64 * 1024  # more than a request has around one record


@dataclass(slots=True)
class DeliveryCount:
    """How many records arrived, how many were given up, and why the first of them was."""

    delivered: int = 0
    failed: int = 0
    first_error: BarnabasError | None = None


class Producer:
    """Use it as an async context manager: leaving it sends what is left.

    `batch_bytes` is also about what one partition can have under way, so it bounds throughput at
    `batch_bytes` for each round trip. `max_request_bytes` is the brokers' socket.request.max.bytes:
    a record that needs more, uncompressed, is refused at once.

    Entering it with a `transactional_id` takes that id over from whoever had it, and a transaction
    that is not ended within `transaction_timeout_ms` is rolled back by its coordinator.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        acks: int = ACKS_ALL,
        compression: Compression = Compression.NONE,
        linger_ms: float = 5,
        batch_bytes: int = 128 * 1024,
        buffer_bytes: int = 32 * 1024 * 1024,
        request_bytes: int = 1024 * 1024,
        max_request_bytes: int = MAX_REQUEST_BYTES,
        delivery_timeout_ms: int = 120_000,
        auto_create: bool = True,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
    ) -> None:
        if acks not in (ACKS_ALL, 0, 1):
            raise InvalidArgument(f"acks={acks}: it must be 0, 1 or -1 (all)")
        if transactional_id is not None and acks != ACKS_ALL:
            raise InvalidArgument(f"acks={acks}: transactions need -1 (all)")
        self.count = DeliveryCount()
        self._cluster = cluster
        self._acks = acks
        self._compression = compression
        self._request_bytes = request_bytes
        self._max_request_bytes = max_request_bytes
        self._delivery_timeout_ms = delivery_timeout_ms
        self._auto_create = auto_create
        self._accumulator = Accumulator(
            batch_bytes=batch_bytes, buffer_bytes=buffer_bytes, linger_ms=linger_ms
        )
        self._sticky = StickyPartitioner()
        self._topics: dict[str, Topic] = {}
        self._flushing = 0
        self._wake = asyncio.Event()
        self._progress = asyncio.Event()
        self._requests: set[asyncio.Task[None]] = set()
        self._sender: asyncio.Task[None] | None = None
        self._broken: BaseException | None = None
        self._channel = Channel()  # an acknowledgement may wait for other brokers
        self._identities: Identities = ProducerIdentities(cluster, anonymous=acks != ACKS_ALL)
        self._transaction: Transaction | None = None
        self._transactional: TransactionalId | None = None
        if transactional_id is not None:
            self._transactional = TransactionalId(
                cluster, transactional_id, timeout_ms=transaction_timeout_ms
            )

    async def __aenter__(self) -> Self:
        if self._transactional is not None:
            await self._transactional.start()
        self._sender = asyncio.create_task(self._send_forever())
        self._sender.add_done_callback(self._end_task)
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._transactional is not None:
                if self._transaction is not None and self._transaction.is_open:
                    await self._transaction.abort()
            elif error_type is None or not issubclass(error_type, asyncio.CancelledError):
                await self.flush()
        finally:
            tasks = [*self._requests, *([self._sender] if self._sender else [])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._cluster.close_channel(self._channel)
            if self._transactional is not None:
                await self._transactional.close()

    def transaction(self, consumer: GroupConsumer | None = None) -> Transaction:
        """A transaction, to be used as an async context manager; one at a time.

        It takes along the offsets that `consumer` marks.
        """
        if self._transactional is None:
            raise InvalidArgument("transactions need a producer with a transactional_id")
        return Transaction(self, self._transactional, consumer)

    def begin(self, transaction: Transaction) -> None:
        """Let all that is sent from now on belong to a transaction of this producer."""
        if self._transactional is not None and self._transactional.broken is not None:
            raise self._transactional.broken
        if self._transaction is not None and not self._transaction.has_ended:
            raise InvalidArgument("another transaction is open: commit it or roll it back first")
        self._identities = self._transaction = transaction

    async def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> "asyncio.Future[Delivery]":
        """Queue a record and return the future of its delivery.

        Waits only for room in the buffer, and once per topic for its metadata. Raises at once for
        what can never be delivered: an unknown topic or partition, a record of enormous size.
        """
        accumulator = self._accumulator
        while not accumulator.has_room:
            await accumulator.wait_for_room()
        self._raise_if_broken()
        known = self._topics.get(topic)
        if known is None:
            known = await self._cluster.topic(topic, auto_create=self._auto_create)
            self._topics[topic] = known
        if partition is None:
            if key is None:
                partition = self._sticky.partition(known)
            else:
                partition = partition_for_key(key, len(known.partitions))
        elif not 0 <= partition < len(known.partitions):
            raise InvalidArgument(
                f"partition {partition}: {topic} has {len(known.partitions)}, counted from 0"
            )
        if timestamp_ms is None:
            timestamp_ms = int(time() * 1000)
        elif not 0 <= timestamp_ms < 1 << 63:
            raise InvalidArgument(f"timestamp {timestamp_ms} is no time in milliseconds")
        size = max_record_size(key, value, headers)
        if size > self._max_request_bytes - _REQUEST_OVERHEAD_BYTES:
            raise RecordTooLarge(
                f"a record of {size} bytes makes a larger request than the "
                f"{self._max_request_bytes} bytes that a broker reads "
                "(socket.request.max.bytes; one record is bounded by max.message.bytes as well)"
            )
        if self._transactional is not None:
            if self._transaction is None:
                raise InvalidArgument("begin a transaction first: async with p.transaction(): ...")
            self._transaction.raise_unless_usable()
        row = (timestamp_ms, key, value, headers)
        added = accumulator.add(TopicPartition(topic, partition), row, size, monotonic())
        if added.opened:
            self._wake.set()
        if added.filled:
            self._wake.set()
            if key is None:
                self._sticky.advance(known)
            await asyncio.sleep(0)  # a caller in a tight loop would else keep the sender waiting
        return added.future

    async def flush(self) -> None:
        """Send everything now and wait until each record is delivered or given up."""
        self._flushing += 1
        try:
            while not self._accumulator.is_empty:
                self._raise_if_broken()
                self._progress.clear()
                self._wake.set()
                await self._progress.wait()
        finally:
            self._flushing -= 1

    async def discard(self, error: BarnabasError) -> bool:
        """Give everything up, once its attempt under way has ended; says if some may have arrived.

        Whoever does this has seen to it that nothing is tried again.
        """
        attempted = False
        while True:
            discarded = self._accumulator.discard(error)
            self.count.failed += sum(len(batch.rows) for batch in discarded)
            attempted = attempted or any(batch.attempts > 0 for batch in discarded)
            if self._accumulator.is_empty:
                return attempted
            self._raise_if_broken()
            self._progress.clear()
            await self._progress.wait()

    def _raise_if_broken(self) -> None:
        if self._broken is not None:
            raise RuntimeError("the producer is broken, some records are lost") from self._broken

    def _end_task(self, task: "asyncio.Task[None]") -> None:
        """A task that fails in an unforeseen way would leave `flush` waiting forever."""
        self._requests.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._broken = task.exception()
            self._progress.set()

    # -- sending -------------------------------------------------------------------------------

    async def _send_forever(self) -> None:
        while True:
            self._wake.clear()
            now = monotonic()
            self._expire(now)
            ready = list(self._accumulator.ready(now, flushing=self._flushing > 0))
            if ready:
                await self._dispatch(ready)
            await self._sleep_until(self._accumulator.next_ready_at())

    async def _sleep_until(self, when: float | None) -> None:
        timeout = None if when is None else max(when - monotonic(), 0.001)
        try:
            async with asyncio.timeout(timeout):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _dispatch(self, ready: list[Lane]) -> None:
        by_leader: defaultdict[int, list[Lane]] = defaultdict(list)
        astray: list[tuple[Lane, BarnabasError]] = []
        for lane in ready:
            try:
                by_leader[await self._cluster.leader(lane.partition)].append(lane)
            except BarnabasError as error:
                astray.append((lane, error))
        for node_id, lanes in by_leader.items():
            for group in requests_of(lanes, self._request_bytes):
                self._start(group, self._request(node_id, group))
        if astray:
            self._start([lane for lane, _ in astray], self._settle_failures(astray))

    def _start(self, lanes: list[Lane], work: Coroutine[None, None, None]) -> None:
        """Let a task take care of the first batches of these lanes."""
        for lane in lanes:
            lane.in_flight = True
            lane.batches[0].closed = True
            self._sticky.leave(lane.partition)
        task = asyncio.create_task(work)
        self._requests.add(task)
        task.add_done_callback(self._end_task)

    async def _request(self, node_id: int, lanes: list[Lane]) -> None:
        try:
            connection = await self._cluster.connection(node_id, self._channel)
            request = await self._produce_request(lanes)
            if self._acks == 0:
                await connection.post(request, max_version=self._identities.produce_version)
                for lane in lanes:
                    self.count.delivered += self._accumulator.delivered(lane, -1, -1)
            else:
                answer = connection.send(
                    request,
                    max_version=self._identities.produce_version,
                    timeout_ms=self._cluster.request_timeout_ms,
                )
                partitions = [lane.partition for lane in lanes]
                await self._settle(
                    lanes, await self._cluster.while_leading(node_id, partitions, answer)
                )
        except BarnabasError as error:
            await self._settle_failures([(lane, error) for lane in lanes])
        finally:
            self._progress.set()
            self._wake.set()

    async def _produce_request(self, lanes: list[Lane]) -> ProduceRequest:
        await self._identities.introduce(lanes)
        topics: defaultdict[str, list[PartitionProduceData]] = defaultdict(list)
        for lane in lanes:
            topics[lane.partition.topic].append(
                PartitionProduceData(lane.partition.partition, lane.encode(self._compression))
            )
        owner = self._transactional
        return ProduceRequest(
            transactional_id=None if owner is None else owner.transactional_id,
            acks=self._acks,
            timeout_ms=self._cluster.request_timeout_ms,
            topic_data=[
                TopicProduceData(name=name, partition_data=d) for name, d in topics.items()
            ],
        )

    async def _settle(self, lanes: list[Lane], response: ProduceResponse) -> None:
        answers = {
            TopicPartition(topic.name, partition.index): partition
            for topic in response.responses
            for partition in topic.partition_responses
        }
        failures: list[tuple[Lane, BarnabasError]] = []
        for lane in lanes:
            answer = answers.get(lane.partition)
            if answer is None:
                error = broker_error(-1, f"partition {lane.partition}", "the broker left it out")
                failures.append((lane, error))
            elif answer.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                self.count.delivered += self._accumulator.delivered(
                    lane, answer.base_offset, answer.log_append_time_ms
                )
            elif self._can_split(lane, answer):
                self._accumulator.split_first(lane)
            else:
                error = broker_error(
                    answer.error_code, f"partition {lane.partition}", answer.error_message
                )
                failures.append((lane, error))
        await self._settle_failures(failures)

    def _can_split(self, lane: Lane, answer: PartitionProduceResponse) -> bool:
        too_large = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
        return answer.error_code in too_large and len(lane.batches[0].rows) > 1

    async def _settle_failures(self, failures: list[tuple[Lane, BarnabasError]]) -> None:
        """Give batches up, or put them off for another attempt, with fresh metadata."""
        self._progress.set()
        self._wake.set()  # others of the same request may go on
        again: list[Lane] = []
        for lane, error in failures:
            expired = self._expired(lane, monotonic())
            if self._identities.may_retry(lane, error) and not expired:
                lane.batches[0].attempts += 1
                lane.batches[0].last_error = error
                again.append(lane)
                self._cluster.on_retry(error, monotonic() - lane.batches[0].created_at)
            else:
                self._give_up(lane, error)
        if not again:
            return
        busy = all(is_busy(error) for lane, error in failures if lane in again)
        try:
            # Nobody else takes these lanes meanwhile: they are still counted as under way.
            if not busy:
                await self._cluster.look_around({lane.partition.topic for lane in again})
        except BarnabasError as error:
            for lane in again:
                self._give_up(lane, error)
            return
        for lane in again:
            lane.in_flight = False
            lane.retry_at = monotonic() + pause_before(
                lane.batches[0].attempts, BUSY_PAUSE_MS if busy else FIRST_PAUSE_MS
            )
            known = self._cluster.known_topic(lane.partition.topic)
            if known is not None:
                self._topics[lane.partition.topic] = known
        self._progress.set()
        self._wake.set()

    def _expired(self, lane: Lane, now: float) -> bool:
        return (now - lane.batches[0].created_at) * 1000 >= self._delivery_timeout_ms

    def _expire(self, now: float) -> None:
        for lane in list(self._accumulator.ready(now, flushing=True)):
            if self._expired(lane, now):
                message = (
                    f"partition {lane.partition}: not delivered in {self._delivery_timeout_ms} ms"
                )
                reason = lane.batches[0].last_error
                if reason is not None:
                    message += f"; the last attempt: {reason}"
                self._give_up(lane, DeliveryTimedOut(message))

    def _give_up(self, lane: Lane, error: BarnabasError) -> None:
        self._identities.gave_up(lane, error)
        self.count.failed += self._accumulator.failed(lane, error)
        if self.count.first_error is None:
            self.count.first_error = error
        if isinstance(error, BrokerError) and not error.retriable:
            self._topics.pop(lane.partition.topic, None)
        self._progress.set()
