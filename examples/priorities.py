"""Priorities: a log has an order and no lanes, so each priority is a topic.

    barnabas server &
    python examples/priorities.py [BOOTSTRAP]

A worker takes an urgent job if there is one, and else any. One of four jobs is an ordinary one even
if urgent ones wait, so that these are not left for ever.
"""

import argparse

from barnabas import Producer, Queue, QueueMessage

URGENT, ORDINARY = 6, 3


class Lanes:
    """Takes from the first lane, and each fourth time from the second one first."""

    def __init__(self, urgent: Queue, ordinary: Queue) -> None:
        self._lanes = (urgent, ordinary)
        self._taken = 0

    def get(self, timeout_s: float) -> QueueMessage | None:
        self._taken += 1
        first, second = self._lanes if self._taken % 4 else self._lanes[::-1]
        return first.get(timeout_s=0) or second.get(timeout_s=0) or first.get(timeout_s)


def main(bootstrap: str) -> None:
    with Producer(bootstrap, value_format="str") as producer:
        for number in range(ORDINARY):
            producer.send("jobs-ordinary", f"ordinary {number}")
        for number in range(URGENT):
            producer.send("jobs-urgent", f"urgent {number}")
    with (
        Queue(bootstrap, "jobs-urgent", value_format="str", group="workers", prefetch=1) as urgent,
        Queue(
            bootstrap, "jobs-ordinary", value_format="str", group="workers", prefetch=1
        ) as others,
    ):
        lanes = Lanes(urgent, others)
        order = []
        while len(order) < URGENT + ORDINARY:
            job = lanes.get(timeout_s=0.5)
            if job is not None:
                order.append(job.value)
                job.accept().result()
    early = sum(name.startswith("urgent") for name in order[:URGENT])
    print(f"{len(order)} jobs done, {early} of the first {URGENT} were urgent")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
