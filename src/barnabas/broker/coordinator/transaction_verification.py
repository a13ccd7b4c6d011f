"""Verifies with the coordinator, once, that a transaction may write to a partition.

Before the first batch of a transaction is stored in a partition, the leader verifies that the
transaction is open and includes this partition; otherwise no marker would ever end it there:

- A producer of the newer generation leaves it to the leader to add the partition. A late batch of
  a transaction that is over has an older epoch, which the coordinator refuses. One that comes
  before the marker of the transaction before it waits: the coordinator is busy until then.
- One of the older generation has added it already. A late batch may have the epoch of the next
  transaction too, so what was verified counts only if no marker came meanwhile.

Further batches of the same producer wait meanwhile, so that batches keep their order.
"""

from asyncio import AbstractEventLoop, Future
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from barnabas.broker.coordinator.leader_partition import LeaderPartition
from barnabas.broker.coordinator.transaction_coordinator import TransactionCoordinator
from barnabas.broker.net.peers import Peers, PeerUnavailable
from barnabas.broker.runtime.clock import Clock
from barnabas.coordination.coordinator_partition import partition_of
from barnabas.log import StorageError
from barnabas.metadata.image import TRANSACTION_STATE, MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

LANE = "transactions"
_VERSION = 5
_CALL_TIMEOUT_MS = 5_000
_PATIENCE_MS = 1_000
"""How long a request is retried while the coordinator is busy or unknown."""
_RETRY_S = 0.005
_MAX_RETRY_S = 0.1

