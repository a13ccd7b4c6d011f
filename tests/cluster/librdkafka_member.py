"""A member of librdkafka in a process of its own:
`librdkafka_member BOOTSTRAP GROUP TOPIC PROTOCOL FILE`.

It appends to the file what it is assigned and what it reads, one line each, and leaves the group
when its standard input ends. PROTOCOL is consumer or classic. It commits several times a second,
not after each record: heartbeats wait in the same line, and would come too late on a busy machine.
"""

import contextlib
import select
import sys
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition

_COMMIT_INTERVAL_S = 0.2


def main() -> None:
    bootstrap, group, topic, protocol, path = sys.argv[1:]
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    if protocol == "classic":
        settings |= {
            "session.timeout.ms": 15000,
            "heartbeat.interval.ms": 500,
            "partition.assignment.strategy": "cooperative-sticky",
        }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    assigned: list[int] | None = None
    read: dict[int, int] = {}
    committed_at = time.monotonic()
    with Path(path).open("a", buffering=1) as file:
        while not select.select([sys.stdin], [], [], 0)[0]:
            message = consumer.poll(0.1)
            now = sorted(each.partition for each in consumer.assignment())
            if now != assigned:
                assigned = now
                print("assigned", *now, file=file)
            if message is not None and not message.error():
                partition, offset = message.partition(), message.offset()
                print("read", partition, offset, message.value().decode(), file=file)
                read[partition] = offset
            if time.monotonic() - committed_at > _COMMIT_INTERVAL_S:
                committed_at = time.monotonic()
                offsets = [TopicPartition(topic, p, o + 1) for p, o in read.items() if p in now]
                read.clear()
                with contextlib.suppress(KafkaException):
                    consumer.commit(offsets=offsets, asynchronous=True)
        consumer.close()


if __name__ == "__main__":
    main()
