"""Keyed ordering: many hands at work, and yet the movements of each account in their order.

    barnabas server &
    python examples/keyed_ordering.py [BOOTSTRAP]

What has the same key keeps its order: in the topic, because a key always has the same partition,
and among threads, because `streams` gives a key always to the same one.
"""

import argparse
import random
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from barnabas import Admin, Consumer, Message, Producer

ACCOUNTS, MOVEMENTS, THREADS = 50, 20, 8


def move_money(bootstrap: str) -> None:
    """The movements of every account are numbered, and mixed with those of others."""
    with Admin(bootstrap) as admin:
        admin.create_topic("movements", partitions=3)
    with Producer(bootstrap, key_format="str", value_format="int") as producer:
        for number in range(MOVEMENTS):
            for account in range(ACCOUNTS):
                producer.send("movements", number, key=f"account-{account}")


def book(movements: Iterable[Message], ledger: dict[str, list[int]]) -> None:
    for movement in movements:
        time.sleep(random.uniform(0, 0.002))  # some take longer than others
        ledger.setdefault(movement.key, []).append(movement.value)


def count(ledger: dict[str, list[int]]) -> int:
    return sum(map(len, list(ledger.values())))


def main(bootstrap: str) -> None:
    move_money(bootstrap)
    ledger: dict[str, list[int]] = {}
    with (
        ThreadPoolExecutor(THREADS) as pool,
        Consumer(
            bootstrap, "movements", group="bookkeeping", key_format="str", value_format="int"
        ) as consumer,
    ):
        crew = [pool.submit(book, each, ledger) for each in consumer.streams(THREADS, by="key")]
        while count(ledger) < ACCOUNTS * MOVEMENTS and not any(each.done() for each in crew):
            time.sleep(0.05)
    # Closing the consumer has ended the streams, and so the threads.
    for each in crew:
        each.result()
    in_order = sum(numbers == list(range(MOVEMENTS)) for numbers in ledger.values())
    print(f"{THREADS} threads, 3 partitions: {in_order} of {ACCOUNTS} accounts are in order")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
