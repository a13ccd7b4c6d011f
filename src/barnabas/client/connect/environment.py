"""What a client takes from its surroundings: time, chance, and how long it waits between attempts.

The event loop brings the connections. So a client runs in a simulation, or in a test without
sockets, as soon as it has their loop and an `Environment` with their clock.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from barnabas.backoff import Backoff

RETRY = Backoff(0.05, 1.0)
"""Seconds between attempts."""

BUSY = Backoff(0.004, 1.0)
"""The same for what is only a matter of moments, such as the end of a transaction."""


@dataclass(frozen=True, slots=True)
class Environment:
    """`monotonic` counts seconds, as the loop of the client does; `random` is from 0 to 1."""

    monotonic: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random


SYSTEM = Environment()
