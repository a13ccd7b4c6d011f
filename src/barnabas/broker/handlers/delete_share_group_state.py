"""DeleteShareGroupState, version 0: forget the states of share partitions. Sent by nodes."""

from barnabas.broker.handlers.share_states import Needs, decided_by_shards
from barnabas.broker.net.dispatcher import Outcome, RequestContext
from barnabas.wire.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteStateResult,
    PartitionResult,
)


def handle(node: Needs, request: DeleteShareGroupStateRequest, _: RequestContext) -> Outcome:
    return decided_by_shards(
        node,
        request,
        lambda shard, part, token: shard.states.delete(part, token=token),
        PartitionResult,
        DeleteStateResult,
    )
