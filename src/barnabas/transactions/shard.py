"""The transactional ids of one partition of `__transaction_state`.

The shard decides, the broker persists, the shard replays:

    decision = shard.end_txn(...)             # any request, markers_written(), or tick()
    # send decision.replies and decision.markers; if there are decision.records, append them as
    # one batch, then
    decision = shard.committed(decision, ...) # or shard.failed(decision, ...), and so on

Every decision that has records gets exactly one of `committed` and `failed`, in the order in
which the records were appended; other requests may be decided in between. Every token is answered
exactly once, at once or with the decision's own records: nothing is parked.
"""

from collections.abc import Callable, Collection, Iterator

from barnabas.coordination.deadline_queue import DeadlineQueue
from barnabas.coordination.decision import CoordinatorDecision, Reply
from barnabas.transactions import (
    add_partitions,
    admin,
    end_txn,
    init_producer_id,
    markers,
    timeouts,
)
from barnabas.transactions.config import TransactionConfig
from barnabas.transactions.decision import MarkersToWrite, TopicPartition, TransactionDecision
from barnabas.transactions.image import TransactionImage
from barnabas.transactions.markers import awaits
from barnabas.transactions.records import decode_key
from barnabas.transactions.transaction import Transaction
from barnabas.transactions.transaction_counts import TransactionCounts
from barnabas.transactions.transactions_image import TransactionsImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.describe_transactions import TransactionState
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_transactions import TransactionState as ListedTransaction

_MAX_RECORDS_PER_TICK = 500
"""If many ids expire at the same time, they are removed in several ticks."""


