"""What a kill -9 costs: how long writes paused, as the website saw it, and when all was whole."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from examples.demo.accounting import Check


def pause_s(acknowledged_at: Mapping[int, Sequence[float]], since: float) -> float:
    """The longest time without an acknowledgement that ends after `since`, over all partitions.

    Infinite if a partition was never written to again.
    """
    longest = 0.0
    for times in acknowledged_at.values():
        if times[-1] < since:
            return float("inf")
        gaps = [later - t for t, later in pairwise(times) if later > since]
        longest = max([longest, *gaps])
    return longest


def check_pause(
    acknowledged_at: Mapping[int, Sequence[float]], since: float, until: float
) -> Check:
    """`until` is when the website had nothing more to send for a while."""
    busy = {
        partition: [t for t in times if t <= until] for partition, times in acknowledged_at.items()
    }
    pause = pause_s(busy, since) if busy and all(busy.values()) else float("inf")
    return Check(
        "writes went on by themselves after the kill -9",
        pause < float("inf"),
        f"longest pause of a partition {pause:.2f} s",
    )


def check_return(killed_s: float, whole_again_s: float | None) -> Check:
    """The supervisor has restarted the node."""
    took = None if whole_again_s is None else whole_again_s - killed_s
    return Check(
        "the killed node came back by itself, and has everything",
        took is not None,
        "it is not back, or not in sync" if took is None else f"in sync after {took:.1f} s",
    )
