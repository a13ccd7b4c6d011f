"""Counts calls of a handler; prints seconds and CPU seconds after the last one, and ends.

What a program does once is not counted: it begins with the first call.
"""

import os
import sys
import time


class Stopwatch:
    def __init__(self, count: int) -> None:
        self._left = count
        self._began = (0.0, 0.0)

    def tick(self) -> None:
        """For each record."""
        left = self._left = self._left - 1
        if not left:
            began_s, began_cpu_s = self._began
            taken = time.perf_counter() - began_s, time.process_time() - began_cpu_s
            os.write(1, "\n{} {}\n".format(*taken).encode())  # Faust replaces sys.stdout
            os._exit(0)
        elif not self._began[0]:
            self._began = time.perf_counter(), time.process_time()


def arguments() -> tuple[str, str, bool, int, Stopwatch]:
    """Bootstrap servers, topic, whether it is a coroutine function, concurrency, stopwatch."""
    servers, topic, kind, concurrency, count = sys.argv[1:]
    return servers, topic, kind == "async", int(concurrency), Stopwatch(int(count))


def group() -> str:
    """One that has committed nothing."""
    return f"bench-{os.getpid()}-{time.time_ns()}"
