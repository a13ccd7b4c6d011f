"""One run of a client, and what it has taken."""

import os
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

import uvloop

LINGER_MS = 5
PATIENCE_S = 120.0
LIST_RECORDS = 1_000
"""How many records an application hands over, or asks for, where it can have many at once."""

TABLE_RECORDS = 50_000

PRODUCE = "produce"
PRODUCE_OUTCOMES = "produce-outcomes"
PRODUCE_BATCHED = "produce-batched"
PRODUCE_TABLES = "produce-tables"
CONSUME = "consume"
CONSUME_BATCHED = "consume-batched"
CONSUME_TABLES = "consume-tables"
"""Kinds of work. Each library does those for which it has a way of its own."""


@dataclass
class Run:
    """What is to be done, and the stopwatch: on the clock, and CPU of all threads."""

    bootstrap: str
    topic: str
    size: int
    count: int
    seconds: float = field(init=False, default=0.0)
    cpu_s: float = field(init=False, default=0.0)
    _began: tuple[float, float] = field(init=False, default=(0.0, 0.0))

    @property
    def value(self) -> bytes:
        return bytes(self.size)

    @property
    def group(self) -> str:
        """One that has committed nothing."""
        return f"bench-{os.getpid()}"

    def start(self) -> None:
        """What a client does once in its life is done: connecting, joining, the first record."""
        self._began = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        began_s, began_cpu_s = self._began
        self.seconds, self.cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s


Work = Callable[[Run], None]


def in_a_loop(work: Callable[[Run], Coroutine[None, None, None]]) -> Work:
    """Work for asyncio, on the fastest of event loops."""
    return lambda run: uvloop.run(work(run))
