"""The core of a queue: what is locked and handed out, apart from all waiting.

It is used by two threads. Coroutines run in the core's loop. The application's threads call `take`,
`finish`, `fail` and `stop`, and settle messages: see `settlement`.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from barnabas.client.connect.background_tasks import BackgroundTasks
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.environment import RETRY
from barnabas.client.consequences import Consequence, consequence_of
from barnabas.client.consumer.new_topics import NewTopics
from barnabas.client.delays.movers import DelayedMovers
from barnabas.client.producer.producer_core import ProducerCore
from barnabas.client.results.job_results import JobResults
from barnabas.client.results.result_sends import ResultSends
from barnabas.client.rights.check import denial_of
from barnabas.client.rights.right import Right
from barnabas.client.share.acknowledge_type import AcknowledgeType
from barnabas.client.share.acknowledgements import (
    PendingAcknowledgement,
    PendingAcknowledgements,
    TakenAcknowledgements,
)
from barnabas.client.share.acquired_records import acquired_records
from barnabas.client.share.dead_letters import DeadLetters
from barnabas.client.share.delivery_limit import DEFAULT_LIMIT, DeliveryLimit
from barnabas.client.share.group_settings import (
    check_delivery_limit,
    delivery_limit,
    set_group_settings,
)
from barnabas.client.share.held_records import HeldRecords
from barnabas.client.share.leader_session import LeaderSession
from barnabas.client.share.lock_upkeep import LockUpkeep
from barnabas.client.share.queue_message import Acknowledgement, QueueMessage
from barnabas.client.share.retry_policy import RetryPolicy
from barnabas.client.share.settlement import Settlement
from barnabas.client.share.share_assignment import ShareAssignment
from barnabas.client.share.share_member import Assignment, ShareMember
from barnabas.client.share.share_session import SharePartition
from barnabas.errors import (
    BarnabasError,
    BrokerError,
    BrokerUnreachable,
    ConsumerBroken,
    CorruptRecords,
    UndecodableRecord,
)
from barnabas.quantities import counted
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_fetch import PartitionData

CLOSE_TIMEOUT_S = 10.0
_FINISH_S = 3.0

Decode = Callable[[bytes | None], Any]


class QueueCore:
    """Of one member of a share group."""

    def __init__(
        self,
        cluster: ClusterClient,
        group_id: str,
        topics: Sequence[str],
        *,
        prefetch: int = 16,
        settings: Mapping[str, str] | None = None,
        max_lock_renewal_s: float = 300.0,
        retries: RetryPolicy | None = None,
        dead_letters: DeadLetters | None = None,
        producer: ProducerCore | None = None,
        movers: DelayedMovers | None = None,
        results: JobResults | None = None,
        result_sends: ResultSends | None = None,
        rights: Sequence[Right] = (),
    ) -> None:
        self.cluster = cluster
        self.group_id = group_id
        self.topics = list(topics)
        self.pending = PendingAcknowledgements()
        self.held = HeldRecords(prefetch)
        self.decode_key: Decode | None = None
        self.decode_value: Decode | None = None
        self.is_stopped = False
        """Whether no more records are handed out."""
        self.is_paused = False
        """Whether none are fetched and handed out for now."""
        self.close_timeout_s = CLOSE_TIMEOUT_S
        self._settings = dict(settings or {})
        self._rights = rights  # to look for at the start
        self._renewal_s = max_lock_renewal_s
        self.retries = retries or RetryPolicy()
        self._dead_letters = dead_letters
        self._producer = producer
        self._movers = movers
        self.results = results
        """Of jobs that are submitted here."""
        self._monotonic = cluster.environment.monotonic
        self._buffer: deque[QueueMessage] = deque()
        self._waiting = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failure: BarnabasError | None = None
        self._unreachable: BrokerUnreachable | None = None
        """Why no broker could be reached so far; None after the first contact."""
        self._notified = asyncio.Event()
        self._sessions: dict[int, LeaderSession] = {}
        self._tasks = BackgroundTasks(self._notify)
        self._assignment = ShareAssignment(cluster, topics, self._place)
        self._member = ShareMember(cluster, group_id, topics, self._assign)
        self._settlement = Settlement(
            self,
            self._tasks,
            self._monotonic,
            self.retries,
            dead_letters,
            result_sends,
            DeliveryLimit(self._delivery_limit, self._monotonic),
        )
        self._locks = LockUpkeep(
            self.held, self.pending, self._sessions, self._settlement, self._monotonic
        )

    # -- the application's threads -------------------------------------------------------------

    def take(self) -> QueueMessage | None:
        """A record that is locked for the application now; None if there is none."""
        while not self.is_stopped and not self.is_paused:
            try:
                message = self._buffer.popleft()
            except IndexError:
                return None
            if message.is_settled or message.deadline <= self._monotonic():
                continue  # it was lost meanwhile
            message.is_delivered = True
            try:
                self._decode(message)
            except UndecodableRecord as error:
                if self._dead_letters is None:
                    self.fail(message, error)
                    raise
                self._settlement.settle(
                    message, AcknowledgeType.REJECT, reason=str(error.__cause__)
                )
                continue
            return message
        return None

    def finish(self, message: QueueMessage, result: object = None) -> None:
        """The application is done with it: accept it, unless it has done something else."""
        self._settlement.finish(message, result)

    def fail(self, message: QueueMessage, error: BaseException) -> None:
        """Its handler has failed: let it come again later, or be a dead letter."""
        self._settlement.fail(message, error)

    def stop(self) -> None:
        """Hand out no more records: those who wait for one get none. From any thread."""
        self.is_stopped = True
        self._call_soon(self._notify)

    def pause(self) -> None:
        """Fetch and hand out nothing until `resume`; others get what was fetched ahead."""
        self.is_paused = True
        self._call_soon(self._release_buffer)

    def resume(self) -> None:
        """Go on."""
        self.is_paused = False
        self._call_soon(self._wake_all)

    def look_for_delayed(self) -> None:
        """There are delayed records now, perhaps the first ones. In the core's thread."""
        if self._movers is not None:
            self._movers.look()

    def _call_soon(self, function: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(function)

    def _decode(self, message: QueueMessage) -> None:
        what = "key"
        try:
            if self.decode_key is not None:
                message.key = self.decode_key(message.key)
            what = "value"
            if self.decode_value is not None:
                message.value = self.decode_value(message.value)
        except Exception as error:
            raise UndecodableRecord(message.record, what, error) from error

    # -- waiting -------------------------------------------------------------------------------

    async def wait_for_messages(self, timeout_s: float | None) -> None:
        """Wait until there may be something to take, at most `timeout_s`; raises failures."""
        self._begin()
        if self._buffer:
            return
        self._waiting += 1
        try:
            self._wake_all()
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    while not self._buffer and not self.is_stopped:
                        self._raise_failure()
                        await self._notified.wait()
        finally:
            self._waiting -= 1
        self._raise_failure()
        if self._unreachable is not None and not self.is_stopped:
            raise self._unreachable.with_traceback(None)

    @property
    def has_idle_workers(self) -> bool:
        """Whether the application waits for more records than there are."""
        return self._waiting > len(self._buffer)

    def _wake_all(self) -> None:
        for session in self._sessions.values():
            session.wake()

    async def flush(self) -> None:
        """Wait until all acknowledgements so far are answered; failures are in their answers."""
        await self._settlement.flush()

    def _raise_failure(self) -> None:
        if self._tasks.crash is not None:
            crash = self._tasks.crash
            raise crash if isinstance(crash, BarnabasError) else ConsumerBroken.by(crash)
        if self._failure is not None:
            raise self._failure

    def _notify(self) -> None:
        notified, self._notified = self._notified, asyncio.Event()
        notified.set()

    def _begin(self) -> None:
        if self._loop is None:
            self._loop = self._settlement.loop = asyncio.get_running_loop()
            self._tasks.start(self._join())
            self._tasks.start(self._assignment.run())
            self._tasks.start(self._locks.run())
            if self._movers is not None:
                self._tasks.start(self._movers.run(self.cluster, self._tasks.start))

    async def _join(self) -> None:
        """For as long as it takes, unless a person has to decide."""
        for pause_s in RETRY.pauses(self.cluster.environment.random):
            try:
                await self._join_and_stay()
            except BarnabasError as error:
                if consequence_of(error) is not Consequence.WAITS:
                    raise
                self.cluster.forget_coordinator(self.group_id)
            await asyncio.sleep(pause_s)

    async def _join_and_stay(self) -> None:
        await self.cluster.retrying(self._connect)
        await self._check_rights()
        if self._settings:
            await set_group_settings(self.cluster, self.group_id, self._settings)
        if self._dead_letters is not None:
            await check_delivery_limit(self.cluster, self.group_id, self.retries.max_deliveries)
        await NewTopics(self.cluster, self.topics).missing(None)
        await self._member.run()

    async def _check_rights(self) -> None:
        """What is denied now would be denied later, perhaps to the first dead letter."""
        if self._rights:
            denied = await denial_of(self.cluster, self._rights, f"a worker of {self.group_id}")
            if denied is not None:
                raise denied
        self._rights = ()

    async def _delivery_limit(self) -> int:
        return await delivery_limit(self.cluster, self.group_id) or DEFAULT_LIMIT

    async def _connect(self) -> None:
        try:
            await self.cluster.refresh(self.topics)
        except BrokerUnreachable as error:
            self._unreachable = error
            raise
        self._unreachable = None

    # -- leaders -------------------------------------------------------------------------------

    def _assign(self, assignment: Assignment) -> None:
        self._assignment.assign(assignment)

    def _place(self) -> None:
        """Partitions have got leaders, or lost them."""
        for node_id in self._assignment.nodes - self._sessions.keys():
            self._open(node_id)
        for node_id, session in self._sessions.items():
            session.partitions = self._assignment.partitions_of(node_id)
            session.wake()

    def _open(self, node_id: int) -> LeaderSession:
        session = LeaderSession(self, self.cluster, node_id, self.group_id, self._member.member_id)
        self._sessions[node_id] = session
        self._tasks.start(session.run())
        return session

    def room(self, node_id: int) -> int:
        if self.is_paused:
            return 0
        return self.held.room(node_id, len(self._assignment.nodes))

    def is_held(self, node_id: int) -> bool:
        return self.held.is_held(node_id)

    def refill_at(self) -> int:
        """Refill when half of the buffer is gone, or at once if the application has to wait."""
        if not self._buffer:
            return 1
        return max(1, self.held.share(len(self._assignment.nodes)) // 2)

    def leads(self, node_id: int, partition: SharePartition) -> bool:
        return self._assignment.lead(partition) == node_id

    def unavailable(
        self, session: LeaderSession, partitions: set[SharePartition], error: BarnabasError
    ) -> None:
        if consequence_of(error) is not Consequence.WAITS and not _is_about_topic(error):
            self._failure = error
            self._notify()
        session.partitions -= partitions
        self._assignment.doubt(partitions)

    def session_lost(self, session: LeaderSession) -> None:
        """The leader has released what it had locked: drop what the application does not have."""
        for message in self.held:
            if message.node_id == session.node_id and not message.is_delivered:
                self.held.drop(message)

    # -- records -------------------------------------------------------------------------------

    def acquired(
        self, session: LeaderSession, partition: SharePartition, data: PartitionData
    ) -> int:
        try:
            records, gaps = acquired_records(data, partition.topic, partition.partition)
        except CorruptRecords as error:
            self._failure = error
            self._notify()
            return 0
        for offset in gaps:
            self.pending.add(partition, PendingAcknowledgement(offset, AcknowledgeType.GAP))
        now = self._monotonic()
        deadline = session.asked_at + session.lock_ms / 1000
        for record, delivery_count in records:
            if self.pending.relock(partition, record.offset, deadline) or self.held.relock(
                partition, record.offset, node_id=session.node_id, deadline=deadline, now=now
            ):
                continue
            message = QueueMessage(
                self._settlement,
                partition,
                record,
                delivery_count,
                node_id=session.node_id,
                deadline=deadline,
                renew_until=now + self._renewal_s,
            )
            self.held.add(message)
            if self._dead_letters is not None and delivery_count > self.retries.max_deliveries:
                times = counted(delivery_count - 1, "time")
                reason = (
                    f"delivered {times}, and no worker has finished it; its worker may have "
                    "written a dead letter already"
                )
                self._settlement.settle(message, AcknowledgeType.REJECT, reason=reason)
            else:
                self._buffer.append(message)
        if gaps:
            session.wake()
        if self.is_paused:  # since this was asked for
            self._release_buffer()
        self._notify()
        return len(records)

    def _release_buffer(self) -> None:
        """While it is paused: locks of records that wait would end, and count as deliveries."""
        while self.is_paused and self._buffer:
            message = self._buffer.popleft()
            if message.close_once():
                self._settlement.acknowledge(message, AcknowledgeType.RELEASE, None)

    # -- acknowledgements ----------------------------------------------------------------------

    def wake_leader(self, partition: SharePartition) -> None:
        leader = self._assignment.lead(partition)
        if leader is not None:
            (self._sessions.get(leader) or self._open(leader)).wake()

    def wake(self, node_id: int) -> None:
        self._sessions[node_id].wake()

    def answered(
        self,
        session: LeaderSession,
        partition: SharePartition,
        taken: list[PendingAcknowledgement],
        error: BrokerError | None,
    ) -> None:
        self._settlement.answered(session, partition, taken, error)

    def unanswered(self, taken: TakenAcknowledgements) -> None:
        self._settlement.unanswered(taken)

    # -- the end -------------------------------------------------------------------------------

    async def close(self) -> None:
        """Release what is held, have all acknowledgements answered, and leave the group."""
        self.stop()
        try:
            if self._loop is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.close_timeout_s):
                        await self._release_all()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_FINISH_S):
                        await asyncio.gather(
                            *(each.finish() for each in self._sessions.values()),
                            return_exceptions=True,
                        )
        finally:
            self._settlement.is_closed = True
            await self._tasks.close()
            self._settlement.close()
            if self.results is not None:
                await self.results.close()
            await self._member.leave()
            try:
                await self.cluster.close()
            finally:
                if self._producer is not None:
                    await self._producer.close()

    async def _release_all(self) -> None:
        """Settle what the application has. The end of the session releases what it never had."""
        for session in self._sessions.values():
            session.is_closing = True
        settlement = self._settlement
        settlement.drain()
        settlement.release_kept()
        for message in self.held:
            if message.is_delivered and message.close_once():
                answer = settlement.track(Acknowledgement())
                settlement.acknowledge(message, AcknowledgeType.RELEASE, answer)
        await settlement.flush()


def _is_about_topic(error: BarnabasError) -> bool:
    """Whether a partition is gone, or new to the broker: the assignment follows."""
    return isinstance(error, BrokerError) and error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
