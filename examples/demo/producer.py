"""The shop: sends page views, keyed by user, and prints each one that the cluster acknowledged.

A program of its own, written with confluent-kafka as for any Kafka:

    python -m examples.demo.producer BOOTSTRAP TOPIC RATE

When a leader dies, nobody knows whether it has stored what it did not answer, so the client sends
that again. An idempotent producer numbers its batches: what was stored already is not stored
twice, and order is kept. Without `enable.idempotence` a retry may be stored a second time.
"""

import json
import random
import signal
import sys
import time
from collections import Counter
from types import FrameType

from confluent_kafka import KafkaError, Message, Producer

USERS = [f"user-{number:02}" for number in range(40)]
REST_S = 0.005
PAGES = ["/", "/bread", "/cheese", "/olives", "/wine", "/cart", "/checkout"]


def print_delivered(error: KafkaError | None, message: Message) -> None:
    """Called for each record when the cluster has answered."""
    if error is not None:
        sys.stderr.write(f"not delivered: {error}\n")
        return
    row = {
        "partition": message.partition(),
        "offset": message.offset(),
        "key": (message.key() or b"").decode(),
        "value": json.loads(message.value() or b"{}"),
        "at": time.monotonic(),
    }
    print(json.dumps(row))


def main(bootstrap: str, topic: str, rate: int) -> None:
    """Send `rate` page views a second until SIGTERM, then say how many there were."""
    stopping = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": "shop",
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 5,
        }
    )
    clicks: Counter[str] = Counter()
    started = time.monotonic()
    sent = 0
    while not stopping:
        user = random.choice(USERS)
        value = {"page": random.choice(PAGES), "click": clicks[user]}
        clicks[user] += 1
        producer.produce(topic, json.dumps(value), key=user, on_delivery=print_delivered)
        producer.poll(0)
        sent += 1
        ahead = sent / rate - (time.monotonic() - started)
        if ahead > REST_S:
            sys.stdout.flush()
            time.sleep(ahead)
    producer.flush(30)
    print(json.dumps({"sent": sent}))


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
