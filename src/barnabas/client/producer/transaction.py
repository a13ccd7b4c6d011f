"""One transaction: what a producer writes from its begin to its end is seen as a whole, or never.

    async with producer.transaction():
        await producer.send("invoices", b"...")
        await producer.send("stock", b"...")

Leaving the block commits. Leaving it with an exception rolls back, and the exception goes on. A
transaction that cannot be committed, because a record could not be delivered, is rolled back and
raises `TransactionAborted`.

To consume, process and produce exactly once, pass the consumer whose messages are processed:

    async with producer.transaction(consumer):
        for message in await consumer.poll():
            ...

The offsets of what it has delivered are committed with the transaction. If that is rolled back,
the consumer goes back to the committed offsets, so that the same messages are delivered again.
"""

import asyncio
from collections.abc import Collection, Mapping
from enum import Enum
from types import TracebackType
from typing import Protocol, Self

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.group.committed_offsets import NO_MEMBER, GroupMembership
from barnabas.client.producer.partition_queue import PartitionQueue
from barnabas.client.producer.prepared_transactions import PreparedTransaction
from barnabas.client.producer.producer_identities import TOPICS_BY_NAME, may_pass
from barnabas.client.producer.transactional_id import TransactionalId
from barnabas.errors import BarnabasError, BrokerError, InvalidArgument, TransactionAborted
from barnabas.wire.errors import ErrorCode

_ADDED_BEFORE = 11  # Produce: from version 12 on, brokers add partitions to transactions themselves
_OLD_EPOCH = frozenset({ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION})
_GOODBYE_S = 5  # for who is interrupted or cancelled: the coordinator rolls back in time by itself


class OffsetsToCommit(Protocol):
    """Offsets that may be committed, in the name of the member that read up to them."""

    @property
    def offsets(self) -> Mapping[TopicPartition, int]: ...

    @property
    def membership(self) -> GroupMembership: ...


class TransactionConsumer(Protocol):
    """What a transaction needs of a group's consumer."""

    @property
    def group_id(self) -> str:
        """The group whose offsets are committed."""

    def take_offsets(self) -> OffsetsToCommit:
        """Leave it to the transaction to commit what was done."""

    async def renew_membership(self, membership: GroupMembership) -> GroupMembership | None:
        """The newer epoch of the member, if it still has what was taken; None if it has not."""

    def rewind(self) -> None:
        """Read again what was not committed."""


class TransactionOwner(Protocol):
    """What a transaction needs of the producer that it belongs to."""

    def begin(self, transaction: "ProducerTransaction") -> None:
        """Let all that is sent from now on belong to a transaction."""

    async def flush(self) -> None:
        """Wait until all records are delivered or have failed."""

    async def discard(self, error: BarnabasError) -> bool:
        """Fail all records; says if some may have reached a broker."""

    def close_batches(self) -> None:
        """Close the open batches: further records need new ones."""


class _State(Enum):
    NEW = "not begun"
    OPEN = "open"
    ENDING = "being ended"
    ENDED = "ended"


