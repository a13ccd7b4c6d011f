"""Prepared transactions: written here, and decided and ended elsewhere.

A producer whose transactions have no timeout writes one and leaves it prepared
(`Transaction.prepare`). The deciding process writes down which it is, and ends it; when that was
interrupted, any process that knows the decision ends it again. A process that can not know the
decision, because it is stored elsewhere, takes the transaction over first (`keep_transaction`).

    prepared = await transaction.prepare()
    ...                                        # write it down: this is the decision
    await end_prepared(cluster, prepared, committed=True)

Ending is done when it is decided in the coordinator's log; readers see it a moment later.
"""

import asyncio
from collections.abc import Collection
from typing import NamedTuple

from barnabas.client.connect.broker_connection import BrokerConnection
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BrokerError, InvalidArgument, NotAuthorized
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest

FEATURE = "transaction.version"
IMPLICIT = 2
"""The level of the feature from which on brokers add partitions, and epochs grow with each end."""

SETTING = "transaction.two.phase.commit.enable"

_END_WITHOUT_EPOCH = 4
_WAITS_FROM = 6
NO_TIMEOUT_MS = 2**31 - 1
"""What a coordinator keeps as the timeout of a transaction that never times out."""


class PreparedTransaction(NamedTuple):
    """Names one transaction: a later owner of the transactional id has another epoch."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class KeptTransaction(NamedTuple):
    """What a new owner of a transactional id has found, and how it is to be ended."""

    found: PreparedTransaction | None
    """The transaction as it was written down, or should have been; None if none was open."""
    owned: PreparedTransaction
    """The same one as it is to be ended now: its writer is fenced."""


def check_can_wait(coordinator: BrokerConnection) -> None:
    """Raise if it does not know of transactions without a timeout."""
    if coordinator.version_for(InitProducerIdRequest) < _WAITS_FROM:
        raise InvalidArgument(
            "these brokers are too old for transactions without a timeout, which are prepared and "
            "ended elsewhere"
        )


def check_may_wait(error_code: int, what: str) -> None:
    """Raise for the answer to who has asked for transactions without a timeout."""
    if error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        raise NotAuthorized(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            f"{what}: the brokers do not allow transactions without a timeout; "
            f"set {SETTING}=true on each of them, and where there are access rules, allow this "
            "user to write and two_phase_commit on that id",
        )
    check(error_code, what)


async def keep_transaction(cluster: ClusterClient, transactional_id: str) -> KeptTransaction:
    """Take over a transactional id, with the transaction that is open."""
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=NO_TIMEOUT_MS,
        enable2_pc=True,
        keep_prepared_txn=True,
    )

    async def attempt() -> KeptTransaction:
        coordinator = await cluster.transaction_coordinator(transactional_id)
        check_can_wait(coordinator)
        response = await coordinator.send(request, timeout_ms=cluster.request_timeout_ms)
        check_may_wait(response.error_code, f"transactional id {transactional_id}")
        found = None
        if response.ongoing_txn_producer_id >= 0:
            found = PreparedTransaction(
                transactional_id,
                response.ongoing_txn_producer_id,
                response.ongoing_txn_producer_epoch,
            )
        owned = PreparedTransaction(transactional_id, response.producer_id, response.producer_epoch)
        return KeptTransaction(found, owned)

    return await cluster.retrying(attempt)


async def end_prepared(
    cluster: ClusterClient, prepared: PreparedTransaction, *, committed: bool
) -> None:
    """End it, or see that it is ended that way already.

    Raises `BrokerError` if it has been ended the other way, or another producer has taken it over.
    """
    request = EndTxnRequest(*prepared, committed=committed)

    async def attempt() -> None:
        coordinator = await cluster.transaction_coordinator(prepared.transactional_id)
        epochs_grow = coordinator.feature_level(FEATURE) >= IMPLICIT
        response = await coordinator.send(
            request,
            max_version=None if epochs_grow else _END_WITHOUT_EPOCH,
            timeout_ms=cluster.request_timeout_ms,
        )
        check(response.error_code, f"transactional id {prepared.transactional_id}")

    await cluster.retrying(attempt)


async def still_open(
    cluster: ClusterClient, prepared: Collection[PreparedTransaction]
) -> list[PreparedTransaction]:
    """Those of them that can be ended either way."""
    are_open = await asyncio.gather(*(_is_open(cluster, each) for each in prepared))
    return [each for each, is_open in zip(prepared, are_open, strict=True) if is_open]


async def _is_open(cluster: ClusterClient, prepared: PreparedTransaction) -> bool:
    request = DescribeTransactionsRequest(transactional_ids=[prepared.transactional_id])

    async def attempt() -> bool:
        coordinator = await cluster.transaction_coordinator(prepared.transactional_id)
        (state,) = (await coordinator.send(request)).transaction_states
        check(state.error_code, f"transactional id {prepared.transactional_id}")
        identity = (state.producer_id, state.producer_epoch)
        return state.transaction_state == "Ongoing" and identity == prepared[1:]

    try:
        return await cluster.retrying(attempt)
    except BrokerError as error:
        if error.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return False
        raise
