"""Neighbouring records that share one state: the unit in which a share partition is kept.

It is as large as what was acquired at once. It is split only where its records part ways: acquired
by different members, acknowledged one by one, or delivered in halves.
"""

from barnabas.share.record_state import RecordState

NO_MEMBER = ""


class InFlightBatch:
    __slots__ = (
        "delivery_count",
        "first",
        "last",
        "lock_deadline_ms",
        "member_id",
        "outcome",
        "size_acquired",
        "state",
    )

    def __init__(
        self,
        first: int,
        last: int,
        state: RecordState,
        delivery_count: int = 0,
        member_id: str = NO_MEMBER,
        lock_deadline_ms: int = 0,
    ) -> None:
        self.first = first
        self.last = last
        self.state = state
        self.delivery_count = delivery_count
        self.member_id = member_id
        """Who has acquired it."""
        self.lock_deadline_ms = lock_deadline_ms
        self.outcome: RecordState | None = None
        """Pending: the state that it is in once its acknowledgement is stored."""
        self.size_acquired = last - first + 1
        """The size with which it was acquired, of which throttled deliveries are a part."""

    def __repr__(self) -> str:
        outcome = "" if self.outcome is None else f" -> {self.outcome.name}"
        return (
            f"[{self.first}-{self.last} {self.state.name}{outcome} x{self.delivery_count} "
            f"{self.member_id}]"
        )

    def __len__(self) -> int:
        return self.last - self.first + 1

    @property
    def is_held(self) -> bool:
        """Whether a member has it, and has not acknowledged it."""
        return self.state is RecordState.ACQUIRED and self.outcome is None

    @property
    def is_available(self) -> bool:
        return self.state is RecordState.AVAILABLE

    def split(self, offset: int) -> "InFlightBatch":
        """Cut off and return the part from `offset` on, which is in the middle of the batch."""
        rest = InFlightBatch(
            offset,
            self.last,
            self.state,
            self.delivery_count,
            self.member_id,
            self.lock_deadline_ms,
        )
        rest.outcome = self.outcome
        rest.size_acquired = self.size_acquired
        self.last = offset - 1
        return rest

    def is_like(self, other: "InFlightBatch") -> bool:
        """Whether both can be one batch, if they are neighbours.

        How a record was done with no longer matters here.
        """
        if self.state.is_terminal:
            return other.state.is_terminal
        return (
            self.state is other.state is RecordState.ACQUIRED
            and self.delivery_count == other.delivery_count
            and self.member_id == other.member_id
            and self.lock_deadline_ms == other.lock_deadline_ms
            and self.outcome is other.outcome
        )

    def free(self, state: RecordState) -> None:
        """The member no longer has it."""
        self.state = state
        self.outcome = None
        self.member_id = NO_MEMBER
        self.lock_deadline_ms = 0
