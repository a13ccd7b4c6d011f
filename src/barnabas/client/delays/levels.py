"""How long each level of delays lets records wait. Pure.

The number of a level is the number of its partition, so levels may be added at the end, and not
changed otherwise.
"""

from bisect import bisect_right

LEVELS_S = (
    0,
    *(1, 2, 5, 10, 30),
    *(60, 120, 300, 600, 1_800),
    *(3_600, 7_200, 21_600, 43_200),
    *(86_400, 172_800, 604_800, 1_209_600, 2_592_000, 7_776_000, 31_536_000),
)
"""Up to a year; longer delays wait there several times. In the first one records wait until they
are due, at most for as long as the second one lasts."""

_FIRST_MS = LEVELS_S[1] * 1000
_TOLERANCE_MS = 1_000
"""How far ahead the clock of a producer may be before a record is written again with ours."""


def level_of(left_ms: int) -> int:
    """The longest level that is not longer than what is left of a delay."""
    return max(0, bisect_right(LEVELS_S, left_ms / 1000) - 1)


def leaves_at(level: int, since_ms: int, due_ms: int, now_ms: int) -> int:
    """When a record that was written at `since_ms` leaves its level.

    At once if that is further away than anything in this level can be: its writer's clock is
    wrong, or it is in the wrong level. What is behind it must not wait for that.
    """
    if level >= len(LEVELS_S):  # of a later version
        return now_ms
    width_ms = LEVELS_S[level] * 1000
    at_ms = min(since_ms + width_ms, due_ms) if level else due_ms
    longest_ms = max(width_ms, _FIRST_MS) + _TOLERANCE_MS
    return now_ms if at_ms - now_ms > longest_ms else at_ms