class TransactionShard:
    __slots__ = ("_config", "_counts", "_deadlines", "_new_producer_id", "_transactions", "image")

    def __init__(
        self,
        config: TransactionConfig,
        new_producer_id: Callable[[], int | None],
        counts: TransactionCounts | None = None,
    ) -> None:
        """`new_producer_id` returns None if none is available yet; then the client retries.

        Several shards may have the same `counts`.
        """
        self._counts = TransactionCounts() if counts is None else counts
        self._config = config
        self._new_producer_id = new_producer_id
        self.image = TransactionsImage()
        """What is persistent; everything else in a shard is soft."""
        self._transactions: dict[str, Transaction] = {}
        self._deadlines = DeadlineQueue()

    # -- replay ---------------------------------------------------------------------------------

    def replay(self, key: bytes, value: bytes | None) -> None:
        """Apply one stored record; records of unknown kinds are skipped. Raises `CorruptRecord`."""
        self.image.replay(key, value)

    def loaded(self, now_ms: int) -> TransactionDecision:
        """The whole partition was replayed: begin to serve it, and write missing markers."""
        decision = TransactionDecision()
        for transactional_id in self.image:
            self._replayed(self._transaction(transactional_id), None, decision, now_ms)
        return decision

    def unload(self, _error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> list[Reply]:
        """End the shard: forget everything. No request is parked, so there are no replies."""
        self._transactions.clear()
        self.image = TransactionsImage()
        self._deadlines = DeadlineQueue()
        return []

    def committed(self, decision: CoordinatorDecision, *, now_ms: int) -> TransactionDecision:
        """The decision's records are committed: replay them and decide what follows."""
        follow_up = TransactionDecision()
        for record in decision.records:
            transactional_id = decode_key(record.key)
            assert transactional_id is not None
            transaction = self._transactions[transactional_id]
            assert transaction.pending is not None
            before = transaction.image
            self.image.replay(record.key, record.value)
            self._counts.changed(before, transaction.image)
            self._replayed(transaction, before, follow_up, now_ms)
        follow_up.replies += (Reply(held.token, held.committed) for held in decision.held)
        return follow_up

    def _replayed(
        self,
        transaction: Transaction,
        before: TransactionImage | None,
        follow_up: TransactionDecision,
        now_ms: int,
    ) -> None:
        """Bring the soft state of a transactional id in line with its new image."""
        transaction.replayed(before, now_ms)
        image = transaction.image
        if image is not None and image.state.is_prepared:
            markers.send_markers(transaction, follow_up, now_ms)
        self._settle(transaction)

    def failed(
        self,
        decision: CoordinatorDecision,
        error: ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE,
        *,
        now_ms: int,
    ) -> TransactionDecision:
        """The decision's records are not persisted: undo the decision.

        Requests that wait for it get `error`; internal changes are retried after a while. After
        `unload` there is nothing to undo.
        """
        follow_up = TransactionDecision()
        for record in decision.records:
            transactional_id = decode_key(record.key)
            assert transactional_id is not None
            transaction = self._transactions.get(transactional_id)
            if transaction is not None:
                transaction.withdraw(now_ms)
                self._settle(transaction)
        follow_up.replies += (Reply(held.token, held.failed(error)) for held in decision.held)
        return follow_up

    # -- requests -------------------------------------------------------------------------------

    def init_producer_id(
        self, request: InitProducerIdRequest, *, token: object, api_version: int, now_ms: int
    ) -> TransactionDecision:
        """Replies with an InitProducerIdResponse. The request has a transactional id."""
        decision = TransactionDecision()
        error = init_producer_id.check_request(request, self._config)
        if error is ErrorCode.NONE and not self._has_room_for(request.transactional_id or ""):
            error = ErrorCode.POLICY_VIOLATION
        if error is not ErrorCode.NONE:
            decision.reply(token, init_producer_id.refused(error, api_version))
            return decision
        assert request.transactional_id
        transaction = self._transaction(request.transactional_id)
        init_producer_id.init_producer_id(
            transaction, request, token, api_version, self._new_producer_id, decision, now_ms
        )
        self._settle(transaction)
        return decision

    def _has_room_for(self, transactional_id: str) -> bool:
        known = self._transactions
        return transactional_id in known or len(known) < self._config.max_transactional_ids

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        *,
        token: object,
        api_version: int,
        now_ms: int,
        verify_only: bool = False,
    ) -> TransactionDecision:
        """Replies with an AddPartitionsToTxnResponse, one entry in `results_by_transaction`.

        That is so in every version: up to version 3 its topics are the whole response.
        """
        decision = TransactionDecision()
        transaction = self._transactions.get(transactional_id)
        identity = producer_id, producer_epoch
        if verify_only:
            add_partitions.verify(
                transaction, transactional_id, identity, partitions, token, api_version, decision
            )
        else:
            add_partitions.add_partitions(
                transaction,
                transactional_id,
                identity,
                partitions,
                token,
                api_version,
                decision,
                now_ms,
            )
        return decision

    def add_offsets(
        self,
        request: AddOffsetsToTxnRequest,
        offsets_partition: TopicPartition,
        *,
        token: object,
        api_version: int,
        now_ms: int,
    ) -> TransactionDecision:
        """Replies with an AddOffsetsToTxnResponse."""
        decision = TransactionDecision()
        transaction = self._transactions.get(request.transactional_id)
        add_partitions.add_offsets(
            transaction, request, offsets_partition, token, api_version, decision, now_ms
        )
        return decision

    def end_txn(
        self, request: EndTxnRequest, *, token: object, api_version: int, now_ms: int
    ) -> TransactionDecision:
        """Replies with an EndTxnResponse."""
        decision = TransactionDecision()
        transaction = self._transactions.get(request.transactional_id)
        end_txn.end_txn(
            transaction, request, token, api_version, self._new_producer_id, decision, now_ms
        )
        return decision

    def describe(self, transactional_id: str) -> TransactionState:
        return admin.describe(transactional_id, self._transactions.get(transactional_id))

    def list_transactions(
        self, wanted: admin.TransactionFilter, *, now_ms: int
    ) -> list[ListedTransaction]:
        """The transactions of this shard; the caller concatenates those of all shards."""
        listing = self.listing(wanted, now_ms=now_ms)
        return [listed for listed in listing if listed is not None]

    def listing(
        self, wanted: admin.TransactionFilter, *, now_ms: int
    ) -> Iterator[ListedTransaction | None]:
        """As `list_transactions`, one after the other, with None for each step in between."""
        return admin.listing(tuple(self._transactions.values()), wanted, now_ms)

    # -- markers --------------------------------------------------------------------------------

    def awaits(self, markers: MarkersToWrite, partition: TopicPartition) -> bool:
        """Whether these markers are still to be written to the partition.

        To be checked before each try: the topic may have been deleted and created again since, and
        a classic producer writes its next transaction in the same epoch.
        """
        transaction = self._transactions.get(markers.transactional_id)
        return transaction is not None and awaits(transaction, markers, partition)

    def markers_written(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        *,
        now_ms: int,
    ) -> TransactionDecision:
        """These markers are committed; with the last of them the transaction is complete."""
        decision = TransactionDecision()
        transaction = self._transactions.get(transactional_id)
        if transaction is not None:
            identity = producer_id, producer_epoch
            markers.written(transaction, identity, partitions, decision, now_ms)
        return decision

    def topics_deleted(self, names: Collection[str], *, now_ms: int) -> TransactionDecision:
        """Markers for these topics are no longer needed."""
        decision = TransactionDecision()
        for transaction in self._transactions.values():
            markers.topics_deleted(transaction, names, decision, now_ms)
        return decision

    # -- time -----------------------------------------------------------------------------------

    def next_deadline_ms(self) -> int | None:
        """When to call `tick`; there may be nothing to do then."""
        return self._deadlines.next_ms()

    def tick(self, now_ms: int) -> TransactionDecision:
        decision = TransactionDecision()
        for transactional_id in self._deadlines.due(now_ms):
            transaction = self._transactions[transactional_id]
            timeouts.handle_timeout(transaction, self._new_producer_id, decision, now_ms)
            self._settle(transaction)
            if len(decision.records) >= _MAX_RECORDS_PER_TICK:
                break
        return decision

    # -- the transactions -----------------------------------------------------------------------

    def _transaction(self, transactional_id: str) -> Transaction:
        """The transaction, or a new one, which `_settle` registers unless it is void."""
        return self._transactions.get(transactional_id) or Transaction(
            transactional_id, self._config, self.image
        )

    def _settle(self, transaction: Transaction) -> None:
        """A transaction may have changed: register it with its next deadline, or forget it."""
        transactional_id = transaction.transactional_id
        if transaction.is_void:
            self._transactions.pop(transactional_id, None)
            self._deadlines.forget(transactional_id)
            return
        self._transactions[transactional_id] = transaction
        deadline_ms = transaction.next_deadline_ms()
        if deadline_ms is not None:
            self._deadlines.set(transactional_id, deadline_ms)
