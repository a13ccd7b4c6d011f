"""ReadShareGroupState, version 0: the states of share partitions, for their new leader.

Sent by nodes. Earlier leaders are fenced from then on.
"""

from barnabas.broker.handlers.share_states import Needs, decided_by_shards
from barnabas.broker.net.dispatcher import Outcome, RequestContext
from barnabas.wire.messages.read_share_group_state import (
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadStateResult,
)


def handle(node: Needs, request: ReadShareGroupStateRequest, _: RequestContext) -> Outcome:
    return decided_by_shards(
        node,
        request,
        lambda shard, part, token: shard.states.read(part, token=token, time_ms=shard.time_ms()),
        PartitionResult,
        ReadStateResult,
    )
