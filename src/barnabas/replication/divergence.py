"""Where two logs part, found by leader epochs.

Records of one epoch were given their offsets by one leader, so two logs that hold a record of the
same epoch at the same offset are equal up to there. A follower names the epoch of its last record
and its end; the leader answers where it would have to end if it had followed. By the high watermark
alone that can't be told.
"""

from collections.abc import Callable
from typing import NamedTuple

EndOffsetFor = Callable[[int], tuple[int, int]]
"""The largest epoch of a log up to the one given, and where it ended; (-1, -1) if unknown."""


class EpochEnd(NamedTuple):
    epoch: int
    end_offset: int


class OutOfRange(Exception):  # noqa: N818 - Kafka's own name of this outcome
    """The leader can say nothing about the follower's place."""


def divergence(
    end_offset_for: EndOffsetFor,
    last_fetched_epoch: int,
    fetch_offset: int,
    log_start_offset: int,
) -> EpochEnd | None:
    """The leader's answer to a follower that is not, or not wholly, on the leader's path.

    The follower's log reaches from `log_start_offset` to `fetch_offset`. None if it is on the path.
    Raises `OutOfRange` if the leader does not know the epoch, or if the follower has records
    and can't say of which epoch.
    """
    if last_fetched_epoch < 0:
        if fetch_offset > log_start_offset:
            raise OutOfRange
        return None  # an empty log lies on every path
    epoch, end_offset = end_offset_for(last_fetched_epoch)
    if epoch < 0 or end_offset < 0:
        raise OutOfRange
    if epoch < last_fetched_epoch or end_offset < fetch_offset:
        return EpochEnd(epoch, end_offset)
    return None


def truncation_offset(
    end_offset_for: EndOffsetFor, log_end_offset: int, diverging: EpochEnd
) -> int:
    """Where a follower has to cut its log, given the leader's answer.

    If it does not have the epoch that the leader names, it cuts at the end of the one before, and
    asks again.
    """
    epoch, end_offset = end_offset_for(diverging.epoch)
    if epoch == diverging.epoch or epoch < 0:
        end_offset = diverging.end_offset if epoch < 0 else min(end_offset, diverging.end_offset)
    return min(end_offset, log_end_offset)


def follower_high_watermark(own: int, leaders: int, log_end_offset: int) -> int:
    """What a follower knows to be committed: what its leader says, as far as it has it.

    It does not go back when a new leader still has to determine it, unless the log was truncated.
    """
    return min(max(own, leaders), log_end_offset)
