"""How far the clock of this node is ahead of the controller's.

The controller stamps what it writes to the metadata log, this node's registration among it. What
was stored by other nodes, days ago, expires only by what both clocks agree on: a node that starts
with its clock a week ahead must not delete what is a day old.

No second clock is asked while this node replays the log: then it seems far ahead, and expires
nothing. Nor is one asked while this node is the controller. What it has known of its clock before
still holds: it may have become the controller because it came back. So it may expire something
late by the time that the whole cluster was down. The only voter has no other clock than its own.

All this holds only until a heartbeat is answered with the slowest clock of all brokers, which
counts from then on (`BrokerLifecycle.clock_lead_ms`).
"""

from barnabas.broker.runtime.clock import Clock


class ClusterTime:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.lead_ms = 0
        """By how much this clock is ahead, or what was applied last is old."""

    def applied(self, stamped_ms: int) -> None:
        """A batch of the metadata log was applied; another node, or the only voter, stamped it
        then."""
        self.lead_ms = max(0, self._clock.steady_ms() - stamped_ms)
