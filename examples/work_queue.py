"""A work queue: several workers compete for jobs, and each job is done by one of them.

    barnabas server &
    python examples/work_queue.py [BOOTSTRAP] [JOBS] [WORKERS]

Workers are members of one consumer group. A partition belongs to one of them at a time, so there
can be as many workers as there are partitions. A worker commits after its jobs are done: if it
dies before that, another one does them again (at least once).

Written with confluent-kafka, as for any Kafka. Here the workers are threads; they could as well be
processes on different machines.
"""

import json
import sys
import threading
import time
from collections import Counter

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC = "jobs"


def create_topic(bootstrap: str, partitions: int) -> None:
    """A partition for each worker."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for created in admin.create_topics([NewTopic(TOPIC, partitions)]).values():
        created.result()


def enqueue(bootstrap: str, jobs: int) -> None:
    """The key decides the partition: jobs with the same key are done in order."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(jobs):
        producer.produce(TOPIC, json.dumps({"square": number}), key=str(number))
    if producer.flush(30):
        sys.exit("not all jobs could be queued")


class Worker(threading.Thread):
    """Does jobs until it is told to stop."""

    def __init__(self, name: str, bootstrap: str, done: "Counter[int]") -> None:
        super().__init__(name=name)
        self._servers = bootstrap
        self._done = done
        self.count = 0
        self.stopping = threading.Event()

    def run(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "workers",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 500,  # how soon a worker notices that another one came
            }
        )
        # With a callback, partitions are taken away only while this worker asks for more jobs,
        # and not in the middle of one.
        consumer.subscribe([TOPIC], on_revoke=lambda *_: None)
        while not self.stopping.is_set():
            messages = consumer.consume(10, timeout=0.1)
            for message in messages:
                problem = message.error()
                if problem is not None:
                    raise KafkaException(problem)
                self._do(json.loads(message.value() or b"{}")["square"])
            if messages:
                consumer.commit(asynchronous=False)  # a job leaves the queue when it is done
        consumer.close()

    def _do(self, number: int) -> None:
        time.sleep(0.01)  # hard work
        self.count += 1
        self._done[number] += 1


def main(bootstrap: str, jobs: int, workers: int) -> None:
    """Queue the jobs, let the workers loose, and wait until all is done."""
    create_topic(bootstrap, workers)
    enqueue(bootstrap, jobs)
    done: Counter[int] = Counter()
    crew = [Worker(f"worker-{number}", bootstrap, done) for number in range(workers)]
    for worker in crew:
        worker.start()
    while len(done) < jobs and all(worker.is_alive() for worker in crew):
        time.sleep(0.05)
    for worker in crew:
        worker.stopping.set()
    for worker in crew:
        worker.join()
        print(f"{worker.name} did {worker.count} jobs")
    print(f"{len(done)} of {jobs} jobs done, {sum(done.values()) - len(done)} of them twice")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(
        arguments[0] if arguments else "localhost:9092",
        int(arguments[1]) if len(arguments) > 1 else 600,
        int(arguments[2]) if len(arguments) > 2 else 3,
    )
