"""InitializeShareGroupState, version 0: begin the states of share partitions. Sent by nodes."""

from barnabas.broker.handlers.share_states import Needs, decided_by_shards
from barnabas.broker.net.dispatcher import Outcome, RequestContext
from barnabas.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateResult,
    PartitionResult,
)


def handle(node: Needs, request: InitializeShareGroupStateRequest, _: RequestContext) -> Outcome:
    return decided_by_shards(
        node,
        request,
        lambda shard, part, token: shard.states.initialize(
            part, token=token, time_ms=shard.time_ms()
        ),
        PartitionResult,
        InitializeStateResult,
    )
