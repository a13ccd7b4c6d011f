"""Waiting until this node has replayed what the leader of the metadata log has committed.

Whoever had something changed through a node that is not the controller looks for it at that same
node next, which may not have heard of it yet.
"""

from asyncio import Future, sleep

from barnabas.broker.quorum.administration import describe_quorum
from barnabas.broker.quorum.describe import METADATA_QUESTION
from barnabas.broker.quorum.messages.fields import only_partition
from barnabas.broker.quorum.quorum import Quorum

_MAX_WAIT_S = 2.0
_LOOK_EVERY_S = 0.002


async def catch_up(quorum: Quorum) -> None:
    """Wait until all is replayed here that is committed by now; not for ever, and not without a
    leader that says what that is."""
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
