"""One Produce request: its batches are stored one after the other, in turns of the event loop.

A batch is stored as it came, unless `compression.type` says otherwise: then a thread compresses it
first (`recompression`). A thread also checks compressed batches beyond what the event loop may
decompress in one turn. Many batches of one request are stored in several turns.

Before the first batch of a transaction is stored in a partition, the leader verifies it with the
coordinator (`transaction_verification`); other requests are handled meanwhile.

An unexpected error in any of these turns closes the connection, as in the first.
"""

from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from barnabas.broker.control.broker_lifecycle import BrokerLifecycle
from barnabas.broker.control.cluster_view import ClusterView
from barnabas.broker.coordinator.transaction_verification import (
    UNAVAILABLE,
    TransactionVerification,
)
from barnabas.broker.handlers.produce_answers import (
    ADDS_FROM,
    for_client,
    refuse_invalid,
    tell_leaders,
)
from barnabas.broker.net.dispatcher import RequestContext, internal_error
from barnabas.broker.replica.append_limits import MAX_RECORD_ERRORS
from barnabas.broker.replica.leader_appender import AppendRefused
from barnabas.broker.replica.partition import Partition
from barnabas.broker.replica.partitions import Partitions
from barnabas.broker.replica.recompression import (
    NotCompressed,
    PreparedBatch,
    Recompression,
    is_compressed,
)
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.request_budget import RequestBudget
from barnabas.broker.runtime.slices import timed
from barnabas.log import StorageError
from barnabas.metadata.image import MetadataImage
from barnabas.records.batch import HEADER_SIZE, BatchHeader, Buffer, parse_header
from barnabas.records.decompression_budget import OverBudget, SmallerBudget
from barnabas.records.errors import InvalidBatch
from barnabas.records.validate import CheckedBatch
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
)
from barnabas.wire.primitives import WireError

ACKS_ALL = -1

_Batch = tuple[Partition | None, PartitionProduceData, PartitionProduceResponse]

_TURN_BYTES = 2 << 20
"""Stored in one turn of the event loop: 10 ms at most, if all records or headers are tiny."""
_BATCH_BYTES = 16 << 10
"""A batch takes as long as so many bytes, however small it is."""


class Needs(Protocol):
    """What a production asks of the node."""

    clock: Clock
    cluster: ClusterView
    image: MetadataImage
    lifecycle: BrokerLifecycle
    loop: AbstractEventLoop
    partitions: Partitions
    recompression: Recompression
    split_productions: set[object]
    transaction_verification: TransactionVerification


