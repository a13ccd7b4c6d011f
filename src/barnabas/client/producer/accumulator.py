"""Records on their way out: a queue of batches for every partition, and a bound on them all.

Any thread adds records; one loop, the producer's, takes batches out and settles them. A lock
guards which batches there are. Adding to an open batch that has room needs no lock: callers keep
its `add`, and come here when that declines.

`Accumulator` knows nothing of sockets; the producer's loop asks it what is ready.
"""

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import TypeVar

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.partition_queue import PartitionQueue
from barnabas.client.producer.pending_batch import PendingBatch
from barnabas.client.producer.row_packer import MAX_BATCH_BYTES
from barnabas.client.producer.send_buffer import SendBuffer
from barnabas.client.producer.sent_record import Sent
from barnabas.client.producer.wakeup import Wakeup
from barnabas.records.batch import HEADER_SIZE
from barnabas.records.packed import PackedRecords
from barnabas.records.record import Row

T = TypeVar("T")


class Accumulator:
    """All partition queues.

    `gate` is asked before a batch is opened, and raises if nothing may be sent now. `on_close` is
    told of every batch that is closed. Both are called under the lock.
    """

    def __init__(
        self,
        *,
        batch_bytes: int,
        batch_records: int | None,
        buffer_bytes: int,
        linger_ms: float,
        delivery_timeout_ms: int,
        gate: Callable[[], None],
        on_close: Callable[[TopicPartition], None],
        monotonic: Callable[[], float] = monotonic,
    ) -> None:
        self._monotonic = monotonic
        self.linger_s = linger_ms / 1000
        self.delivery_timeout_s = delivery_timeout_ms / 1000
        self.buffer = SendBuffer(buffer_bytes)
        self._batch_bytes = batch_bytes
        self._batch_records = MAX_BATCH_BYTES if batch_records is None else batch_records
        self._gate = gate
        self._on_close = on_close
        self._lock = Lock()
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._busy: dict[TopicPartition, PartitionQueue] = {}  # those with batches
        self._wakeup = Wakeup()

    def start(self) -> None:
        """Belong to the running loop from now on."""
        self._wakeup.start()

    # -- any thread ----------------------------------------------------------------------------

    def add(
        self, partition: TopicPartition, row: Row, size: int, *, in_turn: bool = False
    ) -> tuple[Sent, PendingBatch] | None:
        """Queue a record; None if the buffer has no room for it. `size` is its `max_record_size`.

        Gives the open batch as well, to add to as long as it takes something.
        """
        with self._lock:
            queue = self._queue(partition)
            while (batch := self._with_room(queue, size, in_turn)) is not None:
                sent = self._add(queue, batch, row)
                if sent is not None:
                    return sent, batch
                # Others, who need no lock, were faster and have used the room.
            return None

    def add_packed(
        self, partition: TopicPartition, packed: PackedRecords, *, in_turn: bool = False
    ) -> PendingBatch | None:
        """Queue a batch behind what was added before; None if the buffer has no room for it."""
        with self._lock:
            self._gate()
            if not self.buffer.take(packed.size, packed.size, in_turn=in_turn):
                return None
            queue = self._queue(partition)
            if queue.open is not None:
                self._close(queue, queue.open)
            batch = PendingBatch.of_packed(self, partition, self._monotonic(), packed)
            queue.batches.append(batch)
            self._busy[partition] = queue
        self.wake()
        return batch

    def _queue(self, partition: TopicPartition) -> PartitionQueue:
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = PartitionQueue(partition)
        return queue

    def _add(self, queue: PartitionQueue, batch: PendingBatch, row: Row) -> Sent | None:
        is_last = batch.record_count >= self._batch_records - 1
        if is_last:
            batch.max_records = self._batch_records
        sent = batch.add(*row)
        if is_last:
            self._close(queue, batch)
            self.wake()
        return sent

    def _with_room(self, queue: PartitionQueue, size: int, in_turn: bool) -> PendingBatch | None:
        batch = queue.open
        if batch is None or self._close_if_full(queue, batch, size):
            return self._open(queue, size, in_turn)
        missing = batch.size + size - batch.granted
        if missing > 0:
            wanted = self._batch_bytes - batch.granted
            granted = self.buffer.take(missing, wanted, in_turn=in_turn)
            if not granted:
                return None
            batch.grant(granted)
        return batch

    def _open(self, queue: PartitionQueue, size: int, in_turn: bool) -> PendingBatch | None:
        self._gate()
        granted = self.buffer.take(HEADER_SIZE + size, self._batch_bytes, in_turn=in_turn)
        if not granted:
            return None
        batch = PendingBatch(
            self,
            queue.partition,
            self._monotonic(),
            granted=granted,
            max_records=self._batch_records - 1,  # the last one comes here, to close it
        )
        queue.batches.append(batch)
        queue.open = batch
        self._busy[queue.partition] = queue
        self.wake()
        return batch

    def close_if_full(self, partition: TopicPartition, size: int) -> bool:
        """Whether a record of this size does not fit into the open batch, which is closed then."""
        with self._lock:
            queue = self._queues.get(partition)
            batch = None if queue is None else queue.open
            if queue is None or batch is None:
                return False
            return self._close_if_full(queue, batch, size)

    def _close_if_full(self, queue: PartitionQueue, batch: PendingBatch, size: int) -> bool:
        is_full = batch.size + size > max(self._batch_bytes, batch.granted)
        if is_full:
            self._close(queue, batch)
            self.wake()
        return is_full

    def _close(self, queue: PartitionQueue, batch: PendingBatch) -> None:
        batch.close()
        self.buffer.give_back(batch.granted - batch.size)
        batch.granted = batch.size
        queue.open = None
        self._on_close(queue.partition)

    def hurry(self, batch: PendingBatch) -> None:
        """A caller waits for this batch: it must not linger."""
        if not batch.hurried:
            batch.hurried = True
            self.wake()

    def check_thread(self) -> None:
        """Raise if the present thread is the one that sends: it must never wait for itself."""
        self._wakeup.check_thread()

    def wake(self) -> None:
        """Let the producer's loop look what is ready."""
        self._wakeup.call()

    # -- the producer's loop -------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        return not self._busy

    async def when_there_is_room(self, attempt: Callable[[bool], T | None]) -> T:
        """What an attempt to add something gives, as soon as it is not None.

        Its argument is whether it is in turn: waiting callers come before new ones.
        """
        waited = False
        try:
            while (added := attempt(waited)) is None:
                self.wake()
                await self.buffer.wait(again=waited)
                waited = True
            return added
        finally:
            if waited:
                self.buffer.call_next()

    async def wait(self) -> None:
        """Sleep until `wake` is called, or a batch becomes ready by time alone."""
        with self._lock:
            due_at = min(map(self._due_at, self._busy.values()), default=None)
        await self._wakeup.wait(None if due_at is None else max(due_at - self._monotonic(), 0.001))

    def _due_at(self, queue: PartitionQueue) -> float:
        """When there is something to do about the first batch by time alone."""
        expires_at = queue.first.created_at + self.delivery_timeout_s
        if queue.in_flight is not None:
            return expires_at
        return min(expires_at, max(queue.retry_at, self._ready_at(queue)))

    def _ready_at(self, queue: PartitionQueue) -> float:
        """When the first batch has lingered long enough, apart from pauses."""
        batch = queue.first
        if batch is not queue.open or batch.hurried or self.buffer.is_pressing:
            return 0.0
        return batch.created_at + self.linger_s

    def take_ready(self, now: float) -> list[PartitionQueue]:
        """Lanes whose first batch leaves now: full, old enough, or wanted. They are flying."""
        with self._lock:
            ready = [
                queue
                for queue in self._busy.values()
                if queue.in_flight is None
                and queue.retry_at <= now
                and self._ready_at(queue) <= now
            ]
            for queue in ready:
                queue.in_flight = queue.first
                if queue.first is queue.open:
                    self._close(queue, queue.first)
        if ready:
            self.buffer.call_next()
        return ready

    def expired(self, now: float) -> list[PartitionQueue]:
        """Lanes whose first batch has had its time, whether it is under way or not."""
        with self._lock:
            return [
                queue
                for queue in self._busy.values()
                if queue.first.created_at + self.delivery_timeout_s <= now
            ]

    def close_all(self) -> list[PendingBatch]:
        """Let all that was added leave now; the batches that are not settled yet."""
        with self._lock:
            for queue in self._busy.values():
                if queue.open is not None:
                    self._close(queue, queue.open)
            batches = [batch for queue in self._busy.values() for batch in queue.batches]
        self.wake()
        return batches

    def take_first(self, queue: PartitionQueue) -> PendingBatch:
        """Take the first batch out, to settle it."""
        with self._lock:
            batch = self._pop(queue)
        self.buffer.call_next()
        return batch

    def take_resting(self) -> list[PendingBatch]:
        """Take out all that is not on its way, to give it up."""
        taken: list[PendingBatch] = []
        with self._lock:
            for queue in list(self._busy.values()):
                under_way = [queue.batches.popleft()] if queue.is_under_way else []
                while queue.batches:
                    taken.append(self._pop(queue))
                if under_way:
                    queue.batches.extend(under_way)
                    self._busy[queue.partition] = queue
        self.buffer.call_next()
        return taken

    def take_all(self) -> list[PendingBatch]:
        """Take out all batches, when no thread sends any more."""
        for queue in self._busy.values():
            queue.in_flight = None
        return self.take_resting()

    def split_first(self, queue: PartitionQueue) -> None:
        """Put two halves in the place of the first batch."""
        halves = queue.first.split()
        with self._lock:
            whole = queue.batches.popleft()
            queue.batches.extendleft(reversed(halves))
            self.buffer.give_back(whole.granted - sum(half.granted for half in halves))

    def _pop(self, queue: PartitionQueue) -> PendingBatch:
        batch = queue.batches.popleft()
        if batch is queue.open:
            self._close(queue, batch)
        self.buffer.give_back(batch.granted)
        if not queue.batches:
            del self._busy[queue.partition]
        return batch
