"""Hello, world: one record in, one record out, with a stock Kafka client.

    barnabas server &
    python examples/hello.py [BOOTSTRAP]

Nothing here is special to Barnabas: confluent-kafka is used as with any Kafka.
"""

import sys

from confluent_kafka import Consumer, KafkaError, Message, Producer


def report(error: KafkaError | None, message: Message) -> None:
    """The broker has answered."""
    if error is not None:
        sys.exit(f"not delivered: {error}")
    print(f"stored in {message.topic()}-{message.partition()} at offset {message.offset()}")


def main(bootstrap: str) -> None:
    """Produce a greeting, then read it back."""
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("greetings", "hello, world", key="en", on_delivery=report)
    producer.flush(10)

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "hello",
            "auto.offset.reset": "earliest",  # a new group starts at the oldest record
        }
    )
    consumer.subscribe(["greetings"])
    message = consumer.poll(30)
    if message is None or message.error() is not None:
        sys.exit("nothing came")
    print(f"read {(message.value() or b'').decode()!r}")
    consumer.close()  # commits, and leaves the group


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
