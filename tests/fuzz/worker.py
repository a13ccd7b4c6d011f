"""An honest client at work: `worker BOOTSTRAP`, until its standard input ends.

It is a process of its own, so that what it measures is the broker and not the pauses of the
attacker's interpreter. It prints a line after its first round trip, and in the end their number
and the slowest of them in seconds.
"""

import sys
import threading
import time

from tests.foreign_clients.confluent import Confluent


def main() -> None:
    ending = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ending.set()), daemon=True).start()
    client = Confluent()
    trips, slowest_s = 0, 0.0
    with (
        client.producer(sys.argv[1], linger_ms=0) as producer,
        client.consumer(sys.argv[1]) as consumer,
    ):
        _, end = consumer.bounds("work", 0)
        consumer.assign("work", {0: end})
        while not ending.is_set():
            begin = time.monotonic()
            producer.send("work", b"%d" % trips, partition=0)
            (outcome,) = producer.flush()
            assert outcome.error is None, outcome.error
            assert consumer.read(1)[0].value == b"%d" % trips
            slowest_s = max(slowest_s, time.monotonic() - begin)
            trips += 1
            if trips == 1:
                print("at work", flush=True)
    print(trips, slowest_s)


if __name__ == "__main__":
    main()
