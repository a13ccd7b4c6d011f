"""What a response means for batches: delivered, retried, split, or failed.

`batch_retries` decides on retries. A batch that the broker finds too large is split into halves,
down to single records.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.client.connect.broker_errors import broker_error, is_busy
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.accumulator import Accumulator
from barnabas.client.producer.batch_retries import BatchRetries
from barnabas.client.producer.partition_queue import PartitionQueue
from barnabas.client.producer.pending_batch import PendingBatch
from barnabas.client.producer.producer_counts import ProducerCounts
from barnabas.client.producer.producer_identities import IdentitySource
from barnabas.client.producer.topic_routes import TopicRoutes
from barnabas.client.producer.unreported_failures import UnreportedFailures
from barnabas.errors import BarnabasError, DeliveryTimedOut
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import ProduceResponse

_TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


@dataclass(slots=True)
class DeliveryCount:
    """How many records arrived, how many failed, and the error of the first failure."""

    delivered: int = 0
    failed: int = 0
    first_error: BarnabasError | None = None


def still_in_flight(queues: Iterable[PartitionQueue]) -> list[PartitionQueue]:
    """Those whose batch has not failed meanwhile; the others are free for the next one."""
    under_way: list[PartitionQueue] = []
    for queue in queues:
        if queue.is_under_way:
            under_way.append(queue)
        else:
            queue.in_flight = None
    return under_way


class BatchCompletion:
    """Made by `Producer`. `identities` may be exchanged when nothing is under way."""

    def __init__(
        self,
        cluster: ClusterClient,
        accumulator: Accumulator,
        routes: TopicRoutes,
        identities: IdentitySource,
        counts: ProducerCounts,
        *,
        auto_create: bool,
    ) -> None:
        self.identities = identities
        self.count = DeliveryCount()
        self._counts = counts
        self.unreported = UnreportedFailures()
        self.retries = BatchRetries(cluster, routes, auto_create=auto_create)
        self._discarding: BarnabasError | None = None
        self._cluster = cluster
        self._environment = cluster.environment
        self._accumulator = accumulator

    async def settle(self, queues: list[PartitionQueue], response: ProduceResponse) -> None:
        """A broker has answered about the first batches of these queues."""
        answers = {
            TopicPartition(topic.name, partition.index): partition
            for topic in response.responses
            for partition in topic.partition_responses
        }
        failures: list[tuple[PartitionQueue, BarnabasError]] = []
        for queue in still_in_flight(queues):
            answer = answers.get(queue.partition)
            if answer is None:
                error = broker_error(-1, f"partition {queue.partition}", "the broker left it out")
                failures.append((queue, error))
            elif answer.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                self.delivered(queue, answer.base_offset, answer.log_append_time_ms)
            elif answer.error_code in _TOO_LARGE and queue.first.count > 1:
                self._accumulator.split_first(queue)
                queue.in_flight = None
            else:
                error = broker_error(
                    answer.error_code,
                    f"partition {queue.partition}",
                    answer.error_message,
                    needs="write",
                )
                failures.append((queue, error))
        await self.fail(failures)

    def delivered(self, queue: PartitionQueue, base_offset: int, log_append_time_ms: int) -> None:
        """The first batch of a queue was delivered."""
        batch = self._accumulator.take_first(queue)
        queue.in_flight = queue.gone_since = None
        count = batch.count
        queue.count_delivered(count)
        self.count.delivered += count
        batch.delivered(base_offset, log_append_time_ms)

    async def fail(self, failures: list[tuple[PartitionQueue, BarnabasError]]) -> None:
        """Give first batches up, or put them off for another attempt, with fresh metadata."""
        if not failures:
            return
        self._accumulator.wake()  # others of the same request may go on
        errors = dict(failures)
        again: list[PartitionQueue] = []
        for queue in still_in_flight(errors):
            batch, error = queue.first, errors[queue]
            if self.retries.may_retry(queue, error, self.identities):
                batch.attempts += 1
                self._counts.records_retried += batch.count
                batch.last_error = error
                again.append(queue)
                self._cluster.on_retry(error, self._environment.monotonic() - batch.created_at)
            else:
                self._give_up(queue, error)
                queue.in_flight = None
        if again:
            await self._put_off(again, all(is_busy(errors[queue]) for queue in again))

    async def _put_off(self, queues: list[PartitionQueue], busy: bool) -> None:
        """Let these wait a little; until then they count as in flight and are not sent."""
        topics = {queue.partition.topic for queue in queues}
        fatal = None if busy else await self.retries.refresh(queues)
        self.retries.learn(topics)
        for queue in still_in_flight(queues):
            queue.in_flight = None
            self.retries.note_known(queue)
            final = fatal or self._discarding
            if final is not None:
                self._give_up(queue, final)
                continue
            queue.retry_at = self.retries.retry_at(queue.first, busy=busy)
        self._accumulator.wake()

    def expire(self, now: float) -> None:
        """Fail what has waited longer than the delivery timeout."""
        timeout_ms = self._accumulator.delivery_timeout_s * 1000
        while queues := self._accumulator.expired(now):
            for queue in queues:
                message = f"partition {queue.partition}: not delivered in {timeout_ms:.0f} ms"
                reason = queue.first.last_error
                if reason is not None:
                    message += f"; the last attempt: {reason}"
                elif queue.is_under_way:
                    message += "; the broker has not answered"
                self._give_up(queue, DeliveryTimedOut(message))

    def _give_up(self, queue: PartitionQueue, error: BarnabasError) -> None:
        self.identities.gave_up(queue, error)
        queue.retry_at = 0.0  # the pause was for this one
        self._failed(self._accumulator.take_first(queue), error)
        if not queue.batches:
            queue.gone_since = None  # who comes later may find it there

    async def discard(self, error: BarnabasError) -> bool:
        """Fail all records, once the attempts in flight have ended; says if some may have arrived.

        The caller has made sure that nothing is retried.
        """
        self._discarding = error
        try:
            resting = self._accumulator.take_resting()
            for batch in resting:
                self.count.failed += batch.given_up(error).count
            for batch in self._accumulator.close_all():
                await batch.result.future()
        finally:
            self._discarding = None
        return any(batch.attempts > 0 for batch in resting)

    def abandon(self, error: BarnabasError) -> None:
        """Fail all records, when no thread sends any more."""
        for batch in self._accumulator.take_all():
            self._failed(batch, error)

    def _failed(self, batch: PendingBatch, error: BarnabasError) -> None:
        outcome = batch.given_up(error)
        self.count.failed += outcome.count
        self.count.first_error = self.count.first_error or error
        self.unreported.add(outcome)