class ProducerTransaction:
    """Made by `RecordProducer.transaction`, and used once."""

    def __init__(
        self,
        producer: TransactionOwner,
        owner: TransactionalId,
        consumer: TransactionConsumer | None,
    ) -> None:
        self._state = _State.NEW
        self._producer = producer
        self._owner = owner
        self._consumer = consumer
        self._failure: BarnabasError | None = None
        self._rolled_back = False
        self._begun = False  # whether the coordinator may know it
        self._leaves_its_end = False
        self._uncertain = False  # whether a batch failed that may have arrived
        self._partitions: set[TopicPartition] = set()
        self._groups: set[str] = set()
        self._annotations: dict[TopicPartition, str] = {}
        self._adding = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self.begin()
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.leave(error)

    async def leave(self, error: BaseException | None) -> None:
        """The block is over: commit, or roll back because of an error; unless that is done."""
        if not self.is_open:
            return
        if error is None:
            await self.commit()
        else:
            await self._abort_because(error)

    @property
    def is_open(self) -> bool:
        """Whether it has begun, and its end was not requested yet."""
        return self._state is _State.OPEN

    @property
    def has_ended(self) -> bool:
        """Whether another one may begin."""
        return self._state is _State.ENDED

    def begin(self) -> None:
        """Begin; from now on everything that the producer sends belongs to this transaction."""
        self._check(_State.NEW)
        self._producer.begin(self)
        self._state = _State.OPEN

    def _check(self, state: _State) -> None:
        if self._state is not state:
            raise InvalidArgument(
                f"the transaction is {self._state.value}: it must be {state.value}"
            )

    async def send_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int],
        membership: GroupMembership = NO_MEMBER,
        metadata: Mapping[TopicPartition, str] | None = None,
    ) -> None:
        """Commit, with the transaction, the offsets of the records that a group reads next.

        `metadata` are texts that are committed with them.
        """
        try:
            await self._send_offsets(group_id, offsets, membership, metadata or {})
        except BarnabasError as error:
            self._fail(error)
            raise

    def annotate(self, texts: Mapping[TopicPartition, str]) -> None:
        """Texts that are committed with the consumer's offsets of these partitions."""
        self._annotations.update(texts)

    async def _send_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int],
        membership: GroupMembership,
        metadata: Mapping[TopicPartition, str],
    ) -> None:
        self.raise_unless_usable()
        if not offsets:
            return
        self._begun = True
        async with self._adding:
            if not self._owner.adds_implicitly and group_id not in self._groups:
                await self._owner.add_offsets(group_id)
                self._groups.add(group_id)
        await self._owner.commit_offsets(group_id, offsets, membership, metadata)

    async def commit(self) -> None:
        """Wait until everything is delivered, and make it visible.

        Raises `TransactionAborted` if that can't be: then it has been rolled back.
        """
        self._check(_State.OPEN)
        try:
            await self._commit()
        except BarnabasError as error:
            self._fail(error)
        except BaseException as error:
            await self._abort_because(error)
            raise
        if self._failure is not None:
            await self._roll_back()
            raise TransactionAborted.because(self._failure) from self._failure
        self._state = _State.ENDED

    async def _commit(self) -> None:
        self.raise_unless_usable()
        if self._consumer is not None:
            await self._send_offsets_of(self._consumer)
        self._state = _State.ENDING
        await self._producer.flush()
        if self._failure is None and self._begun and not self._leaves_its_end:
            await self._owner.end(committed=True)

    async def _send_offsets_of(self, consumer: TransactionConsumer) -> None:
        """Commit what the consumer has read.

        A rebalance of the consumer protocol gives a member another epoch, and may leave it all that
        it has read: then nothing is wrong but the epoch.
        """
        taken = consumer.take_offsets()
        membership, texts = taken.membership, self._annotations
        while True:
            try:
                await self._send_offsets(consumer.group_id, taken.offsets, membership, texts)
                return
            except BrokerError as error:
                if error.code not in _OLD_EPOCH:
                    raise
                newer = await consumer.renew_membership(membership)
                if newer is None:
                    raise
                membership = newer

    async def prepare(self) -> PreparedTransaction | None:
        """Wait until everything is delivered, and leave the end to `end_prepared`.

        Returns the transaction; None if nothing was written. Raises
        `TransactionAborted` if it can't be committed: then it has been rolled back. For producers
        whose transactions have no timeout.
        """
        self._check(_State.OPEN)
        self._leaves_its_end = True
        await self.commit()
        return self._owner.prepared if self._begun else None

    async def abort(self) -> None:
        """Roll back: drop what was not sent, and abort the rest."""
        self._check(_State.OPEN)
        await self._roll_back()

    async def _roll_back(self) -> None:
        self._state = _State.ENDING
        self._rolled_back = True
        if self._consumer is not None:
            self._consumer.rewind()
        try:
            rolled_back = TransactionAborted("the transaction was rolled back")
            attempted = await self._producer.discard(rolled_back)  # which may set it meanwhile
            self._uncertain = self._uncertain or attempted
            self._raise_if_broken()
            if self._begun:
                await self._owner.end(committed=False)
                if self._uncertain and not self._owner.adds_implicitly:
                    await self._owner.raise_epoch()
        except BaseException as error:
            self._owner.give_up(error)  # the next transaction must not meet what is left of this
            raise
        finally:
            self._state = _State.ENDED

    async def _abort_because(self, error: BaseException) -> None:
        """Roll back while an exception is on its way, which stays the one that is seen."""
        interrupted = not isinstance(error, Exception)
        try:
            async with asyncio.timeout(_GOODBYE_S if interrupted else None):
                await self._roll_back()
        except (BarnabasError, TimeoutError) as failure:
            error.add_note(f"This producer did not roll the transaction back: {failure}")

    def raise_unless_usable(self) -> None:
        """Raise what keeps the transaction from being added to."""
        self._raise_if_broken()
        if self._failure is not None:
            raise TransactionAborted.because(self._failure) from self._failure
        self._check(_State.OPEN)

    def _raise_if_broken(self) -> None:
        if self._owner.broken is not None:
            raise self._owner.broken

    def _fail(self, error: BarnabasError) -> None:
        if self._failure is None:
            self._failure = error
            self._producer.close_batches()  # so that the next send raises it

    # -- Identities ----------------------------------------------------------------------------

    @property
    def produce_version(self) -> int:
        return TOPICS_BY_NAME if self._owner.adds_implicitly else _ADDED_BEFORE

    async def introduce(self, queues: Collection[PartitionQueue]) -> None:
        """Make the queues' partitions part of the transaction, and number on from where it stands.

        No batch is on its way when another transaction begins, so a new epoch finds queues at rest.
        """
        self._begun = True
        if not self._owner.adds_implicitly:
            async with self._adding:
                missing = {queue.partition for queue in queues} - self._partitions
                if missing:
                    await self._owner.add_partitions(missing)
                    self._partitions |= missing
        for queue in queues:
            if queue.identity != self._owner.identity:
                queue.start_over()
                queue.identity = self._owner.identity

    def may_retry(self, queue: PartitionQueue, error: BarnabasError) -> bool:
        """Nothing is tried again that is to be rolled back anyway."""
        del queue
        return may_pass(error) and not self._rolled_back and self._failure is None

    def gave_up(self, queue: PartitionQueue, error: BarnabasError) -> None:
        """Without one of its records the transaction can't be committed."""
        self._fail(error)
        if queue.first.is_attempted:
            self._uncertain = True
