"""Plays the broker around a `TransactionShard`: keeps the log, the clock, answers and markers.

Every token must be answered at most once, every answer must be encodable in every version, and the
persistent state must be what a replay of the log gives. All are asserted here, so every test of
this package checks them.
"""

from collections import deque
from collections.abc import Callable, Iterable
from itertools import count

from barnabas.coordination.decision import CoordinatorDecision, CoordinatorRecord
from barnabas.transactions import (
    MarkersToWrite,
    TopicPartition,
    TransactionConfig,
    TransactionDecision,
    TransactionShard,
)
from barnabas.transactions.admin import TransactionFilter
from barnabas.transactions.image import TransactionImage
from barnabas.transactions.records import decode_image, decode_key
from barnabas.transactions.transactions_image import TransactionsImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.message import Response
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
)
from barnabas.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.primitives import UnsupportedFieldError, Writer

ID = "tx"
TIMEOUT_MS = 60_000
CONFIG = TransactionConfig()

Identity = tuple[int, int]
T0: TopicPartition = ("t", 0)
T1: TopicPartition = ("t", 1)
U0: TopicPartition = ("u", 0)
OFFSETS: TopicPartition = ("__consumer_offsets", 7)

CLASSIC = 4
BUMPED = 5
"""The versions of EndTxn that stand for the two generations."""


