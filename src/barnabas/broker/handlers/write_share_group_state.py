"""WriteShareGroupState, versions 0-1: changes of share partitions, from their leaders.

Sent by nodes. A leader that was replaced gets FENCED_LEADER_EPOCH; one whose group was reset by an
operator FENCED_STATE_EPOCH.
"""

from barnabas.broker.handlers.share_states import Needs, decided_by_shards
from barnabas.broker.net.dispatcher import Outcome, RequestContext
from barnabas.wire.messages.write_share_group_state import (
    PartitionResult,
    WriteShareGroupStateRequest,
    WriteStateResult,
)


def handle(node: Needs, request: WriteShareGroupStateRequest, _: RequestContext) -> Outcome:
    return decided_by_shards(
        node,
        request,
        lambda shard, part, token: shard.states.write(part, token=token, time_ms=shard.time_ms()),
        PartitionResult,
        WriteStateResult,
    )
