"""Rate limits: no more than so many jobs a second, however many workers and jobs there are.

    barnabas server &
    python examples/rate_limit.py [BOOTSTRAP]

The limit holds for all workers together. It has parts, which are the partitions of a topic without
records; the workers are a consumer group, so each part belongs to one of them.
"""

import argparse
import threading
import time
from collections.abc import Sequence
from typing import Self

from barnabas import Admin, Consumer, Queue, QueueMessage, TopicPartition

JOBS = 20
PER_SECOND = 20.0
PARTS = 12


class RateLimit:
    """The share of one worker in a limit that all of them have together."""

    def __init__(self, bootstrap: str, name: str, per_second: float) -> None:
        with Admin(bootstrap) as admin:
            admin.create_topic(name, partitions=PARTS, exist_ok=True)
        self._interval_s = PARTS / per_second  # of one part
        self._next = 0.0
        self._parts: set[TopicPartition] = set()
        self._has_some = threading.Event()
        self._turn = threading.Lock()
        self._stopping = threading.Event()
        self._consumer = Consumer(
            bootstrap, name, group=name, on_assigned=self._assigned, on_revoked=self._revoked
        )
        self._following = threading.Thread(target=self._follow)

    def wait(self) -> None:
        """Return when the next call may begin."""
        with self._turn:
            self._has_some.wait()
            time.sleep(max(0.0, self._next - time.monotonic()))
            self._next = time.monotonic() + self._interval_s / max(1, len(self._parts))

    def _follow(self) -> None:
        with self._consumer:
            while not self._stopping.is_set():
                self._consumer.poll(0.1)  # no records come, but parts come and go

    def _assigned(self, parts: Sequence[TopicPartition]) -> None:
        self._parts |= set(parts)
        self._has_some.set()

    def _revoked(self, parts: Sequence[TopicPartition]) -> None:
        self._parts -= set(parts)
        if not self._parts:
            self._has_some.clear()

    def __enter__(self) -> Self:
        self._following.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._following.join()


def work(bootstrap: str, times: list[float], is_done: threading.Event) -> None:
    """What a worker does; here it is a thread."""
    # Few are locked at a time: what waits for the limit here could be done by others.
    with (
        RateLimit(bootstrap, "calls.limit", PER_SECOND) as limit,
        Queue(bootstrap, "calls", group="callers", prefetch=4, value_format="int") as queue,
    ):

        def call(_: QueueMessage) -> None:
            limit.wait()
            times.append(time.monotonic())
            if len(times) >= JOBS:
                is_done.set()

        running = threading.Thread(target=queue.run, args=[call], kwargs={"concurrency": 4})
        running.start()
        is_done.wait()
        queue.stop()
        running.join()


def main(bootstrap: str) -> None:
    times: list[float] = []
    is_done = threading.Event()
    with Queue(bootstrap, "calls", group="callers", value_format="int") as queue:
        for number in range(JOBS):
            queue.put(number)
    workers = [threading.Thread(target=work, args=[bootstrap, times, is_done]) for _ in range(2)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    took_s = max(times) - min(times)
    within = "within" if (len(times) - 3) / took_s <= PER_SECOND * 1.05 else "above"
    print(f"{len(times)} calls of 2 workers, {within} the limit of {PER_SECOND:g} a second")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