class Shell:
    def __init__(
        self,
        config: TransactionConfig = CONFIG,
        log: Iterable[CoordinatorRecord] = (),
        now_ms: int = 1_000,
        new_producer_id: Callable[[], int | None] | None = None,
    ) -> None:
        self.now_ms = now_ms
        self.log = list(log)
        self.answers: dict[int, Response] = {}
        self.asked: set[int] = set()
        self.in_flight: deque[TransactionDecision] = deque()
        self.persists_at_once = True
        self.marks_at_once = True
        self.markers: list[MarkersToWrite] = []
        """All that were to be sent."""
        self._config = config
        self._tokens = count(1)
        self._producer_ids = count(1_000)
        self.new_producer_id = new_producer_id or (lambda: next(self._producer_ids))
        self.shard = TransactionShard(config, lambda: self.new_producer_id())
        for record in self.log:
            self.shard.replay(*record)
        self._loaded = self.shard.loaded(now_ms)
        self.is_over = False
        self._replayed = TransactionsImage()
        """Replayed from the log, record by record as it grows, and by nothing else."""
        for record in self.log:
            self._replayed.replay(*record)

    def start(self) -> "Shell":
        """Carry out what follows from loading."""
        self.carry_out(self._loaded)
        return self

    def restart(self) -> "Shell":
        """A new broker that knows nothing but the log."""
        return self.successor(self.log).start()

    def successor(self, log: Iterable[CoordinatorRecord]) -> "Shell":
        """Another broker that goes on from a log of its own."""
        return Shell(self._config, log, self.now_ms, self.new_producer_id)

    # -- carrying out decisions -----------------------------------------------------------------

    def carry_out(self, decision: TransactionDecision) -> None:
        if not self.is_over:
            assert self.shard.image == self._replayed, "a decision has changed what is persistent"
        for token, response in decision.replies:
            assert isinstance(token, int)
            assert token in self.asked, "an unexpected answer"
            assert token not in self.answers, "answered twice"
            _encode_in_all_versions(response)
            self.answers[token] = response
        self.markers += decision.markers
        if not decision.records:
            assert not decision.held, "held back for nothing"
        elif self.persists_at_once:
            self._commit(decision)
        else:
            self.in_flight.append(decision)
        if self.marks_at_once:
            for each in decision.markers:
                self.mark(each)

    def _commit(self, decision: TransactionDecision) -> None:
        self.log += decision.records
        for record in decision.records:
            self._replayed.replay(*record)
        self.carry_out(self.shard.committed(decision, now_ms=self.now_ms))

    def persist_next(self) -> None:
        self._commit(self.in_flight.popleft())

    def persist_all(self) -> None:
        while self.in_flight:
            self.persist_next()

    def fail_next(self) -> None:
        self.carry_out(self.shard.failed(self.in_flight.popleft(), now_ms=self.now_ms))

    def resign(self) -> None:
        """Another node is the coordinator now."""
        self.is_over = True
        self.carry_out(TransactionDecision(replies=self.shard.unload()))
        while self.in_flight:
            decision: CoordinatorDecision = self.in_flight.popleft()
            self.carry_out(
                self.shard.failed(decision, ErrorCode.NOT_COORDINATOR, now_ms=self.now_ms)
            )

    def mark(self, markers: MarkersToWrite, *partitions: TopicPartition) -> None:
        """These partitions, or all, have written their markers."""
        self.carry_out(
            self.shard.markers_written(
                markers.transactional_id,
                markers.producer_id,
                markers.producer_epoch,
                partitions or markers.partitions,
                now_ms=self.now_ms,
            )
        )

    def advance(self, ms: int) -> None:
        """Let time pass, deadline by deadline."""
        end_ms = self.now_ms + ms
        while (deadline_ms := self.shard.next_deadline_ms()) is not None and deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            self.carry_out(self.shard.tick(self.now_ms))
        self.now_ms = end_ms

    def token(self) -> int:
        token = next(self._tokens)
        self.asked.add(token)
        return token

    # -- requests -------------------------------------------------------------------------------

    def init(
        self,
        expected: Identity = (-1, -1),
        *,
        name: str = ID,
        timeout_ms: int = TIMEOUT_MS,
        version: int = 6,
        keep: bool = False,
        waits: bool = False,
    ) -> int:
        """The token under which the answer is or will be found.

        `keep` has a transaction that goes on kept, and `waits` wants transactions without timeout.
        """
        token = self.token()
        request = InitProducerIdRequest(
            name, timeout_ms, *expected, enable2_pc=waits, keep_prepared_txn=keep
        )
        self.carry_out(
            self.shard.init_producer_id(
                request, token=token, api_version=version, now_ms=self.now_ms
            )
        )
        return token

    def add(
        self,
        identity: Identity,
        *partitions: TopicPartition,
        name: str = ID,
        version: int = 3,
        verify_only: bool = False,
    ) -> int:
        token = self.token()
        self.carry_out(
            self.shard.add_partitions(
                name,
                *identity,
                partitions,
                token=token,
                api_version=version,
                now_ms=self.now_ms,
                verify_only=verify_only,
            )
        )
        return token

    def verify(self, identity: Identity, *partitions: TopicPartition, version: int = 5) -> int:
        return self.add(identity, *partitions, version=version, verify_only=True)

    def add_offsets(self, identity: Identity, *, name: str = ID, version: int = 4) -> int:
        token = self.token()
        self.carry_out(
            self.shard.add_offsets(
                AddOffsetsToTxnRequest(name, *identity, "group"),
                OFFSETS,
                token=token,
                api_version=version,
                now_ms=self.now_ms,
            )
        )
        return token

    def end(
        self, identity: Identity, committed: bool, *, name: str = ID, version: int = CLASSIC
    ) -> int:
        token = self.token()
        request = EndTxnRequest(name, *identity, committed)
        self.carry_out(
            self.shard.end_txn(request, token=token, api_version=version, now_ms=self.now_ms)
        )
        return token

    def listed(self, **filters: object) -> list[str]:
        request = ListTransactionsRequest(**filters)  # type: ignore[arg-type]
        listed = self.shard.list_transactions(TransactionFilter(request), now_ms=self.now_ms)
        return [each.transactional_id for each in listed]

    # -- answers --------------------------------------------------------------------------------

    def error(self, token: int) -> ErrorCode:
        """The one error code of the answer."""
        answer = self.answers[token]
        if isinstance(answer, AddPartitionsToTxnResponse):
            (error,) = set(self.errors(token).values())
            return error
        return ErrorCode(answer.error_code)  # type: ignore[attr-defined]

    def errors(self, token: int) -> dict[TopicPartition, ErrorCode]:
        return {
            (topic.name, each.partition_index): ErrorCode(each.partition_error_code)
            for topic in self.result(token).topic_results
            for each in topic.results_by_partition
        }

    def result(self, token: int) -> AddPartitionsToTxnResult:
        answer = self.answers[token]
        assert isinstance(answer, AddPartitionsToTxnResponse)
        (result,) = answer.results_by_transaction
        return result

    def identity(self, token: int) -> Identity:
        """What the answer says the producer goes on with."""
        answer = self.answers[token]
        assert isinstance(answer, InitProducerIdResponse | EndTxnResponse)
        assert answer.error_code == ErrorCode.NONE
        return answer.producer_id, answer.producer_epoch

    def kept(self, token: int) -> Identity:
        """What the answer says of the transaction that goes on."""
        answer = self.answers[token]
        assert isinstance(answer, InitProducerIdResponse)
        assert answer.error_code == ErrorCode.NONE
        return answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch

    def state(self, name: str = ID) -> str:
        return self.shard.describe(name).transaction_state

    @property
    def images(self) -> list[TransactionImage | None]:
        """What the log says, record by record; None for a tombstone."""
        assert all(decode_key(record.key) is not None for record in self.log)
        return [None if value is None else decode_image(value) for _, value in self.log]

    # -- scenarios ------------------------------------------------------------------------------

    def begin(self, *partitions: TopicPartition, version: int = 3, waits: bool = False) -> Identity:
        """A new instance with a transaction that goes on."""
        identity = self.identity(self.init(waits=waits))
        assert self.error(self.add(identity, *(partitions or [T0]), version=version)) == 0
        return identity


def _encode_in_all_versions(response: Response) -> None:
    """A result of one transaction is put into another answer up to version 3.

    Who asks in a version before 6 can't have a transaction kept, and is told of none.
    """
    for version in range(response.MIN_VERSION, response.MAX_VERSION + 1):
        try:
            response.encode(Writer(), version)
        except UnsupportedFieldError:
            assert isinstance(response, AddPartitionsToTxnResponse | InitProducerIdResponse)
            assert version <= (5 if isinstance(response, InitProducerIdResponse) else 3)
