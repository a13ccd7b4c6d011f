"""A producer with a transactional id, of either generation of the protocol.

One of the older generation adds partitions and offsets to its transactions itself, and keeps its
epoch from one transaction to the next. So a request of one transaction that comes late would count
for the next one. It does as real ones do: when a request was not answered, or a batch neither
acknowledged nor refused, it asks for another epoch before it begins the next transaction.

One of the newer generation leaves adding to the brokers, and gets a new epoch with every end.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from barnabas.records.encode import encode_batch
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.checks.transaction_history import Transaction, TransactionHistory
from barnabas.sim.client import Client, ResponseT, TryAgain
from barnabas.sim.workloads.transaction_errors import Abortable, Fenced, GivenUp, check
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Request
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

_ALL = -1
_EPOCH_MS = 1_700_000_000_000
_LAST_CLASSIC = {"produce": 11, "txn_offset_commit": 4, "end_txn": 4, "add_partitions": 3}
_PRODUCE_BY_NAME = 12
_MOST_UNDER_WAY = 5


@dataclass(eq=False)
class TransactionalId:
    """What all that use it have in common. It is one after the other, until one comes back."""

    name: str
    transaction_history: TransactionHistory
    instances: int = 0
    inits: int = 0
    """How often an instance has taken it over,"""
    open_inits: int = 0
    """and how many may yet: their requests are under way, or were not answered."""


@dataclass(eq=False)
class _Batch:
    values: list[bytes]
    data: bytes = b""


@dataclass(eq=False)
class TransactionalProducer:
    """One instance: `init`, then `begin`, `write`, `commit_offsets`, `end`, over and over."""

    client: Client
    id: TransactionalId
    name: str
    is_newer: bool
    timeout_ms: int
    _identity: tuple[int, int] = (-1, -1)
    _sequences: dict[Place, int] = field(default_factory=dict)
    _known: set[tuple[int, Place]] = field(default_factory=set)
    """Where brokers know the producer id."""
    _hosts: dict[str, str] = field(default_factory=dict)
    _is_in_doubt: bool = False
    """Something that it sent may have an effect yet, in this epoch,"""
    _is_unanswered: bool = False
    """and may begin a transaction that is not ended in time."""
    _transaction: Transaction | None = None
    _is_begun: bool = False
    """The coordinator may know of a transaction."""
    _inits_at_mine: int = 0

    # -- asking ------------------------------------------------------------------------------------

    async def _insist(self, what: str, attempt: Callable[[], Awaitable[None]]) -> None:
        """Try until it works, or an error says that it never will."""
        client = self.client
        while True:
            try:
                await attempt()
            except TryAgain as error:
                client.simulator.remark("%s: %s: %s", self.name, what, error)
            else:
                return
            if client.is_stopping:
                raise GivenUp
            await client.pause(20, 150)

    async def _ask(
        self, request: Request[ResponseT], max_version: int | None, *, group: str = ""
    ) -> ResponseT:
        """Ask the coordinator of the transactional id, or of a group."""
        client = self.client
        key = group or self.id.name
        if key not in self._hosts:
            self._hosts[key] = await client.coordinator(key, of_transactions=not group)
        try:
            return await client.call(
                self._hosts[key], request, lane=self.name, max_version=max_version
            )
        except TryAgain:
            del self._hosts[key]
            self._is_in_doubt = self._is_unanswered = True
            raise

    def _check(self, error_code: int, what: str, *, group: str = "", repeats: bool = False) -> None:
        try:
            check(ErrorCode(error_code), f"{self.name}: {what}")
        except TryAgain:
            self._hosts.pop(group or self.id.name, None)
            raise
        except (Fenced, Abortable) as error:
            self._check_cause(error, repeats=repeats)
            raise

    def _check_cause(self, error: Fenced | Abortable, *, repeats: bool) -> None:
        """Nothing fails without a cause: another instance came, or may have, or it took too long.

        Who `repeats` what was done is answered again, whatever became of its transaction.
        """
        transaction = self._transaction
        now_us = self.client.simulator.now_us
        took_us = 0 if transaction is None else now_us - transaction.began_us
        if (
            self.id.inits == self._inits_at_mine
            and not self.id.open_inits
            and (repeats or self.is_newer or not self._is_unanswered)
            and (repeats or took_us < self.timeout_ms * 900)
        ):
            raise Violation(f"without a cause: {error}")

    def _version(self, api: str) -> int | None:
        return None if self.is_newer else _LAST_CLASSIC[api]

    # -- the life of an instance -------------------------------------------------------------------

    async def init(self) -> None:
        """Get an epoch: fence the previous owner of the transactional id, or go on after an
        error."""
        begins = self._identity == (-1, -1)

        async def attempt() -> None:
            before = self.id.inits
            self.id.open_inits += begins
            request = InitProducerIdRequest(self.id.name, self.timeout_ms, *self._identity)
            answer = await self._ask(request, None)
            self.id.open_inits -= begins
            self.id.inits += begins  # even if it is refused, it may have fenced another
            self._check(answer.error_code, "InitProducerId", repeats=True)
            self._inits_at_mine = before + begins if begins else self._inits_at_mine
            self._adopt(answer.producer_id, answer.producer_epoch)

        await self._insist("InitProducerId", attempt)
        self._is_in_doubt = self._is_unanswered = False
        self._is_begun = False

    def _adopt(self, producer_id: int, epoch: int) -> None:
        before = self._identity
        if producer_id < 0 or (producer_id == before[0] and epoch <= before[1]):
            raise Violation(f"{self.name} had {before} and got {(producer_id, epoch)}")
        self._identity = (producer_id, epoch)
        self._sequences.clear()

    async def begin(self, transaction: Transaction) -> None:
        if self._is_in_doubt and not self.is_newer:
            await self.init()
        self._transaction = transaction

    # -- what belongs to a transaction -------------------------------------------------------------

    async def write(self) -> None:
        """Write all that the transaction is to write, until it is acknowledged."""
        waiting = await self._enlist()
        while waiting:
            await self._insist("Produce", lambda: self._send_some(waiting))

    async def write_and_leave(self) -> None:
        """Send the same, and wait for nothing: it may come when the transaction is over."""
        waiting = await self._enlist()
        self._is_in_doubt = True
        for place, batches in waiting.items():
            self.client.run(self._leave(place, batches[0]))

    async def _leave(self, place: Place, batch: _Batch) -> None:
        client = self.client
        await client.pause(0, client.random.choice((0, 2, 20)))
        with suppress(TryAgain):
            host, _ = await client.leader(place)
            await self._produce(host, [(place, batch)])

    async def _enlist(self) -> dict[Place, list[_Batch]]:
        """What is to be written; its partitions are part of the transaction, or will be."""
        transaction = self._transaction
        assert transaction is not None
        if not self.is_newer:
            await self._insist("AddPartitionsToTxn", self._add_partitions)
        self._is_begun = True
        return {place: self._batches(place, values) for place, values in transaction.values.items()}

    async def _add_partitions(self) -> None:
        assert self._transaction is not None
        topics: dict[str, list[int]] = {}
        for place in self._transaction.values:
            topics.setdefault(place.topic, []).append(place.partition)
        self._is_begun = True
        answer = await self._ask(
            AddPartitionsToTxnRequest(
                [],
                self.id.name,
                *self._identity,
                [AddPartitionsToTxnTopic(name, found) for name, found in topics.items()],
            ),
            _LAST_CLASSIC["add_partitions"],
        )
        for topic in answer.results_by_topic_v3_and_below:
            for each in topic.results_by_partition:
                self._check(each.partition_error_code, "AddPartitionsToTxn")

    def _batches(self, place: Place, values: list[bytes]) -> list[_Batch]:
        """One or several, which are under way together if the leader knows this producer."""
        size = len(values)
        if (self._identity[0], place) in self._known:
            size = -(-len(values) // self.client.random.randint(1, _MOST_UNDER_WAY))
        batches = [_Batch(values[at : at + size]) for at in range(0, len(values), size)]
        now_ms = _EPOCH_MS + self.client.simulator.now_us // 1000
        producer_id, epoch = self._identity
        for batch in batches:
            sequence = self._sequences.get(place, 0)
            self._sequences[place] = sequence + len(batch.values)
            batch.data = bytes(
                encode_batch(
                    [(now_ms, None, value, ()) for value in batch.values],
                    producer_id=producer_id,
                    producer_epoch=epoch,
                    base_sequence=sequence,
                    transactional=True,
                )
            )
        return batches

    async def _send_some(self, waiting: dict[Place, list[_Batch]]) -> None:
        """Send what waits for one leader, and for each partition there one behind the other."""
        client = self.client
        hosts = {place: (await client.leader(place))[0] for place in waiting}
        host = client.random.choice(sorted(set(hosts.values())))
        places = [place for place in waiting if hosts[place] == host]
        rounds = [
            [(place, waiting[place][at]) for place in places if at < len(waiting[place])]
            for at in range(max(len(waiting[place]) for place in places))
        ]
        await client.connect(host, self.name)
        unanswered = self._is_in_doubt
        self._is_in_doubt = True
        answers = await asyncio.gather(
            *(self._produce(host, batches) for batches in rounds), return_exceptions=True
        )
        failure: BaseException | None = None
        for batches, answer in zip(rounds, answers, strict=True):
            if isinstance(answer, BaseException):
                failure = failure or answer
                continue
            for place, batch in batches:
                try:
                    self._acknowledged(place, batch, *answer[place], waiting)
                except (TryAgain, Fenced, Abortable, Violation) as error:
                    failure = failure or error
        for place in places:
            if not waiting[place]:
                del waiting[place]
            elif failure is not None:
                client.lost_leader(place)
        if failure is not None:
            raise failure
        self._is_in_doubt = unanswered

    async def _produce(
        self, host: str, batches: list[tuple[Place, _Batch]]
    ) -> dict[Place, tuple[ErrorCode, int]]:
        topic = TopicProduceData(
            batches[0][0].topic,
            partition_data=[
                PartitionProduceData(place.partition, batch.data) for place, batch in batches
            ],
        )
        request = ProduceRequest(self.id.name, _ALL, 1_000, [topic])
        version = self._version("produce") or _PRODUCE_BY_NAME
        response = await self.client.call(host, request, lane=self.name, max_version=version)
        return {
            Place(topic.name or "", each.index): (ErrorCode(each.error_code), each.base_offset)
            for topic in response.responses
            for each in topic.partition_responses
        }

    def _acknowledged(
        self,
        place: Place,
        batch: _Batch,
        code: ErrorCode,
        offset: int,
        waiting: dict[Place, list[_Batch]],
    ) -> None:
        if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and waiting[place][0] is not batch:
            raise TryAgain("one before it is missing")
        self._check(code, f"Produce to {place}")
        waiting[place].remove(batch)
        self._known.add((self._identity[0], place))
        for i, value in enumerate(batch.values):
            self.client.history.acknowledge(place, offset + i, value)

    async def commit_offsets(self) -> None:
        """Make it part of the transaction how far its sources were read."""
        transaction = self._transaction
        assert transaction is not None
        if not self.is_newer:
            await self._insist("AddOffsetsToTxn", self._add_offsets)
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for place, offset in transaction.offsets.items():
            topics.setdefault(place.topic, []).append(
                TxnOffsetCommitRequestPartition(
                    place.partition, offset, committed_metadata=transaction.name
                )
            )
        request = TxnOffsetCommitRequest(
            self.id.name,
            transaction.group,
            *self._identity,
            topics=[TxnOffsetCommitRequestTopic(name, found) for name, found in topics.items()],
        )

        async def attempt() -> None:
            answer = await self._ask(
                request, self._version("txn_offset_commit"), group=transaction.group
            )
            for topic in answer.topics:
                for each in topic.partitions:
                    self._check(each.error_code, "TxnOffsetCommit", group=transaction.group)

        self._is_begun = True
        await self._insist("TxnOffsetCommit", attempt)

    async def _add_offsets(self) -> None:
        assert self._transaction is not None
        self._is_begun = True
        request = AddOffsetsToTxnRequest(self.id.name, *self._identity, self._transaction.group)
        answer = await self._ask(request, None)
        self._check(answer.error_code, "AddOffsetsToTxn")

    # -- its end -----------------------------------------------------------------------------------

    async def end(self, *, committed: bool) -> None:
        transaction = self._transaction
        assert transaction is not None
        if not self._is_begun:
            return
        transaction.is_wanted = transaction.is_wanted or committed
        what = "EndTxn to commit" if committed else "EndTxn to abort"
        request = EndTxnRequest(self.id.name, *self._identity, committed)
        attempts = 0

        async def attempt() -> None:
            nonlocal attempts
            attempts += 1
            answer = await self._ask(request, self._version("end_txn"))
            self._check(answer.error_code, what)
            self.id.transaction_history.answered(transaction, committed=committed)
            if self.is_newer:
                self._adopt(answer.producer_id, answer.producer_epoch)

        try:
            await self._insist(what, attempt)
        except (Fenced, Abortable):
            if committed and attempts == 1:
                transaction.ends(False, "not committed, as its producer was told")
            raise
        self._transaction = None
        self._is_begun = False
