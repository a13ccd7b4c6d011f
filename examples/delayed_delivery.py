"""Delayed and scheduled delivery: a job for later is put into its queue when it is due.

    barnabas server &
    python examples/delayed_delivery.py [BOOTSTRAP]

Jobs for later are records of a topic, with the time in a header. The scheduler reads them, keeps
those that are not due yet in a heap, and marks each as done when it has sent it on.
"""

import argparse
import heapq
import threading
import time

from barnabas import Admin, Consumer, Message, Producer, Queue

JOBS = {"in a moment": 0.5, "at once": 0.0, "in a while": 1.0}


def put_later(producer: Producer, job: str, delay_s: float) -> None:
    due = time.time() + delay_s
    producer.send("jobs-later", job, headers=[("due", str(due).encode())])


def schedule(bootstrap: str, stop: threading.Event) -> None:
    waiting: list[tuple[float, int, int, Message]] = []
    with (
        Consumer(bootstrap, "jobs-later", group="scheduler", commit="done") as later,
        Producer(bootstrap, linger_ms=0) as producer,
    ):
        while not stop.is_set():
            for job in later.poll(timeout_s=0.05):
                due = float(dict(job.headers)["due"] or 0)
                heapq.heappush(waiting, (due, job.partition, job.offset, job))
            while waiting and waiting[0][0] <= time.time():
                job = heapq.heappop(waiting)[-1]
                producer.send("jobs", job.value, job.key).result()
                later.done(job)  # a scheduler that dies before this sends it again


def main(bootstrap: str) -> None:
    with Admin(bootstrap) as admin:
        admin.create_topic("jobs-later", exist_ok=True)
        admin.create_topic("jobs", exist_ok=True)
    stop = threading.Event()
    scheduler = threading.Thread(target=schedule, args=(bootstrap, stop))
    scheduler.start()
    with (
        Producer(bootstrap, value_format="str") as producer,
        Queue(bootstrap, "jobs", group="workers", value_format="str") as jobs,
    ):
        for name, delay_s in JOBS.items():
            put_later(producer, name, delay_s)
        left = len(JOBS)
        while left and (job := jobs.get(timeout_s=30)) is not None:
            print("due:", job.value)
            job.accept()
            left -= 1
    stop.set()
    scheduler.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
