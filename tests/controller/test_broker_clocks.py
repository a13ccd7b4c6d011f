"""What brokers are told about the slowest clock among them."""

from barnabas.controller.sessions.broker_clocks import NOT_KNOWN, BrokerClocks
from tests.controller.small_cluster import SmallCluster

HOUR_MS = 3_600_000
NOW_MS = 10 * HOUR_MS


def test_a_controller_whose_own_clock_is_ahead_learns_it_from_heartbeats() -> None:
    clocks = BrokerClocks()
    clocks.heard(1, NOW_MS, NOW_MS)  # its own node
    clocks.heard(2, NOW_MS - HOUR_MS, NOW_MS)
    clocks.heard(3, NOW_MS - HOUR_MS // 2, NOW_MS)
    assert clocks.slowest_ms([1, 2, 3], NOW_MS) == NOW_MS - HOUR_MS
    assert clocks.slowest_ms([1, 2, 3], NOW_MS + 5) == NOW_MS - HOUR_MS + 5
    assert clocks.slowest_ms([1, 3], NOW_MS) == NOW_MS - HOUR_MS // 2, "2 is gone"


def test_a_clock_that_was_set_right_holds_nobody_back() -> None:
    clocks = BrokerClocks()
    clocks.heard(1, NOW_MS, NOW_MS)
    clocks.heard(2, NOW_MS - HOUR_MS, NOW_MS)
    clocks.heard(2, NOW_MS, NOW_MS)
    assert clocks.slowest_ms([1, 2], NOW_MS) == NOW_MS


def test_a_new_controller_knows_no_clock_before_it_has_heard_all() -> None:
    """Its own clock may be the one that is ahead, and one that is cut off the slowest."""
    clocks = BrokerClocks()
    clocks.heard(1, NOW_MS, NOW_MS)
    assert clocks.slowest_ms([1, 2, 3], NOW_MS) == NOT_KNOWN
    clocks.heard(2, NOW_MS - 1, NOW_MS)
    assert clocks.slowest_ms([1, 2, 3], NOW_MS) == NOT_KNOWN
    assert clocks.slowest_ms([1, 2], NOW_MS) == NOW_MS - 1, "3 was removed"
    clocks.heard(3, NOW_MS - HOUR_MS, NOW_MS)
    assert clocks.slowest_ms([1, 2, 3], NOW_MS) == NOW_MS - HOUR_MS


def test_heartbeats_are_answered_with_it() -> None:
    cluster = SmallCluster(2)
    cluster.now_ms = NOW_MS
    assert cluster.beat(1, clock_ms=NOW_MS).slowest_clock_ms == NOT_KNOWN
    assert cluster.beat(2, clock_ms=NOW_MS - HOUR_MS).slowest_clock_ms == NOW_MS - HOUR_MS
    assert cluster.beat(1, clock_ms=NOW_MS).slowest_clock_ms == NOW_MS - HOUR_MS
    refused = cluster.beat(1, epoch=99, clock_ms=0)
    assert refused.slowest_clock_ms == -1
    assert cluster.beat(2).slowest_clock_ms == -1, "it is of an earlier release"
    assert cluster.beat(1, clock_ms=NOW_MS).slowest_clock_ms == NOW_MS - HOUR_MS
