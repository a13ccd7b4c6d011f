"""A producer's state under a transactional id: its identity, and the requests to coordinators.

    start -> (add partitions and offsets -> end) ...

Two generations of the protocol are spoken. In the older one the producer adds every partition and
group to the transaction before it writes to it, and its epoch stays. In the newer one, spoken when
the cluster has agreed on `transaction.version` 2, brokers add what is written to by themselves, and
the end of every transaction raises the epoch: what comes late can't slip into the next one.

The last producer to start with an id owns it; earlier ones are fenced, and what they left open is
rolled back. `broken` is set when nothing more can come of this producer, and stays.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import NoReturn

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.connection_pool import Channel
from barnabas.client.group.committed_offsets import GroupMembership
from barnabas.client.producer.prepared_transactions import (
    FEATURE,
    IMPLICIT,
    NO_TIMEOUT_MS,
    PreparedTransaction,
    check_can_wait,
    check_may_wait,
)
from barnabas.client.producer.producer_identity import ProducerIdentity
from barnabas.errors import BarnabasError, BrokerError, CommitUncertain, ProducerFenced
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

# The newest versions of the older generation.
_ADD_PARTITIONS_BY_CLIENT = 3
_END_WITHOUT_EPOCH = 4
_OFFSETS_ADDED_BEFORE = 4

# A commit that is refused with one of these has not happened, and the producer can go on.
_ABORTABLE = frozenset({ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE})
_FENCED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})


class TransactionalId:
    """Speaks to the coordinator of one transactional id, in one producer's name."""

    def __init__(
        self, cluster: ClusterClient, transactional_id: str, *, timeout_ms: int | None
    ) -> None:
        """Without a timeout, transactions wait for a decision made elsewhere."""
        self.transactional_id = transactional_id
        self.identity = ProducerIdentity(-1, -1, transactional=True)
        self.broken: BarnabasError | None = None
        self.adds_implicitly = False
        self._cluster = cluster
        self._timeout_ms = timeout_ms
        self._channel = Channel()  # the coordinator waits for the replicas of its own log

    async def start(self) -> None:
        """Take the id over: fence its last owner, and have its open transaction rolled back."""
        await self._init(ProducerIdentity(-1, -1))

    @property
    def prepared(self) -> PreparedTransaction:
        """The transaction, for another producer to end it."""
        identity = self.identity
        return PreparedTransaction(
            self.transactional_id, identity.producer_id, identity.producer_epoch
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._cluster.close_channel(self._channel)

    async def raise_epoch(self) -> None:
        """Restart the sequence numbers, unless another producer has the id by now."""
        await self._init(self.identity)

    async def _init(self, expected: ProducerIdentity) -> None:
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=NO_TIMEOUT_MS if self._timeout_ms is None else self._timeout_ms,
            producer_id=expected.producer_id,
            producer_epoch=expected.producer_epoch,
            enable2_pc=self._timeout_ms is None,
        )

        async def attempt() -> None:
            coordinator = await self._coordinator()
            if self._timeout_ms is None:
                check_can_wait(coordinator)
            response = await coordinator.send(request, timeout_ms=self._cluster.request_timeout_ms)
            accept = check if self._timeout_ms is not None else check_may_wait
            accept(response.error_code, self._name)
            self.identity = ProducerIdentity(
                response.producer_id, response.producer_epoch, transactional=True
            )
            self.adds_implicitly = coordinator.feature_level(FEATURE) >= IMPLICIT

        try:
            await self._cluster.retrying(attempt)
        except BarnabasError as error:
            self._break(error)

    async def add_partitions(self, partitions: Collection[TopicPartition]) -> None:
        """Make partitions part of the transaction; only for the older generation."""
        if self.broken is not None:
            raise self.broken  # since it was fenced when it added others
        by_topic: defaultdict[str, list[int]] = defaultdict(list)
        for topic, partition in partitions:
            by_topic[topic].append(partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.identity.producer_id,
            v3_and_below_producer_epoch=self.identity.producer_epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name, each) for name, each in by_topic.items()
            ],
        )

        async def attempt() -> None:
            response = await (await self._coordinator()).send(
                request, max_version=_ADD_PARTITIONS_BY_CLIENT
            )
            refused = {
                TopicPartition(topic.name, result.partition_index): result.partition_error_code
                for topic in response.results_by_topic_v3_and_below
                for result in topic.results_by_partition
                if result.partition_error_code
            }
            # If one is refused, the others are not attempted; they aren't what is wrong.
            for passed_over in (False, True):
                for partition, code in refused.items():
                    if (code == ErrorCode.OPERATION_NOT_ATTEMPTED) is passed_over:
                        what = f"{self._name}, partition {partition}"
                        raise broker_error(code, what, needs="write")

        await self._coordinate(attempt)

    async def add_offsets(self, group_id: str) -> None:
        """Make a group's offsets part of the transaction; only for the older generation."""
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.producer_epoch,
            group_id=group_id,
        )

        async def attempt() -> None:
            response = await (await self._coordinator()).send(request)
            check(response.error_code, f"{self._name}, group {group_id}", needs="read")

        await self._coordinate(attempt)

    async def commit_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int],
        membership: GroupMembership,
        metadata: Mapping[TopicPartition, str],
    ) -> None:
        """Let the group's coordinator keep offsets that count once the transaction is committed."""
        topics: defaultdict[str, list[TxnOffsetCommitRequestPartition]] = defaultdict(list)
        for name, offset in offsets.items():
            topics[name.topic].append(
                TxnOffsetCommitRequestPartition(
                    partition_index=name.partition,
                    committed_offset=offset,
                    committed_metadata=metadata.get(name, ""),
                )
            )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group_id,
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.producer_epoch,
            generation_id=membership.generation_id,
            member_id=membership.member_id,
            group_instance_id=membership.group_instance_id,
            topics=[TxnOffsetCommitRequestTopic(name, each) for name, each in topics.items()],
        )
        newest = None if self.adds_implicitly else _OFFSETS_ADDED_BEFORE

        async def attempt() -> None:
            coordinator = await self._cluster.coordinator(group_id, self._channel)
            response = await coordinator.send(request, max_version=newest)
            for topic in response.topics:
                for answer in topic.partitions:
                    what = f"group {group_id}, partition {topic.name}-{answer.partition_index}"
                    check(answer.error_code, what, needs="read")

        await self._coordinate(attempt)

    async def end(self, *, committed: bool) -> None:
        """End the transaction; what was decided is final when this returns.

        Raises `CommitUncertain` if a commit was asked for and not answered.
        """
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.producer_epoch,
            committed=committed,
        )
        newest = None if self.adds_implicitly else _END_WITHOUT_EPOCH

        async def attempt() -> None:
            coordinator = await self._coordinator()
            response = await coordinator.send(
                request, max_version=newest, timeout_ms=self._cluster.request_timeout_ms
            )
            if response.error_code == ErrorCode.INVALID_TXN_STATE:
                if not committed:
                    return  # nothing to roll back: the coordinator does not know it
                raise BrokerError(
                    ErrorCode.INVALID_TXN_STATE,
                    f"{self._name}: the coordinator has rolled it back, as it does with a "
                    f"transaction that takes longer than {self._timeout_ms} ms",
                )
            check(response.error_code, self._name)
            if self.adds_implicitly:
                self.identity = ProducerIdentity(
                    response.producer_id, response.producer_epoch, transactional=True
                )

        try:
            await self._coordinate(attempt)
        except BaseException as error:
            if isinstance(error, BrokerError) and error.code in _ABORTABLE:
                raise
            broken = self.give_up(error, committed=committed)
            if isinstance(error, BarnabasError) and broken is not error:
                raise broken from error
            raise

    def give_up(self, error: BaseException, *, committed: bool = False) -> BarnabasError:
        """Let nothing more be done in this producer's name: it can't tell how things stand."""
        if self.broken is None:
            self.broken = self._unsettled(error, committed=committed)
        return self.broken

    def _unsettled(self, error: BaseException, *, committed: bool) -> BarnabasError:
        if isinstance(error, BarnabasError) and not error.retriable:
            return error
        if committed:
            return CommitUncertain(
                f"{self._name}: the commit was not confirmed, so it may have happened or not "
                f"({str(error) or type(error).__name__}). Create a new producer, then "
                "check what was committed"
            )
        return BrokerError(
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            f"{self._name}: it was not confirmed that its transaction is rolled back "
            f"({str(error) or type(error).__name__}); create a new producer, which rolls it back",
        )

    # -- the coordinator -----------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return f"transactional id {self.transactional_id}"

    async def _coordinator(self) -> BrokerConnection:
        return await self._cluster.transaction_coordinator(self.transactional_id, self._channel)

    async def _coordinate(self, attempt: Callable[[], Awaitable[None]]) -> None:
        """Try until it succeeds or fails for good; being fenced ends this producer."""
        try:
            await self._cluster.retrying(attempt)
        except BrokerError as error:
            if error.code in _FENCED or error.code is ErrorCode.INVALID_PRODUCER_ID_MAPPING:
                self._break(error)
            raise

    def _break(self, error: BarnabasError) -> NoReturn:
        """Raise what ends this producer, and keep it for all that is asked of it later."""
        if isinstance(error, BrokerError) and error.code in _FENCED:
            self.broken = ProducerFenced.of(self.transactional_id)
            raise self.broken from error
        self.broken = error
        raise error
