"""Clocks of nodes. Records carry times, and retention and lookups by time go by them."""

from collections.abc import Iterator

from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, critical, warning

_APART_MS = 1_000
_FAR_APART_MS = 60_000


def apart(facts: Facts) -> Iterator[Finding]:
    """Compares nodes with each other: the clock of this machine may be the wrong one."""
    known = [
        (each.clock_ahead_ms, each.clock_error_ms, each.node_id)
        for each in facts.nodes
        if each.clock_ahead_ms is not None
    ]
    if len(known) < 2:
        return
    (behind, behind_error, slow), (ahead, ahead_error, fast) = min(known), max(known)
    surely_ms = ahead - behind - ahead_error - behind_error
    if surely_ms >= _APART_MS:
        yield (critical if surely_ms >= _FAR_APART_MS else warning)(
            "clocks",
            f"the clock of node {fast} is {surely_ms / 1000:.1f} s ahead of that of node {slow}",
            "synchronise both by NTP: timedatectl set-ntp true; chronyc tracking",
        )
