"""A member of a group: does its work on each page view, here printing it, and commits.

A program of its own, written with confluent-kafka as for any Kafka:

    python -m examples.demo.consumer BOOTSTRAP TOPIC GROUP NAME

It commits before a rebalance takes partitions away and before it leaves, so whoever has them next
goes on where this one stopped. A commit that fails because a node has just died is made up for by
the next one. If there is none, some records are handled again: at least once.
"""

import json
import signal
import sys
from types import FrameType

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

COMMIT_EVERY = 10  # rounds


def work_on(message: Message) -> None:
    """What a real consumer would do something useful in."""
    row = {
        "partition": message.partition(),
        "offset": message.offset(),
        "key": (message.key() or b"").decode(),
        "value": json.loads(message.value() or b"{}"),
    }
    print(json.dumps(row))


def commit(consumer: Consumer, partitions: list[TopicPartition] | None = None) -> bool:
    """Commit everything handed to `work_on` so far; whether that has worked."""
    del partitions
    sys.stdout.flush()
    try:
        consumer.commit(asynchronous=False)
    except KafkaException as error:
        if error.args[0].code() != KafkaError._NO_OFFSET:  # nothing new to commit
            sys.stderr.write(f"not committed: {error}\n")
            return False
    return True


def main(bootstrap: str, topic: str, group: str, name: str) -> None:
    """Consume until SIGTERM."""
    stopping = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 500,  # notice a rebalance soon: people are watching
        }
    )
    consumer.subscribe([topic], on_revoke=commit)
    rounds = 0
    while not stopping:
        for message in consumer.consume(100, timeout=0.1):
            problem = message.error()
            if problem is None:
                work_on(message)
            elif not problem.retriable():
                raise KafkaException(problem)
        sys.stdout.flush()
        rounds += 1
        if rounds % COMMIT_EVERY == 0:
            commit(consumer)
    for _ in range(10):
        if commit(consumer):
            break
        consumer.poll(0.5)
    consumer.close()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:5])
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
