"""ReadShareGroupStateSummary, versions 0-1: start offsets of share partitions. Sent by nodes."""

from barnabas.broker.coordinator.share_coordinator_shard import ShareCoordinatorShard
from barnabas.broker.handlers.share_states import Needs, decided_by_shards
from barnabas.broker.net.dispatcher import Outcome, RequestContext
from barnabas.share.state import ShareStateDecision
from barnabas.wire.messages.read_share_group_state_summary import (
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadStateSummaryResult,
)


def handle(node: Needs, request: ReadShareGroupStateSummaryRequest, _: RequestContext) -> Outcome:
    return decided_by_shards(node, request, _summary, PartitionResult, ReadStateSummaryResult)


def _summary(
    shard: ShareCoordinatorShard, part: ReadShareGroupStateSummaryRequest, token: object
) -> ShareStateDecision:
    decision = ShareStateDecision()
    decision.reply(token, shard.states.summary(part))
    return decision
