"""What only nodes may ask of a share coordinator, as an attacker would send it: states that forget
what was accepted, or that say that everything was."""

from collections.abc import Iterator
from typing import Any

from barnabas.wire.message import Request
from barnabas.wire.messages import delete_share_group_state as deletion
from barnabas.wire.messages import initialize_share_group_state as initialization
from barnabas.wire.messages import read_share_group_state as reading
from barnabas.wire.messages import read_share_group_state_summary as summary
from barnabas.wire.messages import write_share_group_state as writing

GROUP = "shared"
EPOCHS = (0, 1, 2**31 - 1, -(2**31))
OFFSETS = (0, 2**63 - 1)
ACKNOWLEDGED = 2


def initializations(topic_id: bytes) -> Iterator[Request[Any]]:
    for epoch in EPOCHS:
        for offset in OFFSETS:
            partition = initialization.PartitionData(0, epoch, offset)
            topic = initialization.InitializeStateData(topic_id, [partition])
            yield initialization.InitializeShareGroupStateRequest(GROUP, [topic])


def writes(topic_id: bytes) -> Iterator[Request[Any]]:
    everything = writing.StateBatch(0, 2**62, ACKNOWLEDGED, 1)
    for epoch in EPOCHS:
        for offset in OFFSETS:
            partition = writing.PartitionData(0, epoch, epoch, offset, state_batches=[everything])
            topic = writing.WriteStateData(topic_id, [partition])
            yield writing.WriteShareGroupStateRequest(GROUP, [topic])


def reads(topic_id: bytes) -> Iterator[Request[Any]]:
    """A leader epoch fences the leader that is."""
    for epoch in EPOCHS:
        topic = reading.ReadStateData(topic_id, [reading.PartitionData(0, epoch)])
        yield reading.ReadShareGroupStateRequest(GROUP, [topic])


def summaries(topic_id: bytes) -> Iterator[Request[Any]]:
    for epoch in EPOCHS:
        topic = summary.ReadStateSummaryData(topic_id, [summary.PartitionData(0, epoch)])
        yield summary.ReadShareGroupStateSummaryRequest(GROUP, [topic])


def deletions(topic_id: bytes) -> Iterator[Request[Any]]:
    for group in (GROUP, ""):
        topic = deletion.DeleteStateData(topic_id, [deletion.PartitionData(0)])
        yield deletion.DeleteShareGroupStateRequest(group, [topic])


FORGED_STATES = {
    initialization.InitializeShareGroupStateRequest: initializations,
    writing.WriteShareGroupStateRequest: writes,
    reading.ReadShareGroupStateRequest: reads,
    summary.ReadShareGroupStateSummaryRequest: summaries,
    deletion.DeleteShareGroupStateRequest: deletions,
}
