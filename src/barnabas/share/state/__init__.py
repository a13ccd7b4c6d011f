"""The share coordinator: the stored states of share partitions, in `__share_group_state`.

shard            the states of one partition of the topic: decide, persist, replay
error_answers    answers with an error code for each share partition
pending_states   the states with records that are not committed yet
states_image     what the log says about them
share_state      one share partition's state, and how updates change it
records          the records, encoded as Kafka encodes them
"""

from barnabas.share.state.pending_states import ShareStateDecision
from barnabas.share.state.shard import ShareStateShard
from barnabas.share.state.share_state import SharePartitionKey, coordinator_key
from barnabas.share.state.states_image import ShareStatesImage

__all__ = [
    "SharePartitionKey",
    "ShareStateDecision",
    "ShareStateShard",
    "ShareStatesImage",
    "coordinator_key",
]
