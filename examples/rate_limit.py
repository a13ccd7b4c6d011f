"""Rate limits: no more than so many jobs a second, however many workers and jobs there are.

    barnabas server &
    python examples/rate_limit.py [BOOTSTRAP]

The limit is of this process. For one that holds for all processes, share it out among them, or give
it to a topic with one partition and one worker.
"""

import argparse
import threading
import time

from barnabas import Queue, QueueMessage

JOBS = 20
PER_SECOND = 20.0


class RateLimit:
    """Lets callers pass one after the other, each an interval after the one before."""

    def __init__(self, per_second: float) -> None:
        self._interval_s = 1 / per_second
        self._next = time.monotonic()
        self._lock = threading.Lock()

    def wait(self) -> None:
        with self._lock:
            mine = max(self._next, time.monotonic())
            self._next = mine + self._interval_s
        time.sleep(max(0.0, mine - time.monotonic()))


def main(bootstrap: str) -> None:
    limit = RateLimit(PER_SECOND)
    times: list[float] = []
    # Few are locked at a time: what waits for the limit here could be done by others.
    with Queue(bootstrap, "calls", group="callers", prefetch=4, value_format="int") as queue:
        for number in range(JOBS):
            queue.put(number)

        def call(_: QueueMessage) -> None:
            limit.wait()
            times.append(time.monotonic())
            if len(times) == JOBS:
                queue.stop()

        queue.run(call, concurrency=4)
    took_s = max(times) - min(times)
    within = "within" if (len(times) - 1) / took_s <= PER_SECOND * 1.05 else "above"
    print(f"{len(times)} calls, {within} the limit of {PER_SECOND:g} a second")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
