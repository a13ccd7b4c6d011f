"""Waits until this node has replayed what is committed in the metadata log.

A client that made a change through a node that is not the controller next reads it from that same
node, which may not have replayed it yet. Only a leader that a majority has confirmed knows what is
committed: one that was replaced without noticing may lack the change.
"""

import logging
from asyncio import Future, sleep, timeout

from barnabas.broker.quorum.administration import describe_quorum
from barnabas.broker.quorum.describe import CONFIRMED_QUESTION
from barnabas.broker.quorum.messages.fields import only_partition
from barnabas.broker.quorum.outcome import QuorumStopped
from barnabas.broker.quorum.quorum import Quorum

logger = logging.getLogger(__name__)

_MAX_WAIT_S = 10.0
"""With the time that the controller takes, less than clients wait for an answer."""
_ASK_AGAIN_S = 0.05


async def catch_up(quorum: Quorum) -> None:
    """Wait until everything committed by now is replayed here.

    The change is made in any case. So a node that can't catch up says so in its log, and the
    client gets its answer.
    """
    if not await has_caught_up(quorum):
        logger.warning(
            "a change was made that this node has not replayed after %g s, or it is stopping:"
            " clients that read from it may see what was before",
            _MAX_WAIT_S,
        )


async def has_caught_up(quorum: Quorum) -> bool:
    """Wait until everything committed by now is replayed here; False if that takes too long."""
    try:
        async with timeout(_MAX_WAIT_S):
            await quorum.replayed(await _committed_offset(quorum))
    except (TimeoutError, QuorumStopped):
        return False
    return True


async def _committed_offset(quorum: Quorum) -> int:
    """The high watermark of a leader that a majority has confirmed after this call."""
    while quorum.shell is not None:
        answer = describe_quorum(quorum, CONFIRMED_QUESTION, may_forward=True)
        described = await answer if isinstance(answer, Future) else answer
        partition = only_partition(described.topics)
        if partition is not None and not partition.error_code:
            return partition.high_watermark
        await sleep(_ASK_AGAIN_S)
    raise QuorumStopped("this node takes no part in the quorum")
