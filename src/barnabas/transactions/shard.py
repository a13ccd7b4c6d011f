"""The transactional ids whose state lives in one partition of `__transaction_state`.

The shard decides, the broker persists, the shard replays:

    decision = shard.end_txn(...)             # any request, markers_written(), or tick()
    # send decision.replies and decision.markers; if there are decision.records, append them as
    # one batch, then
    decision = shard.committed(decision, ...) # or shard.failed(decision, ...), and go on from there

Every decision that has records gets exactly one of `committed` and `failed`, in the order in
which the records were appended; other requests may be decided in between. Whatever comes with a
token is answered exactly once, at once or with the decision's own records: nothing is parked.
"""

from collections.abc import Callable, Collection

from barnabas.coordination.decision import Decision, Reply
from barnabas.transactions.config import TransactionConfig
from barnabas.transactions.decision import TopicPartition, TransactionDecision
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.describe_transactions import TransactionState
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)


class TransactionShard:
    def __init__(
        self, config: TransactionConfig, new_producer_id: Callable[[], int | None]
    ) -> None:
        """`new_producer_id` says None when there is none at hand just now: the client retries."""
        raise NotImplementedError

    # -- what was persisted ---------------------------------------------------------------------

    def replay(self, key: bytes, value: bytes | None) -> None:
        """Take in one record of the partition; kinds that are not ours are passed over.

        Raises `CorruptTransactionRecord`.
        """
        raise NotImplementedError

    def loaded(self, now_ms: int) -> TransactionDecision:
        """The whole partition has been replayed: what was being ended goes on being ended."""
        raise NotImplementedError

    def unload(self, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> list[Reply]:
        """Forget everything; the shard is over. Nobody is parked, so there is nobody to answer."""
        raise NotImplementedError

    def committed(self, decision: Decision, *, now_ms: int) -> TransactionDecision:
        """The decision's records are persisted: replay them and say what follows."""
        raise NotImplementedError

    def failed(
        self,
        decision: Decision,
        error: ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE,
        *,
        now_ms: int,
    ) -> TransactionDecision:
        """The decision's records are not persisted: take back what they stood for."""
        raise NotImplementedError

    # -- requests -------------------------------------------------------------------------------

    def init_producer_id(
        self, request: InitProducerIdRequest, *, token: object, api_version: int, now_ms: int
    ) -> TransactionDecision:
        """Answers an InitProducerIdResponse. The request has a transactional id."""
        raise NotImplementedError

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
        """Answers an AddPartitionsToTxnResponse with one entry in `results_by_transaction`.

        That is so in every version: up to version 3 its topics are the whole answer.
        """
        raise NotImplementedError

    def add_offsets(
        self,
        request: AddOffsetsToTxnRequest,
        offsets_partition: TopicPartition,
        *,
        token: object,
        api_version: int,
        now_ms: int,
    ) -> TransactionDecision:
        """Answers an AddOffsetsToTxnResponse."""
        raise NotImplementedError

    def end_txn(
        self, request: EndTxnRequest, *, token: object, api_version: int, now_ms: int
    ) -> TransactionDecision:
        """Answers an EndTxnResponse."""
        raise NotImplementedError

    def describe(self, transactional_id: str) -> TransactionState:
        raise NotImplementedError

    def list_transactions(
        self, request: ListTransactionsRequest, *, now_ms: int
    ) -> ListTransactionsResponse:
        """Its transactions; several shards' answers are one by concatenation."""
        raise NotImplementedError

    # -- markers --------------------------------------------------------------------------------

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
        raise NotImplementedError

    def topics_deleted(self, names: Collection[str], *, now_ms: int) -> TransactionDecision:
        """Markers for these topics need not be written any more."""
        raise NotImplementedError

    # -- time -----------------------------------------------------------------------------------

    def next_deadline_ms(self) -> int | None:
        """When `tick` has something to do; it may turn out to be nothing."""
        raise NotImplementedError

    def tick(self, now_ms: int) -> TransactionDecision:
        raise NotImplementedError
