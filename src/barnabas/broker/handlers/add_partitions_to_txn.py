"""AddPartitionsToTxn, versions 0-5: partitions join a transaction, or are looked for in it.

Up to version 3 a client asks, for one transaction. From version 4 on other nodes do, for several,
and may want to know only whether the partitions are in already.

If a partition does not exist none is added: the others were not attempted.
"""

from asyncio import gather
from collections.abc import Callable
from typing import Protocol

from barnabas.broker.coordinator.marker_appends import NO_MARKERS
from barnabas.broker.handlers import group_shards, transaction_shards
from barnabas.broker.handlers.group_shards import partition_exists
from barnabas.broker.handlers.transaction_shards import decided_by_coordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

_SEVERAL = 4


class Needs(group_shards.Needs, transaction_shards.Needs, Protocol):
    """What this handler asks of the node."""


async def handle(
    node: Needs, request: AddPartitionsToTxnRequest, context: RequestContext
) -> AddPartitionsToTxnResponse:
    if context.version >= _SEVERAL:
        results = (_result(node, each, context.version) for each in request.transactions)
        return AddPartitionsToTxnResponse(results_by_transaction=list(await gather(*results)))
    transaction = AddPartitionsToTxnTransaction(
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    result = await _result(node, transaction, context.version)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=result.topic_results)


async def _result(
    node: Needs, asked: AddPartitionsToTxnTransaction, version: int
) -> AddPartitionsToTxnResult:
    partitions = [(topic.name, index) for topic in asked.topics for index in topic.partitions]
    missing = {
        each for each in partitions if each[0] in NO_MARKERS or not partition_exists(node, *each)
    }
    if missing and not asked.verify_only:
        refused = _refused(
            asked,
            lambda partition: (
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if partition in missing
                else ErrorCode.OPERATION_NOT_ATTEMPTED
            ),
        )
        return refused.results_by_transaction[0]
    response = await decided_by_coordinator(
        node,
        asked.transactional_id,
        lambda error: _refused(asked, lambda _: error),
        lambda transactions, token, now_ms: transactions.add_partitions(
            asked.transactional_id,
            asked.producer_id,
            asked.producer_epoch,
            partitions,
            token=token,
            api_version=version,
            now_ms=now_ms,
            verify_only=asked.verify_only,
        ),
        _first_error,
    )
    return response.results_by_transaction[0]


def _first_error(response: AddPartitionsToTxnResponse) -> int:
    """All partitions of one transaction get the same error, or none."""
    return next(
        (
            each.partition_error_code
            for topic in response.results_by_transaction[0].topic_results
            for each in topic.results_by_partition
        ),
        ErrorCode.NONE,
    )


def _refused(
    asked: AddPartitionsToTxnTransaction, error_of: Callable[[tuple[str, int]], ErrorCode]
) -> AddPartitionsToTxnResponse:
    results = [
        AddPartitionsToTxnTopicResult(
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(index, error_of((topic.name, index)))
                for index in topic.partitions
            ],
            name=topic.name,
        )
        for topic in asked.topics
    ]
    return AddPartitionsToTxnResponse(
        results_by_transaction=[AddPartitionsToTxnResult(asked.transactional_id, results)]
    )
