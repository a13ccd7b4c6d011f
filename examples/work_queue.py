"""A work queue: workers compete for jobs, and every job gets done, though a worker falls over.

    barnabas server &
    python examples/work_queue.py [BOOTSTRAP]

Workers are members of one share group: each job is locked for one of them at a time. Here they are
threads; they could as well be processes on different machines. The topic has one partition.
"""

import argparse
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from barnabas import Producer, Queue

JOBS = 600
WORKERS = ("ada", "bob", "eve")


def enqueue(bootstrap: str) -> None:
    with Producer(bootstrap, value_format="json") as producer:
        for number in range(JOBS):
            producer.send("jobs", {"square": number})


def work(name: str, bootstrap: str, done: Counter[int], stop: Event) -> str:
    count = 0
    with Queue(bootstrap, "jobs", group="workers", value_format="json") as jobs:
        while not stop.is_set():
            job = jobs.get(timeout_s=0.1)
            if job is None:
                continue
            if name == "bob" and count == 20:
                raise RuntimeError("bob has fallen off his chair")  # with a job in his hands
            time.sleep(0.01)  # hard work
            done[job.value["square"]] += 1
            count += 1
            job.accept()
    return f"{name} did {count} jobs"


def main(bootstrap: str) -> None:
    enqueue(bootstrap)
    done: Counter[int] = Counter()
    stop = Event()
    with ThreadPoolExecutor() as pool:
        crew = [pool.submit(work, name, bootstrap, done, stop) for name in WORKERS]
        while len(done) < JOBS and not all(worker.done() for worker in crew):
            time.sleep(0.05)
        stop.set()
    for worker in crew:
        print(worker.exception() or worker.result())
    print(f"{len(done)} of {JOBS} jobs done, {done.total() - len(done)} of them twice")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
