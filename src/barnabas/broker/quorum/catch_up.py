"""Waits until this node has replayed what the leader of the metadata log has committed.

A client that made a change through a node that is not the controller next reads it from that same
node, which may not have replayed it yet.
"""

from asyncio import Future, sleep

from barnabas.broker.quorum.administration import describe_quorum
from barnabas.broker.quorum.describe import METADATA_QUESTION
from barnabas.broker.quorum.messages.fields import only_partition
from barnabas.broker.quorum.quorum import Quorum

_MAX_WAIT_S = 2.0
_LOOK_EVERY_S = 0.002


async def catch_up(quorum: Quorum) -> None:
    """Wait until everything committed by now is replayed here; with a timeout, and only if a leader
    says what is committed."""
    deadline = quorum.loop.time() + _MAX_WAIT_S
    answer = describe_quorum(quorum, METADATA_QUESTION, may_forward=True)
    described = await answer if isinstance(answer, Future) else answer
    partition = only_partition(described.topics)
    if partition is None:
        return
    while quorum.end_offset < partition.high_watermark:
        if quorum.loop.time() > deadline:
            return
        await sleep(_LOOK_EVERY_S)
