"""The counter: one count record for every page view, exactly once, whatever is killed.

A program of its own, written with confluent-kafka as for any Kafka:

    python -m examples.demo.counter BOOTSTRAP SOURCE TARGET GROUP NAME

What it writes, and how far it has read, are committed in one transaction. NAME is its
transactional id: when it starts anew after a kill -9, what its predecessor left open is rolled
back, and it goes on where the last committed transaction ended. NAME is its `group.instance.id`
too, so that the group hands it the partitions of its predecessor at once, and waits for nobody.

It prints what becomes of each transaction, for those who check.
"""

import itertools
import json
import os
import signal
import sys
import time
from types import FrameType

from confluent_kafka import Consumer, KafkaException, Producer

TRANSACTION_S = 0.3


def main(bootstrap: str, source: str, target: str, group: str, name: str) -> None:
    """One transaction after the other until SIGTERM."""
    stopping = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(30)  # from here on nobody else has the name
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.instance.id": name,
            "client.id": name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,  # the transactions commit
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([source])
    numbers = itertools.count(1)
    while not stopping:
        count_some(consumer, producer, target, f"{os.getpid()}-{next(numbers)}")
    consumer.close()


def count_some(consumer: Consumer, producer: Producer, target: str, transaction: str) -> None:
    """All of it, or nothing."""
    producer.begin_transaction()
    try:
        write_counts(consumer, producer, target, transaction)
        tell(transaction, "committing")
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
        )
        producer.commit_transaction()
        tell(transaction, "committed")
    except KafkaException as problem:
        if problem.args[0].fatal():
            raise  # somebody else has the name, or worse
        producer.abort_transaction()
        for partition in consumer.committed(consumer.assignment()):
            consumer.seek(partition)  # read the same page views again
        tell(transaction, "rolled back")


def write_counts(consumer: Consumer, producer: Producer, target: str, transaction: str) -> None:
    """For the page views that are there, and those that come within a fraction of a second."""
    end = time.monotonic() + TRANSACTION_S
    written = 0
    while (left := end - time.monotonic()) > 0:
        is_open = written > 0
        for message in consumer.consume(100, timeout=min(left, TRANSACTION_S / 5)):
            if message.error() is not None:
                continue  # a node has just died; the client finds another one
            view = json.loads(message.value() or b"{}")
            user = (message.key() or b"").decode()
            count = {"user": user, "click": view["click"], "transaction": transaction}
            producer.produce(target, json.dumps(count), key=view["page"])
            written += 1
        if written and not is_open:
            producer.flush()  # not needed; but now these are in the log, whoever is killed
            tell(transaction, "open")
            end = time.monotonic() + TRANSACTION_S


def tell(transaction: str, state: str) -> None:
    print(json.dumps({"transaction": transaction, "state": state}), flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:6])
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
