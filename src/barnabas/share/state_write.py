"""What is stored of a share partition, and who waits for it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.share.record_state import RecordState

NO_START_OFFSET = -1
"""A share partition that is initialized, and whose start the leader has yet to choose."""


class StateBatch(NamedTuple):
    """Neighbouring records in one state."""

    first: int
    last: int
    state: RecordState
    delivery_count: int


@dataclass(slots=True)
class StateWrite:
    """One write of a share partition's state: everything that changed since the one before it."""

    start_offset: int
    batches: list[StateBatch]
    delivery_complete_count: int
    """Records from the start offset on that will not be delivered again."""
    ended: list[tuple[int, int]]
    """Acquired ranges whose outcome holds once this is stored."""
    tokens: list[object] = field(default_factory=list)
    """Requests to answer then."""
