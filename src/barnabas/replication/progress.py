"""How far a leader knows one of its followers to be, and since when it has kept up."""

UNKNOWN_OFFSET = -1
UNKNOWN_EPOCH = -1
NEVER_MS = -(2**62)


class FollowerProgress:
    """What one follower's fetches have told its leader. A fetch acknowledges all below its offset.

    A follower is caught up at a moment when it has everything that the leader had then. Under load
    it is never quite at the end, so a fetch that reaches the end of the time of the fetch before
    counts as well, for that time.
    """

    __slots__ = (
        "_fetch_ms",
        "_leader_end_at_fetch",
        "_sent_from",
        "_times_sent",
        "broker_epoch",
        "caught_up_ms",
        "deletions_upto",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, caught_up_ms: int = NEVER_MS) -> None:
        self.broker_epoch = UNKNOWN_EPOCH
        """Of the registration under which it fetched last."""
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.deletions_upto = UNKNOWN_OFFSET
        """Below, the leader had removed tombstones when it last fetched, and it lacks none that
        matter to what it has."""
        self.caught_up_ms = caught_up_ms
        """When it was last known to have everything."""
        self._sent_from = UNKNOWN_OFFSET
        self._times_sent = 0
        self._forget_last_fetch()

    def _forget_last_fetch(self) -> None:
        self._fetch_ms = NEVER_MS
        self._leader_end_at_fetch = 2**63 - 1

    def left(self) -> None:
        """It has left the in-sync set, and has to catch up anew.

        The end of the time of its last fetch counts no longer: it may have been there already.
        """
        self.caught_up_ms = NEVER_MS
        self._forget_last_fetch()

    def fetched(
        self,
        offset: int,
        log_start_offset: int,
        broker_epoch: int,
        leader_end_offset: int,
        now_ms: int,
    ) -> None:
        if offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self._leader_end_at_fetch:
            self.caught_up_ms = max(self.caught_up_ms, self._fetch_ms)
        self._fetch_ms = now_ms
        self._leader_end_at_fetch = leader_end_offset
        self.broker_epoch = broker_epoch
        self.log_end_offset = offset
        self.log_start_offset = log_start_offset

    def sends(self, offset: int) -> int:
        """It is sent records from `offset` on; returns how often it was in a row."""
        self._times_sent = self._times_sent + 1 if offset == self._sent_from else 1
        self._sent_from = offset
        return self._times_sent

    def is_caught_up(self, leader_end_offset: int, now_ms: int, max_lag_ms: int) -> bool:
        """A follower at the leader's end is caught up even without fetching."""
        at_end = self.log_end_offset >= leader_end_offset
        return at_end or now_ms - self.caught_up_ms <= max_lag_ms