UNAVAILABLE = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""Errors that are worth a retry."""

Done = Callable[[ErrorCode], None]
Key = tuple[LeaderPartition, int, int]
"""LeaderPartition, producer id and epoch."""


@dataclass(slots=True)
class _Asked:
    """A pending verification, and the callbacks that wait for it."""

    key: Key
    transactional_id: str
    adds: bool
    deadline_ms: int
    leader_epoch: int
    attempt: int = 0
    pause_s: float = _RETRY_S
    waiting: list[Done] = field(default_factory=list)


class TransactionVerification:
    def __init__(
        self,
        loop: AbstractEventLoop,
        clock: Clock,
        node_id: int,
        peers: Peers,
        image: MetadataImage,
        coordinator: TransactionCoordinator,
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._node_id = node_id
        self._peers = peers
        self._image = image
        self._coordinator = coordinator
        self._asked: dict[Key, _Asked] = {}
        self._to_ask: list[_Asked] = []
        self.failures = 0
        """Batches that were refused, as their transaction could not be verified."""

    def when_verified(
        self,
        partition: LeaderPartition,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        *,
        adds: bool,
        done: Done,
    ) -> None:
        """Call `done` when verified; at once if a transaction of this producer is already open
        here.

        It gets NONE, one of `UNAVAILABLE`, TRANSACTION_ABORTABLE for a transaction that does not
        include the partition, or another error of the coordinator.
        """
        key = (partition, producer_id, producer_epoch)
        asked = self._asked.get(key)
        if asked is not None:
            asked.waiting.append(done)
        elif (known := _is_known(partition, producer_id, producer_epoch)) is not None:
            done(known)
        else:
            deadline_ms = self._clock.steady_ms() + _PATIENCE_MS
            asked = _Asked(
                key, transactional_id, adds, deadline_ms, partition.leader_epoch, waiting=[done]
            )
            self._asked[key] = asked
            self._ask(asked)

    def transaction_ended(
        self, partition: LeaderPartition, _next_offset: int, producer_id: int, _is_commit: bool
    ) -> None:
        """The transaction has a marker here now: earlier verifications no longer count."""
        for key, asked in list(self._asked.items()):
            if key[0] is partition and key[1] == producer_id and not asked.adds:
                self._settle(asked, ErrorCode.INVALID_TXN_STATE)

    def _settle(self, asked: _Asked, error: ErrorCode) -> None:
        if self._asked.get(asked.key) is not asked:
            return
        del self._asked[asked.key]
        if asked.key[0].leader_epoch != asked.leader_epoch:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER  # another leader may have ended it
        if error is not ErrorCode.NONE:
            self.failures += len(asked.waiting)
        for done in asked.waiting:
            done(error)

    # -- requests ----------------------------------------------------------------------------------

    def _ask(self, asked: _Asked) -> None:
        if self._asked.get(asked.key) is not asked:
            return
        asked.attempt += 1
        if not self._to_ask:
            self._loop.call_soon(self._ask_all)
        self._to_ask.append(asked)

    def _ask_all(self) -> None:
        """Send the verifications of one turn of the event loop together."""
        to_ask, self._to_ask = self._to_ask, []
        together: defaultdict[tuple[str, int, int, bool], list[_Asked]] = defaultdict(list)
        for asked in to_ask:
            _, producer_id, epoch = asked.key
            together[asked.transactional_id, producer_id, epoch, asked.adds].append(asked)
        for key, group in together.items():
            self._ask_coordinator(*key, group)

    def _ask_coordinator(
        self, transactional_id: str, producer_id: int, epoch: int, adds: bool, group: list[_Asked]
    ) -> None:
        answer = self._answer(transactional_id, producer_id, epoch, adds, group)
        if isinstance(answer, ErrorCode):
            for asked in group:
                self._heard(asked, answer)
        else:
            answer.add_done_callback(lambda done: self._answered(group, done))

    def _answer(
        self, transactional_id: str, producer_id: int, epoch: int, adds: bool, group: list[_Asked]
    ) -> "Future[AddPartitionsToTxnResponse] | ErrorCode":
        topic = self._image.topics.get(TRANSACTION_STATE)
        if topic is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        partitions = [(asked.key[0].topic, asked.key[0].index) for asked in group]
        leader_id = topic.partitions[partition_of(transactional_id, len(topic.partitions))].leader
        if leader_id == self._node_id:
            shard = self._coordinator.find(transactional_id)
            if isinstance(shard, ErrorCode):
                return shard
            return shard.decide(
                lambda token: shard.transactions.add_partitions(
                    transactional_id,
                    producer_id,
                    epoch,
                    partitions,
                    token=token,
                    api_version=_VERSION,
                    now_ms=shard.now_ms(),
                    verify_only=not adds,
                )
            )
        if leader_id < 0:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        by_topic: defaultdict[str, list[int]] = defaultdict(list)
        for name, index in partitions:
            by_topic[name].append(index)
        request = AddPartitionsToTxnRequest(
            [
                AddPartitionsToTxnTransaction(
                    transactional_id,
                    producer_id,
                    epoch,
                    not adds,
                    [AddPartitionsToTxnTopic(*each) for each in by_topic.items()],
                )
            ]
        )
        return self._peers.call(
            leader_id, request, _VERSION, timeout_ms=_CALL_TIMEOUT_MS, lane=LANE
        )

    def _answered(self, group: list[_Asked], done: "Future[AddPartitionsToTxnResponse]") -> None:
        if done.cancelled() or isinstance(done.exception(), PeerUnavailable):
            for asked in group:
                self._heard(asked, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        response = done.result()
        errors = {
            (topic.name, each.partition_index): each.partition_error_code
            for transaction in response.results_by_transaction
            for topic in transaction.topic_results
            for each in topic.results_by_partition
        }
        for asked in group:
            partition = asked.key[0]
            code = errors.get((partition.topic, partition.index), response.error_code)
            self._heard(asked, ErrorCode(code))

    def _heard(self, asked: _Asked, error: ErrorCode) -> None:
        if error not in UNAVAILABLE or self._clock.steady_ms() >= asked.deadline_ms:
            self._settle(asked, error)
            return
        again = partial(self._ask_again, asked, asked.attempt)
        self._loop.call_later(asked.pause_s, again)
        asked.pause_s = min(2 * asked.pause_s, _MAX_RETRY_S)
        if error is ErrorCode.CONCURRENT_TRANSACTIONS:
            shard = self._coordinator.find(asked.transactional_id)
            if not isinstance(shard, ErrorCode):  # it is local: its last transaction is nearly over
                shard.progress().add_done_callback(again)

    def _ask_again(self, asked: _Asked, attempt: int, _: object = None) -> None:
        if asked.attempt == attempt:
            self._ask(asked)


def _is_known(
    partition: LeaderPartition, producer_id: int, producer_epoch: int
) -> ErrorCode | None:
    """NONE if the transaction is already open here; None if the coordinator has to be asked."""
    try:
        offset = partition.log.producer_state.ongoing_transaction(producer_id, producer_epoch)
    except StorageError:
        return ErrorCode.KAFKA_STORAGE_ERROR
    return None if offset is None else ErrorCode.NONE
