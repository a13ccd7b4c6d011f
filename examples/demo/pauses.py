"""How long writes paused when a node was killed, as the producer saw it."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from examples.demo.ledger import Check


class Kill(NamedTuple):
    """A node that was killed, what it was, and when, by the clock that all processes share."""

    node_id: int
    role: str
    at: float


def pause_s(acknowledged_at: Mapping[int, Sequence[float]], begin: float, end: float) -> float:
    """The longest time without an acknowledgement that touches the span, over all partitions.

    Infinite if a partition was never written to again.
    """
    longest = 0.0
    for times in acknowledged_at.values():
        if times[-1] < begin:
            return float("inf")
        gaps = [later - t for t, later in pairwise(times) if later > begin and t < end]
        longest = max([longest, *gaps])
    return longest


def check_pauses(kills: Sequence[Kill], acknowledged_at: Mapping[int, Sequence[float]]) -> Check:
    """One figure for each kill, up to the next one."""
    moments = [kill.at for kill in kills] + [float("inf")]
    pauses = [pause_s(acknowledged_at, begin, end) for begin, end in pairwise(moments)]
    figures = [
        f"{pause:.2f} s after {kill.role}" for kill, pause in zip(kills, pauses, strict=True)
    ]
    return Check(
        "failover: writes went on by themselves after every kill -9",
        bool(pauses) and bool(acknowledged_at) and max(pauses) < float("inf"),
        "longest pause " + ", ".join(figures),
    )
