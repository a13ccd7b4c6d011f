"""Whether a log is due for compaction, and which of its segments take part.

Only finished segments do, below the high watermark and the first open transaction (a record that
may still be cut off or aborted must not replace an older one), and only those whose records are
older than `min.compaction.lag.ms`. The part that earlier passes have compacted is clean; behind it
the dirty part begins. A log is due

- when its dirty part is more than `min.cleanable.dirty.ratio` of both, or
- when its oldest dirty record is older than `max.compaction.lag.ms`, or
- when all tombstones and markers that the last pass left may be removed: they are, even if
  nothing is appended any longer.
"""

from typing import NamedTuple

from barnabas.log.compaction.source import Source
from barnabas.log.compaction_progress import Progress
from barnabas.log.config import LogConfig
from barnabas.log.segment.segment import Segment
from barnabas.log.segment.segments import Segments

OVERDUE = 2.0
"""The urgency of a log that must be compacted whatever its dirty ratio is."""


class Plan(NamedTuple):
    sources: list[Source]
    dirty_offset: int
    urgency: float
    """The dirty share of the log, or OVERDUE."""


def plan(
    segments: Segments, config: LogConfig, progress: Progress, now_ms: int, upto_offset: int
) -> Plan | None:
    """The segments to compact now; None if the log is not due. Raises OSError."""
    if "compact" not in config.cleanup_policy:
        return None
    eligible = _eligible(segments, config, now_ms, upto_offset)
    if not eligible:
        return None
    dirty_offset = max(progress.compacted_offset, eligible[0].base_offset)
    dirty_bytes = sum(
        segment.size - segment.locate(dirty_offset)
        for segment in eligible
        if segment.next_offset > dirty_offset
    )
    urgency = dirty_bytes / max(1, sum(segment.size for segment in eligible))
    is_over = 0 <= progress.last_horizon_ms <= now_ms
    if is_over or _is_overdue(eligible, config, dirty_offset, now_ms):
        urgency = OVERDUE
    elif urgency <= config.min_cleanable_dirty_ratio:
        return None
    return Plan([Source.of(segment) for segment in eligible], dirty_offset, urgency)


def must_roll(active: Segment, config: LogConfig, now_ms: int) -> bool:
    """Whether the active segment has records older than `max.compaction.lag.ms`."""
    if "compact" not in config.cleanup_policy or active.size == 0:
        return False
    return now_ms - _oldest_ms(active) > config.max_compaction_lag_ms


def _eligible(
    segments: Segments, config: LogConfig, now_ms: int, upto_offset: int
) -> list[Segment]:
    found = []
    for segment in segments[:-1]:
        newest_ms = segment.max_timestamp if segment.max_timestamp > 0 else segment.created_ms
        is_young = newest_ms > now_ms - config.min_compaction_lag_ms
        if segment.next_offset > upto_offset or (config.min_compaction_lag_ms and is_young):
            break
        found.append(segment)
    return found


def _is_overdue(eligible: list[Segment], config: LogConfig, dirty_offset: int, now_ms: int) -> bool:
    dirty = (segment for segment in eligible if segment.next_offset > dirty_offset)
    return any(now_ms - _oldest_ms(segment) > config.max_compaction_lag_ms for segment in dirty)


def _oldest_ms(segment: Segment) -> int:
    """The timestamp of its first batch; without one, when the segment was made."""
    return segment.first_timestamp if segment.first_timestamp > 0 else segment.created_ms
