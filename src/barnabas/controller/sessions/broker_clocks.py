"""How far the clocks of the brokers are apart, as their heartbeats tell; soft state.

What one coordinator has stamped expires at another one, later. A coordinator whose clock is ahead,
be it the controller's own node, must not make it old, so every heartbeat is answered with the
slowest clock that there is.
"""

from collections.abc import Collection

NOT_KNOWN = 0
"""The beginning of all times, compared with which every clock is ahead: nothing expires."""


class BrokerClocks:
    def __init__(self) -> None:
        self._behind_ms: dict[int, int] = {}
        """How far each clock is behind that of the controller. A broker that has died is counted
        with its last heartbeat: what it has stamped is still there."""

    def heard(self, broker_id: int, clock_ms: int, now_ms: int) -> None:
        self._behind_ms[broker_id] = now_ms - clock_ms

    def slowest_ms(self, registered: Collection[int], now_ms: int) -> int:
        """What the slowest clock of the registered brokers says now.

        It is known when each of them was heard by this controller. One that is fenced may have been
        the slowest, and what it has stamped is still there: as long as it is neither back nor
        removed from the cluster, a new controller lets nothing expire.
        """
        known = self._behind_ms
        if not registered or any(each not in known for each in registered):
            return NOT_KNOWN
        return now_ms - max(known[each] for each in registered)
