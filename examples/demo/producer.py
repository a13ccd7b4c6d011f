"""The shop: sends page views, keyed by user, and prints each one that the broker acknowledged.

A program of its own, written with confluent-kafka as for any Kafka:

    python -m examples.demo.producer BOOTSTRAP TOPIC RATE SECONDS
"""

import json
import random
import sys
import time
from collections import Counter

from confluent_kafka import KafkaError, Message, Producer

USERS = [f"user-{number:02}" for number in range(40)]
PAGES = ["/", "/bread", "/cheese", "/olives", "/wine", "/cart", "/checkout"]


def print_delivered(error: KafkaError | None, message: Message) -> None:
    """Called for each record when the broker has answered."""
    if error is not None:
        sys.stderr.write(f"not delivered: {error}\n")
        return
    row = {
        "partition": message.partition(),
        "offset": message.offset(),
        "key": (message.key() or b"").decode(),
        "value": json.loads(message.value() or b"{}"),
    }
    print(json.dumps(row))


def main(bootstrap: str, topic: str, rate: int, seconds: float) -> None:
    """Send `rate` page views a second."""
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": "shop", "linger.ms": 5})
    clicks: Counter[str] = Counter()
    started = time.monotonic()
    for number in range(int(rate * seconds)):
        user = random.choice(USERS)
        value = {"page": random.choice(PAGES), "click": clicks[user]}
        clicks[user] += 1
        producer.produce(topic, json.dumps(value), key=user, on_delivery=print_delivered)
        producer.poll(0)
        ahead = number / rate - (time.monotonic() - started)
        if ahead > 0:
            sys.stdout.flush()
            time.sleep(ahead)
    producer.flush(30)


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
