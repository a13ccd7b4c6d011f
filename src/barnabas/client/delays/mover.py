"""Moves delayed records of one topic when they are due, as a member of a group.

The group TOPIC.delayed divides the levels among its members. Each has the first records of its
levels in memory, and moves those that leave them, in one transaction with the group's offsets:

    read TOPIC.delayed -> [ send to TOPIC or a lower level; commit offsets ] -> delete the moved

So each record is moved once, also if a member is killed: readers of committed records see nothing
of a transaction that was not committed, and the next member reads its records again. Brokers roll
back what a killed member has left open after `TRANSACTION_TIMEOUT_MS`, and give its levels to
another one after `SESSION_TIMEOUT_MS`.

What fails is tried again for as long as it takes. The log says why. A record that brokers refuse
stays in TOPIC.delayed and holds up no others: see `record_moves`.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Mapping
from secrets import token_hex

from barnabas.backoff import Backoff
from barnabas.client.admin.topics import delete_records
from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.security_settings import SecurityValue, security_settings
from barnabas.client.consumer.consumer_core import ConsumerCore
from barnabas.client.consumer.consumer_options import core_of
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.delays.delayed_rights import MoverDenials
from barnabas.client.delays.delayed_sends import now_ms
from barnabas.client.delays.delayed_topic import check_levels, delayed_topic
from barnabas.client.delays.record_moves import RecordMoves
from barnabas.client.delays.waiting_records import (
    ENOUGH_BYTES,
    ENOUGH_RECORDS,
    DueRecord,
    WaitingRecords,
    behind,
)
from barnabas.client.group.committed_offsets import NO_MEMBER
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.errors import BarnabasError, BrokerError, NotAuthorized, TransactionAborted
from barnabas.wire.errors import ErrorCode

SESSION_TIMEOUT_MS = 10_000
TRANSACTION_TIMEOUT_MS = 10_000

_TIDY_S = 30.0  # how often what was moved is deleted
_WAIT_MS = 1_000  # at most, for a clock that was set
_MOVES = 2_000  # in one transaction
_CLOSE_S = 2.0
_RESTART = Backoff(0.5, 30.0)
_TUNING = FetchTuning(max_bytes=8 * 1024 * 1024, partition_max_bytes=ENOUGH_BYTES // 4)
_REBALANCED = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.UNKNOWN_MEMBER_ID,
    }
)

_log = logging.getLogger("barnabas.delays")


class DelayedMover:
    """Of one topic, in one process."""

    def __init__(
        self,
        bootstrap_servers: BootstrapServers,
        topic: str,
        *,
        client_id: str,
        security: Mapping[str, SecurityValue] | None,
        time_ms: Callable[[], int] = now_ms,
    ) -> None:
        self.topic = topic
        self.moves = RecordMoves(topic)
        self.denials = MoverDenials(topic)
        self._delayed = delayed_topic(topic)
        self._bootstrap_servers = bootstrap_servers
        self._client_id = client_id
        self._security = security
        self._time_ms = time_ms
        self._transactional_id = f"{self._delayed}.{token_hex(4)}"
        self._may_delete = True
        self._failures = 0  # since records were moved

    async def run(self) -> None:
        """Move records until this is cancelled."""
        while True:
            cluster = self._cluster()
            try:
                check_levels((await cluster.topics([self._delayed]))[self._delayed])
                await self._join_and_move(cluster)
            except BarnabasError as error:
                await self.failed(error, cluster)
            finally:
                await cluster.close()

    def _cluster(self) -> ClusterClient:
        return ClusterClient(
            self._bootstrap_servers,
            client_id=self._client_id,
            security=security_settings(self._security),
        )

    async def _join_and_move(self, cluster: ClusterClient) -> None:
        consumer = core_of(
            self._bootstrap_servers,
            self._delayed,
            pattern=None,
            group=self._delayed,
            start="earliest",
            on_data_loss="earliest",
            commit="manual",
            commit_interval_ms=0,
            isolation="read_committed",
            instance_id=None,
            group_protocol="classic",
            group_remote_assignor=None,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=SESSION_TIMEOUT_MS,
            max_poll_interval_ms=None,
            assignors=None,
            key_format="bytes",
            value_format="bytes",
            tuning=_TUNING,
            close_timeout_s=_CLOSE_S,
            client_id=self._client_id,
            security=self._security,
        )
        try:
            producer = RecordProducer(
                cluster,
                linger_ms=0,
                auto_create=False,
                transactional_id=self._transactional_id,
                transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
            )
            await producer.start()
            try:
                await _MoverMembership(self, consumer, producer, cluster).move()
            finally:
                await producer.close(_CLOSE_S)
        finally:
            await consumer.close()

    def now(self) -> int:
        return self._time_ms()

    async def failed(self, error: BarnabasError, cluster: ClusterClient) -> None:
        """Say so, and wait a moment before the next attempt."""
        self._failures += 1
        reason = error.__cause__ if isinstance(error, TransactionAborted) else error
        if isinstance(reason, NotAuthorized):
            await self.denials.report(cluster, reason)
        else:
            level = logging.INFO if error.retriable else logging.ERROR
            _log.log(level, "delayed records of %s have to wait: %s", self.topic, error)
        await asyncio.sleep(_RESTART.pause(self._failures, random.random))

    def moved(self) -> None:
        """The latest attempt has succeeded."""
        self._failures = 0

    async def delete(self, cluster: ClusterClient, offsets: Mapping[TopicPartition, int]) -> bool:
        """Free the disk of what was moved, and say if that is done.

        Without the right to do so, it stays. What fails otherwise is tried again later.
        """
        if not self._may_delete or not offsets:
            return True
        try:
            await delete_records(cluster, offsets)
        except NotAuthorized as error:
            self._may_delete = False
            _log.warning("records that were moved stay in %s: %s", self._delayed, error)
        except BarnabasError as error:
            _log.info("records that were moved stay in %s for now: %s", self._delayed, error)
            return False
        return True


class _MoverMembership:
    """From joining the group to the first failure that a new member is needed for."""

    def __init__(
        self,
        mover: DelayedMover,
        consumer: ConsumerCore,
        producer: RecordProducer,
        cluster: ClusterClient,
    ) -> None:
        self._mover = mover
        self._consumer = consumer
        self._producer = producer
        self._cluster = cluster
        self._waiting = WaitingRecords()
        self._read_by = NO_MEMBER
        self._paused: set[TopicPartition] = set()
        self._committed: dict[TopicPartition, int] = {}
        self._deleted: dict[TopicPartition, int] = {}
        self._tidy_at = cluster.environment.monotonic() + _TIDY_S

    async def move(self) -> None:
        deleting = asyncio.ensure_future(self._delete_moved())
        try:
            await self._move_all()
        finally:
            deleting.cancel()
            await asyncio.wait({deleting})

    async def _move_all(self) -> None:
        while True:
            await self._read()
            moves = self._waiting.take(self._mover.now(), _MOVES)
            if moves:
                await self._move(moves)
            if self._cluster.environment.monotonic() >= self._tidy_at:
                await self._tidy()
                self._tidy_at = self._cluster.environment.monotonic() + _TIDY_S

    async def _read(self) -> None:
        """Read more, at most until the next record leaves its level."""
        queue = self._consumer.delivery_queue
        queue.settle()
        messages = queue.take(ENOUGH_RECORDS)
        if not messages:
            now = self._mover.now()
            next_ms = self._waiting.next_ms(now)
            wait_ms = _WAIT_MS if next_ms is None else max(0, min(next_ms - now, _WAIT_MS))
            if await self._consumer.wait_for_messages(wait_ms) is not None:
                self._start_over()  # its partitions go, or others come
                await self._consumer.event_handled()
            messages = queue.take(ENOUGH_RECORDS)
        if not self._waiting:
            self._read_by = self._consumer.needs_group().membership
        self._waiting.add(messages)
        await self._hold_back()

    async def _hold_back(self) -> None:
        """Read no level further than a few records."""
        full = self._waiting.full & set(self._consumer.assignment)
        if full - self._paused:
            await self._consumer.pause(full - self._paused)
        free = (self._paused - full) & set(self._consumer.assignment)
        if free:
            await self._consumer.resume(free)
        self._paused = full

    def _start_over(self) -> None:
        """Read again from what is committed: the levels, or some of them, may be other ones."""
        self._waiting.clear()
        self._committed.clear()
        self._paused.clear()
        self._consumer.rewind()

    async def _move(self, moves: Collection[DueRecord]) -> None:
        """Move them in the name of the generation in which they were read.

        If there is a later one, the commit is refused: others may have moved them by now.
        """
        offsets = behind(moves)
        transaction = self._producer.transaction()
        try:
            async with transaction:
                self._mover.moves.begin()
                for each in moves:
                    await self._mover.moves.write(self._producer, each, self._mover.now())
                await transaction.send_offsets(self._consumer.group_id, offsets, self._read_by)
        except TransactionAborted as error:
            self._start_over()
            if not self._mover.moves.rolled_back():
                await self._mover.failed(error, self._cluster)
        except BrokerError as error:
            if error.code not in _REBALANCED:
                raise
            self._start_over()
        else:
            self._committed |= offsets
            self._mover.moves.committed()
            self._mover.moved()

    async def _tidy(self) -> None:
        """Pass over the ends of transactions, which count as lag."""
        try:
            for name in self._consumer.known_assignment:
                position = self._consumer.position(name)
                if self._waiting.is_empty(name) and position > self._committed.get(name, position):
                    await self._consumer.commit({name: position})
                    self._committed[name] = position
        except BrokerError as error:
            if error.code not in _REBALANCED:
                raise
            self._start_over()

    async def _delete_moved(self) -> None:
        """Apart from moving: a broker answers when all replicas have deleted the records, which
        takes a while if one of them is down."""
        while True:
            await asyncio.sleep(_TIDY_S)
            left = {
                name: offset
                for name, offset in self._committed.items()
                if offset > self._deleted.get(name, 0)
            }
            if await self._mover.delete(self._cluster, left):
                self._deleted |= left
