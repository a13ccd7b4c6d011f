"""A group member in a process of its own, to be killed: `member CLIENT BOOTSTRAP TOPIC`.

The group has the topic's name. It prints how many partitions it has whenever that changes. Its
session is short, so that its death is soon noticed.
"""

import sys

from tests.foreign_clients.conftest import CLIENTS


def main() -> None:
    name, bootstrap, topic = sys.argv[1:]
    (client,) = (client for client in CLIENTS if client.name == name)
    with client.consumer(bootstrap, topic, session_timeout_ms=6_000) as consumer:
        consumer.subscribe([topic])
        count = 0
        while True:
            consumer.poll(0.5)
            if len(consumer.assigned()) != count:
                count = len(consumer.assigned())
                print("assigned", count, flush=True)


if __name__ == "__main__":
    main()
