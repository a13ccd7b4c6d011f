"""Assigning offsets, leader epoch and, for LogAppendTime, the timestamp to a leader's batches.

A follower stores batches that have all of these already.
"""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.records.batch import (
    BatchHeader,
    patch_assigned,
    patch_log_append_time,
)

Batches = Sequence[tuple[int, BatchHeader]]
"""Position in the buffer, and the header as it was received."""


class AppendInfo(NamedTuple):
    """The result of an append."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    """-1 when the records keep their own timestamps."""
    log_start_offset: int


def assign_offsets(
    buffer: memoryview,
    batches: Batches,
    base_offset: int,
    leader_epoch: int,
    log_append_time_ms: int,
) -> int:
    """Write offsets and epoch into the buffer, in place, and return the offset behind the last."""
    for at, header in batches:
        patch_assigned(buffer, at, header, base_offset, leader_epoch)
        if log_append_time_ms >= 0:
            patch_log_append_time(buffer[at : at + header.size], log_append_time_ms)
        base_offset += header.last_offset_delta + 1
    return base_offset
