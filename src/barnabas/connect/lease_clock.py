"""The clock of leases: seconds since the machine started, those in which it slept included.

Python's `monotonic` stands still while a machine is suspended. A leader that wakes up would take
its lease to be valid for some more seconds, while another instance has taken over long ago.

No time of this clock leaves its machine. Instances on other machines measure, each with its own
clock, how long they have seen no heartbeat, so neither the offsets of clocks nor corrections of the
time matter, only how fast they run: between `lease_s` with its grace period and `takeover_s` there
are some percent, and clocks differ by less than a tenth of one.
"""

import time
from typing import Final

# On Linux, the first does not stop while the machine is suspended; on macOS, the second.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def lease_time() -> float:
    """Seconds since the start of the machine, the same for all of its processes."""
    return time.clock_gettime(_CLOCK)
