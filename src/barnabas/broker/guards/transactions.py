"""Guards of transactions and producer ids."""

from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.guards.guard import (
    CLUSTER_DENIED,
    GROUP_DENIED,
    TOPIC_DENIED,
    TRANSACTIONAL_ID_DENIED,
    Needs,
    Part,
    Verdict,
    refusing,
)
from barnabas.broker.handlers.node_only_requests import refuse_markers
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices, split
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from barnabas.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    TransactionState,
)
from barnabas.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.messages.write_txn_markers import WriteTxnMarkersRequest

_BATCHED_BY_NODES = 4
_NOT_ATTEMPTED = ErrorCode.OPERATION_NOT_ATTEMPTED


def init_producer_id(
    _: Needs, request: InitProducerIdRequest, access: RequestAccess, __: RequestContext
) -> Verdict:
    """With a transactional id WRITE on it, and TWO_PHASE_COMMIT if that is asked for.

    Otherwise IDEMPOTENT_WRITE on the cluster, or WRITE on any topic.
    """
    if request.transactional_id is not None:
        error = TRANSACTIONAL_ID_DENIED
        allowed = access.transactional_id(AclOperation.WRITE, request.transactional_id) and (
            not request.enable2_pc
            or access.transactional_id(AclOperation.TWO_PHASE_COMMIT, request.transactional_id)
        )
    else:
        error = CLUSTER_DENIED
        allowed = access.any_topic(AclOperation.WRITE) or access.cluster(
            AclOperation.IDEMPOTENT_WRITE
        )
    return None if allowed else InitProducerIdResponse(error_code=error, producer_epoch=-1)


def add_partitions_to_txn(
    _: Needs, request: AddPartitionsToTxnRequest, access: RequestAccess, context: RequestContext
) -> Slices[Verdict]:
    """WRITE on the transactional id, and on each topic; without one nothing is added."""
    if context.version >= _BATCHED_BY_NODES:
        return AddPartitionsToTxnResponse(error_code=CLUSTER_DENIED)
    transactional_id = request.v3_and_below_transactional_id
    topics = request.v3_and_below_topics
    if not access.transactional_id(AclOperation.WRITE, transactional_id):
        errors = dict.fromkeys((topic.name for topic in topics), TRANSACTIONAL_ID_DENIED)
    else:
        allowed, denied = yield from split(
            topics, lambda topic: access.topic(AclOperation.WRITE, topic.name)
        )
        if not denied:
            return None
        errors = dict.fromkeys((topic.name for topic in allowed), _NOT_ATTEMPTED)
        errors |= dict.fromkeys((topic.name for topic in denied), TOPIC_DENIED)
    slicer = Slicer(context.version)
    refused = []
    for topic in topics:
        error = errors[topic.name]
        refused.append(
            AddPartitionsToTxnTopicResult(
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(index, error) for index in topic.partitions
                ],
                name=topic.name,
            )
        )
        if slicer.is_due(1 + len(topic.partitions)):
            yield
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=refused)


def add_offsets_to_txn(
    _: Needs, request: AddOffsetsToTxnRequest, access: RequestAccess, __: RequestContext
) -> Verdict:
    """WRITE on the transactional id, and READ on the group."""
    if not access.transactional_id(AclOperation.WRITE, request.transactional_id):
        return AddOffsetsToTxnResponse(error_code=TRANSACTIONAL_ID_DENIED)
    if not access.group(AclOperation.READ, request.group_id):
        return AddOffsetsToTxnResponse(error_code=GROUP_DENIED)
    return None


def end_txn(_: Needs, request: EndTxnRequest, access: RequestAccess, __: RequestContext) -> Verdict:
    """WRITE on the transactional id."""
    if access.transactional_id(AclOperation.WRITE, request.transactional_id):
        return None
    return EndTxnResponse(error_code=TRANSACTIONAL_ID_DENIED)


def write_txn_markers(
    _: Needs, request: WriteTxnMarkersRequest, access: RequestAccess, __: RequestContext
) -> Verdict:
    """ALTER or CLUSTER_ACTION on the cluster, of operators who roll back what hangs."""
    if access.cluster(AclOperation.ALTER, log=False) or access.cluster(AclOperation.CLUSTER_ACTION):
        return None
    return refuse_markers(request)


def describe_transactions(
    _: Needs, request: DescribeTransactionsRequest, access: RequestAccess, context: RequestContext
) -> Slices[Verdict]:
    """DESCRIBE on each transactional id; the handler leaves out topics without DESCRIBE."""
    request.transactional_ids, denied = yield from split(
        request.transactional_ids, lambda each: access.transactional_id(AclOperation.DESCRIBE, each)
    )
    if not denied:
        return None

    def refuse(transactional_id: str) -> TransactionState:
        return TransactionState(TRANSACTIONAL_ID_DENIED, transactional_id)

    return Part(request, refusing("transaction_states", dict.fromkeys(denied), refuse, context))
