"""Requests to the share coordinator that arrive late."""

from barnabas.share.state import SharePartitionKey, ShareStateShard
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import initialize_share_group_state as initialize_messages
from barnabas.wire.messages import write_share_group_state as write_messages

TOPIC = bytes(range(16))


def initialize(shard: ShareStateShard, epoch: int, start: int) -> int:
    request = initialize_messages.InitializeShareGroupStateRequest(
        "g",
        [
            initialize_messages.InitializeStateData(
                TOPIC, [initialize_messages.PartitionData(0, epoch, start)]
            )
        ],
    )
    decision = shard.initialize(request, token=1, time_ms=1)
    if decision.records:
        decision = shard.committed(decision)
    response = decision.replies[0].response
    assert isinstance(response, initialize_messages.InitializeShareGroupStateResponse)
    return response.results[0].partitions[0].error_code


def write(shard: ShareStateShard, *batches: write_messages.StateBatch, start: int = 0) -> None:
    data = write_messages.PartitionData(0, 0, 0, start, 2, list(batches))
    request = write_messages.WriteShareGroupStateRequest(
        "g", [write_messages.WriteStateData(TOPIC, [data])]
    )
    shard.committed(shard.write(request, token=2, time_ms=2))


def test_a_release_that_arrives_late_takes_no_delivery_back() -> None:
    shard = ShareStateShard()
    initialize(shard, 0, 0)
    write(shard, write_messages.StateBatch(3, 6, 0, 1))
    write(shard, write_messages.StateBatch(4, 5, 0, 2))
    write(shard, write_messages.StateBatch(3, 6, 0, 1))  # the first one, again
    state = shard.image.get(SharePartitionKey("g", TOPIC, 0))
    assert state is not None
    assert [(each.first, each.last, each.delivery_count) for each in state.batches] == [
        (3, 3, 1),
        (4, 5, 2),
        (6, 6, 1),
    ]


def test_a_repeated_initialization_takes_nothing_back() -> None:
    shard = ShareStateShard()
    assert initialize(shard, 0, 0) == ErrorCode.NONE
    write(shard, write_messages.StateBatch(3, 4, 2, 1), start=2)
    before = shard.image.get(SharePartitionKey("g", TOPIC, 0))
    assert before is not None
    assert (before.start_offset, len(before.batches)) == (2, 1)
    assert initialize(shard, 0, 0) == ErrorCode.FENCED_STATE_EPOCH
    assert initialize(shard, 0, -1) == ErrorCode.NONE
    assert shard.image.get(SharePartitionKey("g", TOPIC, 0)) == before
    assert initialize(shard, 1, 0) == ErrorCode.NONE
    after = shard.image.get(SharePartitionKey("g", TOPIC, 0))
    assert after is not None
    assert (after.start_offset, len(after.batches)) == (0, 0)