class Production:
    """One request, until every batch of it is stored or refused, and what is stored committed."""

    def __init__(self, node: Needs, request: ProduceRequest, context: RequestContext) -> None:
        self.response = ProduceResponse()
        self.batches: deque[_Batch] = deque()
        """Those that are still to be stored."""
        self._is_split = False
        """Whether they are stored in several turns of the event loop, and some are left."""
        self._has_failed = False
        self._node = node
        # Not the request: what is stored must not keep the receive buffer until it is committed.
        self._acks = request.acks
        self._timeout_ms = request.timeout_ms
        self._transactional_id = request.transactional_id
        self._context = context
        self._time_ms = node.clock.now_ms()
        self._waiting_batches = 0
        """Batches that wait for compression, for transaction verification, or to be committed, and
        one more while some are left."""
        self._record_errors_left = MAX_RECORD_ERRORS
        """How many more single records the answer may name."""
        self._budget: RequestBudget | None = None
        """What the request may decompress to, once it has a compressed batch."""
        self._answered: Future[ProduceResponse | None] | None = None

    def store_some(self) -> None:
        """Store as much as may be stored in one turn, and the rest in the next.

        Meanwhile the connection handles and reads nothing: later requests can't overtake this one,
        and its batches stay in the receive buffer. A node that stops waits for it.
        """
        batches, spent = self.batches, 0
        while batches and spent < _TURN_BYTES:
            partition, data, answer = batches.popleft()
            spent += _BATCH_BYTES + len(data.records or b"")
            self._store(partition, data, answer)
        if batches:
            if not self._is_split:
                self._is_split = True
                self._waiting_batches += 1
                self._node.split_productions.add(self)
                self._context.connection.hold()
                if self._context.quota is not None:
                    self._context.quota.continues()
            self._node.loop.call_soon(self._guarded, self._store_more)
        elif self._is_split:
            self._is_taken_in()
            self._one_done()

    def _store_more(self) -> None:
        timed(self._context.quota, self.store_some)

    def _is_taken_in(self) -> None:
        """Nothing is left of a request that was split."""
        self._is_split = False
        self._node.split_productions.discard(self)
        self._context.connection.release()

    def _guarded(self, step: Callable[..., None], *arguments: Any) -> None:
        """Run a step of a later turn: the caller can't handle its errors."""
        if self._has_failed:
            return
        try:
            step(*arguments)
        except Exception as error:  # noqa: BLE001 - as in the dispatcher
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Close the connection: nothing more is stored, held or waited for."""
        connection = self._context.connection
        self._has_failed = True
        self.batches.clear()
        connection.refuse(str(internal_error(connection, error)))
        if self._is_split:
            self._is_taken_in()
        if self._answered is not None:
            self._answered.cancel()

    def _store(
        self,
        partition: Partition | None,
        data: PartitionProduceData,
        answer: PartitionProduceResponse,
    ) -> None:
        """Store a batch, at once or when it is compressed and its transaction is verified."""
        if partition is None:
            answer.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            return
        if not partition.is_leader:  # it may be when the next batch comes
            self._refuse(partition, data, answer, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        recompression = self._node.recompression
        records = data.records
        budget = self._budget_for(partition, data)
        if recompression.passes(partition, records):
            turn = recompression.budget
            try:
                checked = partition.appender.check(
                    records, turn if budget is None else SmallerBudget(turn, budget)
                )
            except InvalidBatch as error:
                refuse_invalid(answer, error)
                return
            except OverBudget:
                pass  # a thread checks it, if the request may still decompress something
            else:
                self._enlist(partition, data, answer, checked)
                return
        self._waiting_batches += 1
        if records is not None:
            # The frame may be gone when the batch is refused; a refusal needs the header only.
            data.records = bytes(records[:HEADER_SIZE])
        recompression.when_compressed(
            partition,
            records,
            partial(self._guarded, self._compressed, partition, data, answer),
            self._context.connection,
            budget,
        )

    def _budget_for(self, partition: Partition, data: PartitionProduceData) -> RequestBudget | None:
        """The request's budget, if this batch needs it."""
        if not is_compressed(data.records or b""):
            return None
        if self._budget is None:
            batch_bytes = sum(len(each.records or b"") for _, each, _ in self.batches)
            batch_bytes += len(data.records or b"")
            self._budget = RequestBudget.of(batch_bytes, partition.limits.max_decompressed_bytes)
        return self._budget

    def _compressed(
        self,
        partition: Partition,
        data: PartitionProduceData,
        answer: PartitionProduceResponse,
        records: Buffer | PreparedBatch | NotCompressed,
    ) -> None:
        if isinstance(records, NotCompressed):
            answer.error_code = records.error_code
            if records.is_retriable:
                self._refuse(partition, data, answer, records.error_code)
            answer.error_message = records.message
        elif isinstance(records, PreparedBatch):
            data.records = records.batch
            self._enlist(partition, data, answer, records.checked)
        else:
            data.records = records
            self._enlist(partition, data, answer, None)
        self._one_done()

    def _enlist(
        self,
        partition: Partition,
        data: PartitionProduceData,
        answer: PartitionProduceResponse,
        checked: CheckedBatch | None,
    ) -> None:
        transactional_id = self._transactional_id
        header = None if transactional_id is None else _header(data)
        if transactional_id is None or header is None or not header.is_transactional:
            self._append(partition, data, answer, checked)
            return
        before = self._waiting_batches
        self._waiting_batches += 1
        self._node.transaction_verification.when_verified(
            partition,
            transactional_id,
            header.producer_id,
            header.producer_epoch,
            adds=self._context.version >= ADDS_FROM,
            done=partial(self._guarded, self._verified_in, partition, data, answer, checked),
        )
        if self._waiting_batches > before:
            data.records = bytearray(data.records or b"")  # the frame is gone by then

    def _verified_in(
        self,
        partition: Partition,
        data: PartitionProduceData,
        answer: PartitionProduceResponse,
        checked: CheckedBatch | None,
        error: ErrorCode,
    ) -> None:
        if error is ErrorCode.NONE:
            self._append(partition, data, answer, checked, verified=True)
        else:
            answer.error_code = code = for_client(error, self._context.version)
            if error in UNAVAILABLE:
                self._refuse(partition, data, answer, code)
            answer.error_message = f"the coordinator of the transaction says {error.name}"
        self._one_done()

    def _one_done(self) -> None:
        self._waiting_batches -= 1
        if self._waiting_batches == 0 and self._answered is not None:
            self._answer(self._answered)

    def _append(
        self,
        partition: Partition,
        data: PartitionProduceData,
        answer: PartitionProduceResponse,
        checked: CheckedBatch | None,
        *,
        verified: bool = False,
    ) -> None:
        acks = self._acks
        if acks == ACKS_ALL and partition.lacks_replicas:
            needed, found = partition.limits.min_insync_replicas, len(partition.isr)
            self._refuse(partition, data, answer, ErrorCode.NOT_ENOUGH_REPLICAS)
            answer.error_message = (
                f"min.insync.replicas is {needed}, and {found} of the replicas in sync"
            )
            return
        try:
            info = partition.appender.append(
                data.records,
                self._time_ms,
                verified=verified,
                checked=checked,
                max_record_errors=self._record_errors_left,
            )
        except InvalidBatch as error:
            refuse_invalid(answer, error)
            self._record_errors_left -= len(error.record_errors)
            return
        except AppendRefused as error:
            self._refuse(partition, data, answer, error.error_code)
            answer.error_message = str(error)
            return
        except StorageError as error:
            partition.log_refusal(error, self._time_ms)
            self._refuse(partition, data, answer, ErrorCode.KAFKA_STORAGE_ERROR)
            answer.error_message = str(error)
            return
        answer.base_offset = info.base_offset
        answer.log_append_time_ms = info.log_append_time_ms
        answer.log_start_offset = info.log_start_offset
        end = partition.log.log_end_offset
        if acks == ACKS_ALL and partition.high_watermark < end:
            # At once, although others of this request may take longer: if another node leads
            # meanwhile, this tells whether the batch was committed before.
            self._waiting_batches += 1
            partition.when_committed(end, self._timeout_ms, partial(self._committed, answer))

    def _committed(self, answer: PartitionProduceResponse, error: ErrorCode) -> None:
        if error is not ErrorCode.NONE:
            answer.error_code = error
            answer.base_offset = -1
        self._guarded(self._one_done)

    def _refuse(
        self,
        partition: Partition,
        data: PartitionProduceData,
        answer: PartitionProduceResponse,
        error: ErrorCode,
    ) -> None:
        """Refuse a batch that can't be stored now; the producer will retry it."""
        answer.error_code = error
        partition.appender.hold_back(data.records, error, self._time_ms)

    def outcome(self) -> "ProduceResponse | Future[Any] | None":
        """The answer, which may take a while; none for acks=0. All batches have been given."""
        if self._waiting_batches == 0:
            return self._stored()
        self._answered = self._node.loop.create_future()
        if self._has_failed:
            self._answered.cancel()
        return self._answered

    def _answer(self, answered: "Future[ProduceResponse | None]") -> None:
        if answered.done():  # the client has disconnected
            return
        try:
            response = self._stored()
        except WireError as error:
            self._context.connection.refuse(str(error))
            response = None
        answered.set_result(response)

    def _stored(self) -> ProduceResponse | None:
        """All batches are refused, or stored and, if that was asked for, committed."""
        node, response = self._node, self.response
        errors = {
            answer.error_code
            for topic in response.responses
            for answer in topic.partition_responses
            if answer.error_code
        }
        if self._acks == 0:
            if errors:
                raise WireError("a produce with acks=0 was refused")
            return None
        if errors:
            tell_leaders(node, response, self._context)
            if ErrorCode.NOT_LEADER_OR_FOLLOWER in errors and node.lifecycle.is_cut_off:
                self._context.disconnect_after_response(node.loop)
        return response


def _header(data: PartitionProduceData) -> BatchHeader | None:
    """The header of the first batch, as far as it can be read; `LeaderAppender` checks it."""
    records = data.records
    if records is None or len(records) < HEADER_SIZE:
        return None
    return parse_header(records)
